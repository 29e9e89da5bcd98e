import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Finding } from '#domain/base/findings.js';
import { formatDay } from '#domain/base/time.js';
import { type DerivedActions, ENCODINGS, Mapping } from '#domain/definition/mapping.js';
import type { Adjustment } from '#domain/market/market-data.js';
import { recountMarketRows } from '../content/content-hash.js';
import type { MarketContent } from '../content/market-content.js';
import { readText } from '../formats/cells.js';
import { type DuckDb, openDuckDb } from '../formats/duckdb.js';
import { isMarketTable, isWholeName } from '../mapping/columns.js';
import type { MarketInterpretation } from '../mapping/mapped-content.js';
import { findThousandsMark, isGroupedCount, splitUnits } from '../mapping/written-values.js';
import { createProblems, type DataProblem, type Problems, type RowConflict } from '../tables/problems.js';
import type { RowsByTable } from '../tables/table-kinds.js';
import type { DatabaseLocation } from './database-location.js';
import { readDatabase, sampleDatabase } from './databases.js';
import { createSingleTable, type TableFiles } from './folder.js';
import { decodeUpload, readImport } from './import.js';
import {
  createCountsQuestion,
  createUnitsQuestion,
  hasAnswer,
  isDay,
  isNumber,
  readRowTexts,
  MAJORITY_SHARE,
  PREAMBLE_MAX,
} from './proposal-draft.js';
import { applyAnswers, type Confidence, type Proposal, proposeMapping, stateAdjustment } from './proposal.js';
import {
  type Answers,
  askTimeZone,
  type Basis,
  chooseAfterReading,
  createBasis,
  filterDateFormats,
  listAlternativeBases,
  type Question,
  type UsedZones,
} from './questions.js';
import { readSource } from './read-source.js';
import { assignRoles, type ColumnRole } from './roles.js';
import {
  addPositions,
  DEFAULT_ENCODING,
  isOfEncoding,
  type Sample,
  SAMPLE_ROWS,
  SAMPLE_TABLES,
  sampleContent,
  sampleFiles,
  type TableNameSource,
} from './samples.js';
import type { TableNames } from './source-read.js';

interface CorrectedMapping {
  readonly mapping: Mapping;
  readonly question?: Question;
}

/**
 * Returns a corrected mapping for rejected data, with the questions about it. Returns undefined if no finding implies a
 * correction.
 */
function correctMapping(
  mapping: Mapping,
  problems: Pick<Problems, 'findings' | 'conflicts' | 'files'>,
  answers: Answers,
): CorrectedMapping | undefined {
  const findings = problems.findings();
  const errors = findings.filter(({ severity }) => severity === 'error');
  const listFindings = (code: Finding['code']) => errors.filter((finding) => finding.code === code);
  const isFree = (field: keyof Mapping) => !hasAnswer(answers, field);
  if (
    isFree('zero_prices') &&
    mapping.zero_prices === 'refuse' &&
    listFindings('NON_POSITIVE_PRICE').some(({ value }) => value === 0)
  )
    return {
      mapping: { ...mapping, zero_prices: 'missing' },
      question: {
        field: 'zero_prices',
        question: `${countText(listFindings('NON_POSITIVE_PRICE'), 'price is', 'prices are')} 0 and read as missing.`,
        taken: 'missing',
        others: ['refuse'],
        required: false,
      },
    };
  const encodingFinding = listFindings('UNREADABLE_FILE').find(isOfEncoding);
  if (encodingFinding !== undefined && isFree('encoding') && mapping.encoding === null)
    return addEncoding(mapping, encodingFinding);
  const correctedMapping = correctNumbers(mapping, findings, isFree);
  if (correctedMapping !== undefined) return correctedMapping;
  // Several tables of one security give a separate finding. The choice between their rows is not a question of
  // duplicates.
  const repeatedFinding =
    isFree('on_duplicate') && listFindings('DUPLICATE_ID').length === 0
      ? listFindings('DUPLICATE_KEY').find(({ path }) => path.startsWith('market'))
      : undefined;
  const uniqueMapping =
    repeatedFinding &&
    correctRepeated(mapping, repeatedFinding, listFindings('DUPLICATE_KEY'), {
      conflicts: problems.conflicts(),
      spellings: listSpellings(findings),
    });
  if (uniqueMapping !== undefined) return uniqueMapping;
  const isFreeColumn = (column: string) =>
    column !== '' && !Object.values(mapping.columns).includes(column) && !mapping.ignore.includes(column);
  const numberFindings = listFindings('NOT_A_NUMBER').filter((finding) => isFreeColumn(getColumn(finding)));
  return numberFindings.length === 0
    ? undefined
    : ignoreColumns(mapping, { nonNumeric: numberFindings, files: problems.files() }, answers);
}

/**
 * Sets the treatment of repeated rows of a security and date. If the rows are equal, one of them is read; otherwise the
 * last row is read.
 */
function correctRepeated(
  mapping: Mapping,
  repeated: Finding,
  findings: readonly Finding[],
  { conflicts, spellings }: { readonly conflicts: readonly RowConflict[]; readonly spellings: Spellings },
): CorrectedMapping | undefined {
  if (mapping.on_duplicate === 'refuse')
    return {
      mapping: { ...mapping, on_duplicate: 'identical' },
      question: {
        field: 'on_duplicate',
        question: `${countText(findings, 'row repeats', 'rows repeat')} the identifier and date of an earlier row. Equal rows are read once.`,
        taken: 'identical',
        others: ['first', 'last', 'refuse'],
        required: false,
      },
    };
  if (mapping.on_duplicate === 'identical')
    return {
      mapping: { ...mapping, on_duplicate: 'last' },
      question: {
        field: 'on_duplicate',
        question: `Rows with the same identifier and date differ (${[repeated.file, repeated.path].filter((place) => place !== undefined).join(' ')}: ${repeated.message}) ${describeConflicts(conflicts, spellings)}The last row is used. Is it correct?${explainMissingIdentifier(mapping)}`,
        taken: 'last',
        others: ['first', 'refuse'],
        required: true,
        ...(conflicts.length === 0 ? {} : { conflicts }),
      },
    };
  return undefined;
}

/** Maximum number of securities with conflicts that a question names. */
const CONFLICTS_NAMED_MAX = 50;

/** Other spellings of identifiers in the data, by identifier. */
type Spellings = ReadonlyMap<string, string>;

/** Returns the spellings with slashes, which are read as other identifiers. */
const listSpellings = (findings: readonly Finding[]): Spellings =>
  new Map(
    findings.flatMap(({ code, path, value }) =>
      code === 'BAD_IDENTIFIER' && typeof value === 'string' ? [[path.slice('market.'.length), value] as const] : [],
    ),
  );

function describeConflicts(conflicts: readonly RowConflict[], spellings: Spellings): string {
  if (conflicts.length === 0) return '';
  const conflictTexts = conflicts
    .slice(0, CONFLICTS_NAMED_MAX)
    .map(({ identifier, rows, date, column, first, other }) => {
      const valuesText = `${column} ${first ?? 'none'} and ${other ?? 'none'} on ${date}`;
      const spelling = spellings.get(identifier);
      const spellingText = spelling === undefined ? '' : `; ${spelling} is also read as ${identifier}`;
      return `${identifier} ${rows} ${rows === 1 ? 'row' : 'rows'} (${valuesText}${spellingText})`;
    });
  const remainingCount = conflicts.length - conflictTexts.length;
  const securitiesText = conflicts.length === 1 ? '1 security' : `${conflicts.length} securities`;
  return `Different rows of ${securitiesText}: ${conflictTexts.join(', ')}${remainingCount > 0 ? ` and ${remainingCount} more` : ''}. `;
}

function addEncoding(mapping: Mapping, { file, path }: Finding): CorrectedMapping {
  const question = `The text of ${file ?? path} is not UTF-8. It is read as ${DEFAULT_ENCODING}.`;
  const otherEncodings = ENCODINGS.filter((encoding) => encoding !== DEFAULT_ENCODING && encoding !== 'utf-8');
  return {
    mapping: { ...mapping, encoding: DEFAULT_ENCODING },
    question: { field: 'encoding', question, taken: DEFAULT_ENCODING, others: otherEncodings, required: false },
  };
}

/** Adapts the number format of a mapping to the rejected texts. */
function correctNumbers(
  mapping: Mapping,
  findings: readonly Finding[],
  isFree: (field: keyof Mapping) => boolean,
): CorrectedMapping | undefined {
  const texts = findings.flatMap(({ code, value }) =>
    code === 'NOT_A_NUMBER' && typeof value === 'string' ? [value] : [],
  );
  const unitsText = texts.find((text) => splitUnits(text) !== undefined);
  if (isFree('units') && mapping.units === 'refuse' && unitsText !== undefined)
    return { mapping: { ...mapping, units: 'read' }, question: createUnitsQuestion(unitsText) };
  if (!isFree('thousands') || mapping.thousands !== null) return undefined;
  if (mapping.decimal === '.') {
    const markedTexts = texts.filter((text) => findThousandsMark(text) !== undefined);
    return markedTexts.length === 0 ? undefined : addThousands(mapping, markedTexts);
  }
  const counts = texts.filter((text) => isGroupedCount(text, ','));
  return counts.length === 0
    ? undefined
    : { mapping: { ...mapping, thousands: ',' }, question: createCountsQuestion(',', counts) };
}

/** Returns the column of a finding: the text after its row number. Column names may contain points (Vol.). */
const getColumn = ({ path }: Finding) => /\[row \d+\]\.(.*)$/.exec(path)?.[1] ?? path.slice(path.indexOf('.') + 1);

/** Explains why a source has several rows per day: its identifier column was not recognised. */
const explainMissingIdentifier = (mapping: Mapping) =>
  isWholeName(mapping) ? ' If a column contains the identifiers, set columns to identifier=COLUMN.' : '';

/** Formats the total count of some findings with its noun. */
function countText(findings: readonly Finding[], one: string, many: string): string {
  const total = findings.reduce((sum, { count = 1 }) => sum + count, 0);
  return `${total} ${total === 1 ? one : many}`;
}

function addThousands(mapping: Mapping, apart: readonly string[]): CorrectedMapping {
  const mark = findThousandsMark(apart[0])!; // each text has a thousands mark
  const name = { ',': 'commas', "'": 'apostrophes', ' ': 'spaces' }[mark];
  return {
    mapping: { ...mapping, thousands: mark },
    question: {
      field: 'thousands',
      question: `Some numbers contain ${name}, for example ${apart[0]}. They are read as thousands separators.`,
      taken: mark,
      others: ['none'],
      required: mark === ',' && !apart.some((text) => /\.|,.*,/.test(text)),
    },
  };
}

/**
 * Ignores columns that contain values other than numbers. If adjusted closes are ignored, no dividends are derived from
 * them.
 */
function ignoreColumns(
  mapping: Mapping,
  { nonNumeric, files }: { readonly nonNumeric: readonly Finding[]; readonly files: readonly string[] },
  answers: Answers,
): CorrectedMapping | undefined {
  const columns = [...new Set(nonNumeric.map(getColumn))];
  const reducedMapping = { ...mapping, ignore: [...mapping.ignore, ...columns] };
  const { adjusted_close: adjusted } = mapping;
  if (adjusted !== null && columns.includes(adjusted)) {
    const finding = nonNumeric.find((finding) => getColumn(finding) === adjusted)!; // `adjusted` is one of these columns
    const question = `Some values of ${adjusted} are not finite numbers (${formatLocation(finding)}). The column is ignored, and no dividends are derived.${formatFileHint(mapping, files)}`;
    if (hasAnswer(answers, 'adjusted_close')) return undefined;
    return {
      mapping: { ...reducedMapping, adjusted_close: null },
      question: { field: 'adjusted_close', question, taken: null, others: [], required: true },
    };
  }
  const namesText = columns.join(',');
  const question = `Some values of ${columns.join(', ')} are not numbers (${formatLocation(nonNumeric[0]!)}). ${columns.length === 1 ? 'The column is' : 'The columns are'} ignored.${formatFileHint(mapping, files)}`;
  return {
    mapping: reducedMapping,
    question: { field: 'ignore', question, taken: namesText, others: [], required: true },
  };
}

function formatLocation({ file, path, value }: Finding): string {
  const text = value === undefined ? '' : `, for example ${JSON.stringify(String(value).slice(0, 40))}`;
  return `${[file, path].filter((place) => place !== undefined).join(' ')}${text}`;
}

/** Returns a hint to ignore damaged files. Returns it only if some of many files are damaged. */
function formatFileHint({ identifier_from: from }: Mapping, files: readonly string[]): string {
  if (files.length === 0 || from?.startsWith('file:') !== true) return '';
  const ignoredFiles = files.length === 1 ? 'this file' : `these ${files.length} files`;
  return ` To ignore ${ignoredFiles} instead, use --ignore ${files.join(',')}.`;
}

/** Maximum number of columns listed in a question or a finding. */
const COLUMNS_MAX = 8;

/** Maximum length of a listed column. */
const COLUMN_CHARS_MAX = 40;

/** Describes the first table, and how to state that its columns are securities. */
function describeTable(sample: Sample | undefined): string {
  const cells = sample?.rows[0] ?? [];
  if (sample === undefined || cells.length === 0) return '';
  if (isTransposed(sample)) return ` ${TRANSPOSED_MESSAGE}`;
  const positions = describePositions(sample);
  if (positions !== undefined) return ` ${positions}`;
  const header = cells.map((cell) => JSON.stringify(readText(cell) ?? '').slice(0, COLUMN_CHARS_MAX));
  const remainderText = header.length > COLUMNS_MAX ? ` and ${header.length - COLUMNS_MAX} more` : '';
  return ` Its first row is ${header.slice(0, COLUMNS_MAX).join(', ')}${remainderText}. If each column is a security, set layout to wide and field to the field of the numbers.`;
}

/** Numbers of a bar in the order of most vendors. */
const BAR_FIELDS = ['OPEN', 'HIGH', 'LOW', 'CLOSE', 'VOLUME'];

/** Explains how to name the columns of a table without a header. Returns undefined if its first row may be a header. */
function describePositions({ rows: [cells = []], delimiter, isSheet }: Sample): string | undefined {
  const date = cells.findIndex((cell) => isDay({}, cell));
  const others = cells.flatMap((cell, i) => (i === date || readText(cell) === null ? [] : [i]));
  const numbers = others.filter((i) => isNumber(cells[i]));
  if (date < 0 || numbers.length === 0 || (delimiter === undefined && isSheet !== true)) return undefined;
  const identifier = others.find((i) => !numbers.includes(i));
  const fields = numbers.length < BAR_FIELDS.length - 1 ? ['CLOSE'] : BAR_FIELDS;
  const columns = [
    ['date', date],
    ...(identifier === undefined ? [] : [['identifier', identifier]]),
    ...fields.flatMap((field, i) => (numbers[i] === undefined ? [] : [[field, numbers[i]]])),
  ].map(([name, position]) => `${name}=#${Number(position) + 1}`);
  return `The table has no header: its first row is data. Name its columns by position, for example --columns ${columns.join(',')}.`;
}

const TRANSPOSED_MESSAGE = 'The first row contains dates. Transpose the table, for example with frame.T in pandas.';

/** Returns true if the first row contains the dates. */
function isTransposed({ rows: [cells = []] }: Sample): boolean {
  const days = cells.filter((cell) => isDay({}, cell)).length;
  return days > 1 && days >= MAJORITY_SHARE * cells.length;
}

/** Returns the reason why each table was not recognised as a table of prices. */
const listTableProblems = (samples: readonly Sample[]): readonly TableProblem[] =>
  samples.map((sample) => ({ path: `market/${sample.name}`, file: sample.name, ...describeProblem(sample) }));

interface TableProblem extends DataProblem {
  readonly file: string;
}

function describeProblem(sample: Sample): Pick<DataProblem, 'code' | 'message'> {
  const { rows, isBinary, fault } = sample;
  if (isBinary === true)
    return { code: 'UNREADABLE_FILE', message: 'The file is not text. CSV, text, Parquet and xlsx files are read.' };
  if (rows.length === 0 && (fault === undefined || EMPTY_FILE.test(fault)))
    return { code: 'EMPTY_DATASET', message: 'The file is empty.' };
  if (fault !== undefined) return { code: 'UNREADABLE_FILE', message: fault };
  if (rows.length === 1) return { code: 'EMPTY_DATASET', message: 'The table has a header and no rows.' };
  if (isTransposed(sample)) return { code: 'MISSING_COLUMN', message: TRANSPOSED_MESSAGE };
  const positions = describePositions(sample);
  if (positions !== undefined) return { code: 'MISSING_COLUMN', message: positions };
  const header = findHeader(sample);
  const roles = assignRoles(header);
  const missing = NEEDED_ROLES.filter(([role]) => roles[role] === undefined).map(([, words]) => words);
  const columns = `${header.length === 1 ? 'The only column is' : 'The columns are'} ${formatColumns(header)}.`;
  return {
    code: 'MISSING_COLUMN',
    message:
      missing.length === 0
        ? `${columns} No row with a date and a close was recognised.`
        : `${columns} ${missing.length === 1 ? 'A column' : 'Columns'} with ${formatList(missing)} ${missing.length === 1 ? 'is' : 'are'} needed.`,
  };
}

/** Matches the reason why an empty file was not read. */
const EMPTY_FILE = /^The file is empty/;

/** Columns that a table of prices needs, with their words. */
const NEEDED_ROLES: readonly (readonly [ColumnRole, string])[] = [
  ['date', 'the date'],
  ['identifier', 'the identifier'],
  ['CLOSE', 'the close'],
];

/** Returns the first row with the most recognised columns; a preamble may precede the header. */
function findHeader({ rows }: Sample): readonly string[] {
  const headers = rows.slice(0, PREAMBLE_MAX).map(readRowTexts);
  const counts = headers.map((header) => Object.keys(assignRoles(header)).length);
  return headers[counts.indexOf(Math.max(...counts))]!; // the table has rows
}

function formatColumns(header: readonly string[]): string {
  const names = header.slice(0, COLUMNS_MAX).map((name) => (name === '' ? '""' : name.slice(0, COLUMN_CHARS_MAX)));
  return header.length > COLUMNS_MAX
    ? `${names.join(', ')} and ${header.length - COLUMNS_MAX} more`
    : formatList(names);
}

const formatList = (words: readonly string[]): string => new Intl.ListFormat('en-GB').format(words);

/** Result of an inspection. Contains the proposal for reading the data, and its effect. */
export interface Inspection {
  /** Files, sheets or tables of the market. */
  readonly files: number;
  readonly rows_read: number;
  readonly mapping: Mapping;
  /** Names of the tables in a database, if the market has another name than its dataset. */
  readonly tables: TableNames;
  readonly adjustment: Adjustment;
  readonly basis: Basis;
  readonly confidence: Confidence;
  readonly recognised_as: string | null;
  readonly unsure: readonly Question[];
  readonly preview: {
    readonly index: number[];
    readonly columns: string[];
    readonly data: (string | number | null)[][];
  };
  readonly findings: readonly Finding[];
  /** Names of all files with an error. Empty if not all files were examined. */
  readonly faulty_files: readonly string[];
}

/**
 * Returns the inspection of tables that were not recognised.
 * @param tables first rows of the files that were examined
 * @param files number of all files
 */
function createEmptyInspection(tables: readonly Sample[], files: number, problems: Problems): Inspection {
  const isEmpty =
    problems.errors === 0 &&
    tables.length > 0 &&
    tables.every(({ rows, fault }) => rows.length === 1 && fault === undefined);
  if (isEmpty)
    problems.error({ code: 'EMPTY_DATASET', path: 'market', message: 'The table has a header and no rows.' });
  else if (problems.errors === 0)
    for (const problem of listTableProblems(tables)) {
      problems.nameFile(problem.path, problem.file);
      problems.error(problem);
    }
  if (files > tables.length && tables.length > 0)
    problems.warning({
      code: 'MORE_FINDINGS',
      path: 'market',
      message: `${tables.length} of ${files} files were examined; the problems of the others are not listed.`,
    });
  return {
    files,
    rows_read: 0,
    mapping: Mapping.parse({}),
    tables: {},
    adjustment: 'none',
    basis: createBasis('none', 'No rows were read.'),
    confidence: 'unsure',
    recognised_as: null,
    unsure: isEmpty
      ? []
      : [
          {
            field: 'columns',
            question: `Which columns contain the date and the close? No table of prices was recognised.${describeTable(tables[0])}`,
            taken: null,
            others: [],
            required: true,
          },
        ],
    preview: { index: [], columns: [], data: [] },
    findings: problems.findings(),
    faulty_files: files > tables.length ? [] : problems.files(),
  };
}

/** Maximum number of bars in a preview. */
const PREVIEW_ROWS = 10;

/** Returns the first bars, by security. */
function createPreview(content: MarketContent | undefined): Inspection['preview'] {
  if (content === undefined) return { index: [], columns: [], data: [] };
  const { identifiers, dates, fields } = content;
  const rows: (string | number | null)[][] = [];
  for (let n = 0; n < identifiers.length && rows.length < PREVIEW_ROWS; n++) {
    for (let t = 0; t < dates.length && rows.length < PREVIEW_ROWS; t++) {
      const values = [...fields.values()].map((panel) => panel[t * identifiers.length + n]!);
      if (values.some((value) => value === value))
        rows.push([identifiers[n]!, formatDay(dates[t]!), ...values.map((value) => (value === value ? value : null))]);
    }
  }
  return { index: rows.map((_, i) => i), columns: ['identifier', 'date', ...fields.keys()], data: rows };
}

export type InspectedData =
  | {
      readonly kind: 'files';
      readonly files: TableFiles;
      /** Accompanying files that cannot be read, with the findings about them. */
      readonly unread?: UnreadFiles;
    }
  | { readonly kind: 'database'; readonly place: DatabaseLocation; readonly tables: TableNames }
  | { readonly kind: 'xlsx' | 'csv' | 'csv.zip'; readonly content: string }
  | { readonly kind: 'parquet'; readonly content: string };

interface UnreadFiles {
  readonly findings: readonly Finding[];
  readonly files: readonly string[];
}

type OpenedData = Exclude<InspectedData, { readonly kind: 'parquet' }>;

/** Settings of an inspection that are known in advance. */
export interface InspectionTerms {
  /** Mapping to use instead of a proposal. Its findings are reported, and nothing is corrected. */
  readonly mapping?: Mapping | null;
  /** Questions that are already answered. */
  readonly answers?: Answers;
  readonly zones?: UsedZones;
}

/** Maximum number of files whose problems are listed if no table was recognised. */
const EXAMINED_FILES_MAX = 200;

/** Maximum number of readings. Duplicates may need two corrections, zeros and text columns one each. */
const TRIALS_MAX = 6;

/** Parts of a reading that are evaluated. */
interface TrialResult {
  readonly content: MarketContent;
  readonly rows: RowsByTable;
  readonly derived?: DerivedActions | null;
}

interface Source {
  readonly samples: readonly Sample[];
  readonly tables: TableNames;
  readonly namedBy: TableNameSource;
  filesOf(mapping: Mapping): number;
  read(terms: MarketInterpretation, problems: Problems): Promise<TrialResult | undefined>;
}

/**
 * Inspects data, proposes a mapping, and then reads the data with it. If a finding implies a correction, the mapping is
 * corrected. Nothing is stored.
 * @cost one to six readings of the source, and one more for each further date format
 */
export async function inspect(inspected: InspectedData, inspectionTerms: InspectionTerms = {}): Promise<Inspection> {
  if (inspected.kind !== 'parquet') return inspectSource(inspected, inspectionTerms);
  const folder = await mkdtemp(join(tmpdir(), 'divisor-parquet-'));
  try {
    const path = join(folder, 'market.parquet');
    await writeFile(path, decodeUpload(inspected.content, inspected.kind));
    return await inspectSource({ kind: 'files', files: await createSingleTable('market', path) }, inspectionTerms);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function inspectSource(inspected: OpenedData, inspectionTerms: InspectionTerms): Promise<Inspection> {
  const unread = inspected.kind === 'files' ? inspected.unread : undefined;
  const inspection = await inspectReadable(inspected, inspectionTerms);
  return unread === undefined || unread.files.length === 0 ? inspection : addUnread(inspection, unread);
}

/**
 * Adds findings about unreadable files. The other files are inspected nevertheless, and a question asks whether to
 * ignore the unreadable ones.
 */
function addUnread(inspection: Inspection, { findings, files: names }: UnreadFiles): Inspection {
  const question = `${names.join(', ')} cannot be read. To ignore ${names.length === 1 ? 'it' : 'them'}, use --ignore ${names.join(',')}.`;
  return {
    ...inspection,
    files: inspection.files + names.length,
    confidence: 'unsure',
    unsure: [...inspection.unsure, { field: 'ignore', question, taken: null, others: [], required: true }],
    findings: [...findings, ...inspection.findings],
    faulty_files: [...names, ...inspection.faulty_files],
  };
}

async function inspectReadable(
  inspected: OpenedData,
  { mapping: suppliedMapping = null, answers = {}, zones = {} }: InspectionTerms,
): Promise<Inspection> {
  const problems = createProblems();
  const source = await openSource(inspected, problems, { answers, tablesMax: SAMPLE_TABLES });
  if (source === undefined) return createEmptyInspection([], 0, problems);
  if (suppliedMapping !== null)
    return tryMapping(source, declareProposal(suppliedMapping, answers), { answers, zones, trialsMax: 1 });
  const proposal =
    proposeMapping(source.samples, source.namedBy, answers) ??
    (hasColumnAnswer(answers) ? declareProposal(applyAnswers({}, answers), answers) : undefined);
  return proposal === undefined
    ? inspectUnrecognised(inspected, source, { answers, problems })
    : tryMapping(source, proposal, { answers, zones, trialsMax: TRIALS_MAX });
}

/** Examines each file of an unrecognised source, up to a limit, and reports its problems. */
async function inspectUnrecognised(
  inspected: OpenedData,
  source: Source,
  { answers, problems }: { readonly answers: Answers; readonly problems: Problems },
): Promise<Inspection> {
  const files = source.filesOf(Mapping.parse({ ignore: answers.ignore ?? [] }));
  if (files <= source.samples.length) return createEmptyInspection(source.samples, source.samples.length, problems);
  const allProblems = createProblems();
  const allFiles = await openSource(inspected, allProblems, { answers, tablesMax: EXAMINED_FILES_MAX });
  return createEmptyInspection(allFiles?.samples ?? [], files, allProblems);
}

/**
 * Returns true if the answers state columns or fields. A table is then read even if it was not recognised as a market.
 */
const hasColumnAnswer = ({ columns, field, fields }: Answers) => (columns ?? field ?? fields ?? null) !== null;

const declareProposal = (mapping: Mapping, { adjustment }: Answers): Proposal => ({
  mapping,
  ...(adjustment === undefined ? { adjustment: null, reason: null } : stateAdjustment(adjustment)),
  recognisedAs: null,
  confidence: 'sure',
  questions: [],
});

interface Sampling {
  readonly answers: Answers;
  readonly tablesMax: number;
}

async function openSource(inspected: OpenedData, problems: Problems, sampling: Sampling): Promise<Source | undefined> {
  const { answers, tablesMax } = sampling;
  const encoding = answers.encoding ?? null;
  if (inspected.kind === 'files') return openFiles(inspected.files, problems, sampling);
  if (inspected.kind === 'database') {
    const { place, tables } = inspected;
    const databaseSamples = await sampleDatabase(place, SAMPLE_ROWS, problems);
    const tableName = tables.market ?? 'market';
    const market =
      databaseSamples?.find(({ name }) => name === tableName) ??
      databaseSamples?.find((each) => proposeMapping([each], null, answers) !== undefined);
    if (databaseSamples === undefined || market === undefined) return undefined;
    const chosenTables = market.name === 'market' ? tables : { ...tables, market: market.name };
    return {
      samples: [market],
      tables: chosenTables,
      namedBy: null,
      filesOf: () => 1,
      read: (terms, found) => readDatabase(place, chosenTables, found, () => {}, { terms }),
    };
  }
  const bytes = decodeUpload(inspected.content, inspected.kind);
  const { names, samples } = await sampleContent(inspected.kind, bytes, problems, {
    encoding,
    ignore: answers.ignore,
    tablesMax,
  });
  return {
    samples: addPositions(samples, answers.columns),
    tables: {},
    namedBy: inspected.kind === 'xlsx' ? 'sheet' : 'file',
    filesOf: (mapping) => names.filter((name) => isMarketTable(mapping, name)).length,
    read: (terms, found) => readImport({ kind: inspected.kind, bytes }, found, terms),
  };
}

async function openFiles(
  files: TableFiles,
  problems: Problems,
  { answers: { encoding = null, ignore, columns }, tablesMax }: Sampling,
): Promise<Source> {
  let duckDb: DuckDb | undefined;
  const paths = files.market.flatMap(({ format, path }) => (format === 'parquet' ? [path] : []));
  const samples = await sampleFiles(files.market, problems, {
    encoding,
    ignore,
    tablesMax,
    duck: async () => (duckDb ??= await openDuckDb({ files: paths })),
  });
  duckDb?.close();
  const listMarketFiles = (mapping: Mapping) =>
    files.market.filter(({ path }) => isMarketTable(mapping, basename(path)));
  return {
    samples: addPositions(samples, columns),
    tables: {},
    namedBy: 'file',
    filesOf: (mapping) => listMarketFiles(mapping).length,
    read: (terms, found) =>
      readSource({ ...files, market: listMarketFiles(terms.mapping!) }, found, () => {}, { terms }),
  };
}

interface Trial {
  readonly answers: Answers;
  readonly zones: UsedZones;
  readonly trialsMax: number;
}

/** Reads a source as proposed, and repeats the reading with corrections that the findings imply. */
async function tryMapping(
  source: Source,
  proposal: Proposal,
  { answers, zones, trialsMax }: Trial,
): Promise<Inspection> {
  const { calendars } = zones;
  let terms: MarketInterpretation = { mapping: proposal.mapping, adjustment: proposal.adjustment ?? 'none', calendars };
  const questions = [...proposal.questions];
  for (let trial = 1; ; trial++) {
    const problems = createProblems();
    const sourceContent = await source.read(terms, problems);
    const outcome = sourceContent && recountMarketRows(sourceContent, terms.mapping);
    const otherDates =
      outcome === undefined && trial < trialsMax ? chooseAfterReading(questions, problems.findings()) : undefined;
    if (otherDates !== undefined) {
      terms = { ...terms, mapping: { ...terms.mapping!, date_format: otherDates } };
      continue;
    }
    const correction = trial < trialsMax ? correctMapping(terms.mapping!, problems, answers) : undefined;
    if (correction !== undefined) {
      terms = { ...terms, mapping: correction.mapping };
      // Keeps only the last of several questions about a field. Rows with different values are not duplicates.
      const questionIndex = questions.findIndex(({ field }) => field === correction.question?.field);
      if (questionIndex >= 0) questions.splice(questionIndex, 1);
      if (correction.question !== undefined) questions.push(correction.question);
      continue;
    }
    const zoneQuestion = trial < trialsMax ? askTimeZone(terms.mapping!, problems.findings(), zones) : undefined;
    if (zoneQuestion !== undefined) questions.push(zoneQuestion);
    if (zoneQuestion?.required === false) {
      terms = { ...terms, mapping: { ...terms.mapping!, time_zone: zoneQuestion.taken } };
      continue;
    }
    await filterDateFormats(questions, async (date_format) => {
      const result = createProblems();
      await source.read({ ...terms, mapping: { ...terms.mapping!, date_format } }, result);
      return result.findings();
    });
    const basis = getBasis(proposal, outcome, questions);
    const isOpen = outcome === undefined || questions.some(({ required }) => required);
    return {
      files: source.filesOf(terms.mapping!),
      rows_read: outcome?.rows.market ?? 0,
      mapping: terms.mapping!,
      tables: source.tables,
      adjustment: basis.adjustment,
      basis,
      confidence: isOpen ? 'unsure' : proposal.confidence,
      recognised_as: proposal.recognisedAs,
      unsure: questions,
      preview: createPreview(outcome?.content),
      findings: problems.findings(),
      faulty_files: problems.files(),
    };
  }
}

/** Returns the price basis. Adjusted closes can show it: if they imply no split, the closes are adjusted for splits. */
function getBasis(proposal: Proposal, read: TrialResult | undefined, questions: Question[]): Basis {
  if (proposal.adjustment !== null) return createBasis(proposal.adjustment, proposal.reason ?? '');
  const splits = read?.derived?.splits;
  if (splits !== undefined && splits > 0)
    return createBasis(
      'none',
      `Adjusted closes imply ${splits === 1 ? '1 split' : `${splits} splits`} not contained in closes, so closes are as traded.`,
    );
  const [taken, reason] =
    splits === 0
      ? (['splits', 'Adjusted closes imply no further split, so closes are taken to be adjusted for splits.'] as const)
      : (['none', 'The data do not state whether closes are adjusted. They are taken to be as traded.'] as const);
  const otherAdjustments = listAlternativeBases(taken).map(({ adjustment }) => adjustment);
  questions.push({ field: 'adjustment', question: reason, taken, others: otherAdjustments, required: false });
  return createBasis(taken, reason);
}
