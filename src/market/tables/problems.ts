import {
  compareText,
  type Finding,
  type FindingCode,
  keepSmallValue,
  type Severity,
  sortFindings,
} from '#domain/base/findings.js';
import { type Day, formatDay } from '#domain/base/time.js';

/** Returns the reason of an error in one line for a finding. The line contains no paths of this machine. */
export function formatReason(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text
    .split('\n')[0]!
    .replace(/[\p{Cc}\ufffd]/gu, '?')
    .replace(/(?<!\w)(["']?)(\/[^\s"':,]+)+\1/g, 'the file')
    .slice(0, 200);
}

/** Rows of one security that differ from an earlier row of the same date. */
export interface RowConflict {
  readonly identifier: string;
  readonly rows: number;
  /** Date of the first such row. The first column that differs and the values of both rows follow. */
  readonly date: string;
  readonly column: string;
  readonly first: number | null;
  readonly other: number | null;
}

/** Two different values of one security, date and column. */
export interface ValueConflict {
  readonly identifier: string;
  readonly day: Day;
  readonly column: string;
  readonly first: number;
  readonly other: number;
}

/** Maximum number of listed securities with conflicts. */
const CONFLICTS_MAX = 1000;

/** Counts conflicts by security. */
function createRowConflicts(): { add(conflict: ValueConflict): void; list(): readonly RowConflict[] } {
  const results = new Map<string, RowConflict>();
  const findValue = (value: number): number | null => (value === value ? value : null);
  return {
    add({ identifier, day, column, first, other }) {
      const rowConflict = results.get(identifier);
      if (rowConflict !== undefined) results.set(identifier, { ...rowConflict, rows: rowConflict.rows + 1 });
      else if (results.size < CONFLICTS_MAX)
        results.set(identifier, {
          identifier,
          rows: 1,
          date: formatDay(day),
          column,
          first: findValue(first),
          other: findValue(other),
        });
    },
    list: () => [...results.values()],
  };
}

/** Maximum number of findings of one severity about one store. A finding MORE_FINDINGS counts the remaining ones. */
export const FINDINGS_MAX = 200;

/**
 * Maximum number of findings with one code and column that are listed individually. If there are more, they are
 * combined into one finding with their count.
 */
export const SIMILAR_PROBLEMS_MAX = 20;

/** Maximum number of locations in a combined finding, and in its message. */
const LOCATIONS_MAX = 10;
const LISTED_LOCATIONS_MAX = 3;

export interface DataProblem {
  readonly code: FindingCode;
  readonly path: string;
  readonly message: string;
  /** Column of the problem. Needed if the path contains no row, from which the column would follow. */
  readonly column?: string;
  /** Path that identifies the file, if `path` does not. */
  readonly at?: string;
  readonly value?: unknown;
  readonly accepted?: readonly string[];
}

/**
 * Collects the problems of a store. More than SIMILAR_PROBLEMS_MAX findings with one severity, code, table and column
 * are combined into one finding. It has their count, the first locations, and the first finding as an example. The
 * first FINDINGS_MAX findings of each severity are listed in the order of responses; a MORE_FINDINGS finding counts the
 * remaining ones.
 */
export interface Problems {
  /**
   * Sets the name of the file for findings whose paths begin with a label.
   * @param label of a table or a file, or `market[AAPL` for all findings of one security
   */
  nameFile(label: string, file: string): void;
  /** Adds an error. @param times number of problems that it represents, including itself */
  error(problem: DataProblem, times?: number): void;
  warning(problem: DataProblem): void;
  /** Adds a warning unless one with its code and path was added in this way before. */
  warnOnce(problem: DataProblem): void;
  /** Records that two rows of one security and date differ. The later row also has an error. */
  conflict(conflict: ValueConflict): void;
  /** Returns the conflicts by security, in the order of their first occurrence. */
  conflicts(): readonly RowConflict[];
  /** Adds findings that were collected elsewhere. */
  take(findings: readonly Finding[]): void;
  readonly errors: number;
  /** Returns the names of all files with an error, whether its finding is listed or not. */
  files(): readonly string[];
  /** Returns findings in the order of responses. */
  findings(): Finding[];
}

/** Problems with one severity, code, table and column. */
interface SimilarProblems {
  readonly place: string;
  readonly first: Finding[];
  /** Sequence numbers of the first findings. */
  readonly orders: number[];
  count: number;
}

interface CollectedProblems {
  readonly alike: Map<string, SimilarProblems>;
  readonly files: Set<string>;
  met: number;
}

export function createProblems(): Problems {
  const files = new Map<string, string>();
  const conflicts = createRowConflicts();
  const reportedOnce = new Set<string>();
  const problemsBySeverity: Record<Severity, CollectedProblems> = {
    error: createCollection(),
    warning: createCollection(),
    info: createCollection(),
  };

  function add(finding: Finding, column: string | undefined, times: number): void {
    const collectedProblems = problemsBySeverity[finding.severity];
    collectedProblems.met += times;
    if (finding.file !== undefined) collectedProblems.files.add(finding.file);
    const problemLocation = formatLocation(finding.path, column);
    const key = `${finding.code} ${problemLocation}`;
    let similarProblems = collectedProblems.alike.get(key);
    if (similarProblems === undefined) {
      if (collectedProblems.alike.size === FINDINGS_MAX) return; // counted without being listed
      collectedProblems.alike.set(key, (similarProblems = { place: problemLocation, first: [], orders: [], count: 0 }));
    }
    similarProblems.count += times;
    if (similarProblems.first.length === SIMILAR_PROBLEMS_MAX) return;
    similarProblems.first.push(finding);
    similarProblems.orders.push(collectedProblems.met);
  }

  function addProblem(
    severity: Severity,
    { code, path, message, value, accepted, column, at = path }: DataProblem,
    times: number,
  ): void {
    const file = findFile(at, files);
    add(
      {
        severity,
        code,
        message,
        path,
        ...(accepted ? { accepted } : {}),
        ...(value === undefined ? {} : keepSmallValue(value)),
        ...(file === undefined ? {} : { file }),
      },
      column,
      times,
    );
  }

  return {
    nameFile: (label, file) => void files.set(label, file),
    error: (problem, times = 1) => addProblem('error', problem, times),
    warning: (problem) => addProblem('warning', problem, 1),
    warnOnce(problem) {
      const key = `${problem.code} ${problem.path}`;
      if (reportedOnce.has(key)) return;
      reportedOnce.add(key);
      addProblem('warning', problem, 1);
    },
    conflict: conflicts.add,
    conflicts: conflicts.list,
    take(findings) {
      for (const finding of findings) {
        if (finding.code === 'MORE_FINDINGS') problemsBySeverity[finding.severity].met += finding.count ?? 1;
        else add(finding, undefined, finding.count ?? 1);
      }
    },
    get errors() {
      return problemsBySeverity.error.met;
    },
    files: () => [...problemsBySeverity.error.files].toSorted(compareText),
    findings: () => [
      ...listValues('error', problemsBySeverity.error),
      ...listValues('warning', problemsBySeverity.warning),
    ],
  };
}

const createCollection = (): CollectedProblems => ({ alike: new Map(), files: new Set(), met: 0 });

/**
 * Returns the first FINDINGS_MAX findings of one severity in the order of responses. A further finding counts the
 * remaining ones.
 */
function listValues(severity: Severity, { alike, met }: CollectedProblems): Finding[] {
  const allFindings = [...alike.values()].flatMap((similarProblems) =>
    similarProblems.count > SIMILAR_PROBLEMS_MAX
      ? [
          {
            finding: combineProblems(similarProblems),
            order: similarProblems.orders[0]!,
            stands: similarProblems.count,
          },
        ]
      : similarProblems.first.map((finding, i) => ({
          finding,
          order: similarProblems.orders[i]!,
          stands: finding.count ?? 1,
        })),
  );
  const first = allFindings.toSorted((a, b) => a.order - b.order).slice(0, FINDINGS_MAX);
  const remainingCount = met - first.reduce((sum, { stands }) => sum + stands, 0);
  const remainingFindings: Finding[] =
    remainingCount > 0
      ? [
          {
            severity,
            code: 'MORE_FINDINGS',
            message: `${remainingCount} more ${severity}s are not listed; the first ${first.length} findings are.`,
            path: '',
            count: remainingCount,
          },
        ]
      : [];
  return [...sortFindings(first.map(({ finding }) => finding)), ...remainingFindings];
}

/**
 * Combines several problems of one column into one finding. It contains their number, the first locations, and the
 * first problem as an example.
 */
function combineProblems({ place, first, count }: SimilarProblems): Finding {
  const example = first[0]!;
  if (example.count !== undefined) return { ...example, count };
  const paths = first.slice(0, LOCATIONS_MAX).map(({ path }) => path);
  const listText = paths.slice(0, LISTED_LOCATIONS_MAX).join(', ');
  return {
    ...example,
    path: place,
    message: `${count} times, first at ${listText}. For example: ${example.message}`,
    count,
    places: paths,
  };
}

/**
 * Returns a location in a table. It consists of the label of its file or sheet, the data row counted from 1, and the
 * column as written.
 */
export function formatCellPath(label: string, row: number, column: string): string {
  return column === '' ? `${label}[row ${row}]` : `${label}[row ${row}].${column}`;
}

/** Returns the file of a path. The label of the path, or the security of its bar, identifies the file. */
function findFile(path: string, files: ReadonlyMap<string, string>): string | undefined {
  if (files.size === 0) return undefined;
  const bracketIndex = path.indexOf('[');
  if (bracketIndex >= 0)
    return (
      files.get(path.slice(0, bracketIndex)) ??
      files.get(path.slice(0, path.lastIndexOf(' ', path.indexOf(']', bracketIndex))))
    );
  for (let end = path.length; end > 0; end = path.lastIndexOf('.', end - 1)) {
    const file = files.get(path.slice(0, end));
    if (file !== undefined) return file;
  }
  return undefined;
}

/** Returns the table and column of a path, independent of its file and row. */
function formatLocation(path: string, column: string | undefined): string {
  const bracketIndex = path.indexOf('[');
  const label = bracketIndex < 0 ? path : path.slice(0, bracketIndex);
  const columnName = column ?? (bracketIndex < 0 ? '' : path.slice(path.lastIndexOf(']') + 2));
  const slash = label.indexOf('/');
  const tableName =
    column !== undefined && slash < 0 && label.endsWith(`.${column}`)
      ? label.slice(0, -column.length - 1)
      : slash < 0
        ? label
        : label.slice(0, slash);
  return columnName === '' ? tableName : `${tableName}.${columnName}`;
}

/** Describes a cell without a valid identifier. @param text null if it is empty */
export function describeBadIdentifier(path: string, text: string | null): DataProblem {
  if (text === null) return { code: 'BAD_IDENTIFIER', path, message: 'The identifier is empty.' };
  return {
    code: 'BAD_IDENTIFIER',
    path,
    message: `${quoteValue(text)} is not an identifier, which has 1 to 64 characters and no control characters.`,
    value: text,
  };
}

/** Describes a cell without a valid day. @param column as written in the file. @param text null if it is empty */
export function describeBadDay(path: string, column: string, text: string | null, format = 'YYYY-MM-DD'): DataProblem {
  if (text === null) return { code: 'BAD_DATE', path, message: `${column} is empty.` };
  return {
    code: 'BAD_DATE',
    path,
    message: `${column} is ${quoteValue(text)}; a day that exists, ${format}, is needed.`,
    value: text,
  };
}

/**
 * Describes a market row with the same keys as an earlier row.
 * @param earlier location of the earlier row and comparison of its values, if known
 */
export function describeRepeatedKey(path: string, identifier: string, day: Day, earlier?: EarlierRow): DataProblem {
  const earlierText =
    earlier === undefined ? '' : `: ${earlier.path}, with ${earlier.isSame ? 'the same' : 'other'} values`;
  const message = `An earlier row already holds ${identifier} on ${formatDay(day)}${earlierText}.`;
  return { code: 'DUPLICATE_KEY', path, message };
}

interface EarlierRow {
  readonly path: string;
  readonly isSame: boolean;
}

/** Returns the message for a price of zero or less. The message names the mapping that accepts it. */
export function formatNonPositivePrice(column: string, value: number): string {
  const option = value < 0 ? 'negative_prices: absolute reads its amount' : 'zero_prices: missing reads it as none';
  return `${column} is ${value}; a price must be greater than 0. In a mapping, ${option}.`;
}

/** Quotes a text of a file for a message. */
export function quoteValue(text: string): string {
  return JSON.stringify(text.length <= 80 ? text : `${text.slice(0, 77)}...`);
}

/** Slash, and its form in the names of files and folders. */
const SLASH = /\/|%2f/gi;

/**
 * Returns an identifier with points in place of slashes, because identifiers must not contain slashes: BRK/B US Equity
 * becomes BRK.B US Equity.
 */
export const replaceSlashes = (identifier: string) => identifier.replaceAll(SLASH, '.');

/** Returns an identifier without slashes, and reports each renamed identifier once. */
export function restoreName(identifier: string, problems: Problems): string {
  const name = replaceSlashes(identifier);
  if (name === identifier) return name;
  const message = `${identifier.slice(0, 80)} is read as ${name.slice(0, 80)}: an identifier has no /.`;
  problems.warnOnce({ code: 'BAD_IDENTIFIER', path: `market.${name.slice(0, 80)}`, message, value: identifier });
  return name;
}
