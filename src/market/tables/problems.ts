import { createRowConflicts, type RowConflict, type ValueConflict } from './row-conflicts.js';
import {
  compareText,
  sortFindings,
  keepSmallValue,
  type Finding,
  type FindingCode,
  type Severity,
} from '#domain/refusals/findings.js';

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

/** Problem of a dataset. */
export interface Problem {
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
  error(problem: Problem, times?: number): void;
  warning(problem: Problem): void;
  /** Adds a warning unless one with its code and path was added in this way before. */
  warnOnce(problem: Problem): void;
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
    { code, path, message, value, accepted, column, at = path }: Problem,
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
