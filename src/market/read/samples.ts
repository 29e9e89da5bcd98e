import { basename } from 'node:path';
import type { Finding } from '#domain/base/findings.js';
import type { Mapping } from '#domain/definition/mapping.js';
import { type Cell, namePositions, readText } from '../formats/cells.js';
import { type DuckDb, formatBoundColumn, quoteText, toCell } from '../formats/duckdb.js';
import type { SourceFile } from '../formats/source-file.js';
import { CsvFault, type CsvRecord, readCellText, readCsv, type TextEncoding } from '../formats/csv.js';
import { FORMULA, readWorkbook, type SheetSink, type ZipMember } from '../formats/workbook.js';
import { isHeaderless } from '../mapping/columns.js';
import { COMMON_FORMATS, createDayReader } from '../mapping/written-values.js';
import { createProblems, type Problems } from '../tables/problems.js';
import { findTable } from '../tables/table-kinds.js';
import {
  addKeyColumns,
  createWorkbookReader,
  findPartitionedFile,
  type FolderKey,
  getBaseName,
  isWorkbookFault,
  readArchivedFiles,
  readRows,
} from './file-rows.js';
import { describeUnreadableFile } from './parquet-market.js';
import { addZones, formatScan } from './parquet.js';
import { assignRoles } from './roles.js';

/** Format of dates; null for YYYY-MM-DD. */
interface DateFormat {
  readonly format: string | null;
  readonly others: readonly string[];
}

/**
 * Range of days that a market may contain, in days since 1970-01-01. If a text parses to a day outside it, the text is
 * not a date.
 */
const EPOCH_DAY_RANGE = { from: -56_000, to: 36_500 } as const;

/** Serial dates of Excel from 1954 to 2173, with or without a time of day. */
const SERIAL_DATE = /^[2-9]\d{4}(\.\d+)?$/;

const EPOCHS = ['epoch_s', 'epoch_ms', 'epoch_us', 'epoch_ns'] as const;

/** Returns the date format of a column; undefined if no format fits all cells. */
export function detectDateFormat(cells: readonly (Cell | undefined)[]): DateFormat | undefined {
  const filledCells = cells.filter((cell) => readText(cell) !== null);
  if (filledCells.length === 0) return undefined;
  const matchesFormat = (format: string | null) => {
    const readDay = createDayReader(format);
    return filledCells.every((cell) => {
      const day = readDay(cell);
      return typeof day === 'number' && day >= EPOCH_DAY_RANGE.from && day <= EPOCH_DAY_RANGE.to;
    });
  };
  if (matchesFormat(null)) return { format: null, others: [] };
  const commonFormats = COMMON_FORMATS.filter(matchesFormat);
  if (commonFormats.length > 0)
    return {
      format: commonFormats[0]!,
      others: commonFormats.slice(1).filter((format) => !hasSameOrder(commonFormats[0]!, format)),
    };
  // Epoch units from seconds to nanoseconds differ by factors of a thousand. At most one of them therefore gives days
  // in this range. Days of 1970 are excluded.
  const epoch = EPOCHS.find((format) => {
    const readDay = createDayReader(format);
    return filledCells.every((cell) => {
      const day = readDay(cell);
      return typeof day === 'number' && day > 365 && day <= EPOCH_DAY_RANGE.to;
    });
  });
  if (epoch !== undefined) return { format: epoch, others: [] };
  const isSerial = filledCells.every((cell) => SERIAL_DATE.test(readText(cell)!));
  return isSerial ? { format: 'excel', others: [] } : undefined;
}

/**
 * Returns true if two formats differ only in the width of their numbers. Such formats are equivalent for the same
 * texts.
 */
const hasSameOrder = (a: string, b: string) => describeOrder(a) === describeOrder(b);
const describeOrder = (format: string) =>
  [...format.replaceAll(/[^YMD]/g, '')].filter((letter, i, all) => letter !== all[i - 1]).join('');

/** First rows of a table, including its header. */
export interface Sample {
  /** Name of the file, sheet or table. */
  readonly name: string;
  readonly rows: readonly (readonly (Cell | undefined)[])[];
  readonly delimiter?: string | undefined;
  /** True for a sheet of a workbook. */
  readonly isSheet?: boolean | undefined;
  /** Columns that were the index of a pandas frame. */
  readonly index?: readonly string[] | undefined;
  /** True if a file with the name of a text file contains other data. */
  readonly isBinary?: boolean | undefined;
  /** Reason why a text file was not read to the end of the sample. */
  readonly fault?: string | undefined;
}

/** Most frequent encoding of text that is not UTF-8. */
export const DEFAULT_ENCODING: TextEncoding = 'windows-1252';

/** Returns true if a finding suggests a different text encoding. */
export const isOfEncoding = ({ code, accepted }: Finding): boolean =>
  code === 'UNREADABLE_FILE' && accepted?.includes(DEFAULT_ENCODING) === true;

/** Origin of table names: files or sheets. It is null if names cannot contain an identifier. */
export type TableNameSource = 'file' | 'sheet' | null;

/** Number of sampled rows of a table: more than a preamble, a header and a month of days. */
export const SAMPLE_ROWS = 60;

/** Number of sampled tables; the tables of one vendor are similar. */
export const SAMPLE_TABLES = 8;

/** Thrown to stop reading when enough rows have been read. */
class SampleCheck extends Error {}

/** Properties of files that are known in advance. */
interface SampleTerms {
  readonly encoding: TextEncoding | null;
  /** Names of ignored sheets. */
  readonly ignore?: readonly string[] | undefined;
  readonly tablesMax: number;
}

/** Reads the first rows of at most `tablesMax` files. Reports problems of a file and continues. */
export async function sampleFiles(
  files: readonly SourceFile[],
  problems: Problems,
  { duck, ...terms }: SampleTerms & { readonly duck: () => Promise<DuckDb> },
): Promise<Sample[]> {
  const samples: Sample[] = [];
  for (const file of selectSpread(files, terms.tablesMax)) {
    const sample =
      file.format === 'parquet'
        ? await readParquetRows(file, await duck(), problems)
        : await readTextRows(file, problems, terms);
    if (sample !== undefined) samples.push({ name: basename(file.path), ...sample });
  }
  return samples;
}

/** Adds a header of positions to tables without a header, if the columns are named by position. */
export const addPositions = (samples: readonly Sample[], columns: Mapping['columns'] | undefined): readonly Sample[] =>
  isHeaderless(columns)
    ? samples.map((sample) => ({ ...sample, rows: [namePositions(sample.rows[0]?.length ?? 0), ...sample.rows] }))
    : samples;

/** Selects files at even distances, including the first and the last. */
function selectSpread<T>(files: readonly T[], most: number): readonly T[] {
  if (files.length <= most) return files;
  return Array.from({ length: most }, (_, i) => files[Math.round((i * (files.length - 1)) / (most - 1))]!);
}

type Rows = Omit<Sample, 'name'>;

/** Reads rows of a text file. If the file is not UTF-8 and no encoding is specified, reads it as windows-1252. */
async function readTextRows(file: SourceFile, problems: Problems, terms: SampleTerms): Promise<Rows> {
  const result = createProblems();
  const rows = await readEncodedRows(file, result, terms);
  if (terms.encoding === null && result.findings().some(isOfEncoding))
    return readTextRows(file, problems, { ...terms, encoding: DEFAULT_ENCODING });
  problems.take(result.findings());
  return rows;
}

async function readEncodedRows(file: SourceFile, problems: Problems, { encoding, ignore }: SampleTerms): Promise<Rows> {
  let delimiter: string | undefined;
  let isSheet = false;
  const rows: (readonly (Cell | undefined)[])[] = [];
  const add = (cells: readonly (Cell | undefined)[] | null) => {
    if (cells !== null) rows.push(cells);
    if (rows.length >= SAMPLE_ROWS) throw new SampleCheck();
  };
  const onHeader = (columns: readonly string[]) => {
    add(columns);
    return add;
  };
  try {
    await readRows(file, [], problems, {
      csv: (columns) => {
        const acceptRow = onHeader(columns);
        return (record) => {
          delimiter ??= detectDelimiter(record);
          acceptRow(Array.from({ length: record.cells }, (_, cell) => readCellText(record, cell)));
        };
      },
      cells: onHeader,
      sheet: (columns) => {
        isSheet = true;
        add(columns);
        return (cells) => add(cells.map((cell) => (cell === FORMULA ? null : cell)));
      },
      onBytes: () => {},
      isWanted: isColumn,
      terms: { encoding, ignore },
    });
  } catch (enough) {
    if (!(enough instanceof SampleCheck)) throw enough;
  }
  return { rows, delimiter, isSheet };
}

/** Returns true if a folder key has the name of an identifier or of a date, and a value of this kind. */
function isColumn({ name, value }: FolderKey): boolean {
  const { identifier, date } = assignRoles([name]);
  return identifier !== undefined || (date !== undefined && detectDateFormat([value]) !== undefined);
}

/** Returns the delimiter between the first two cells of a record. Returns undefined if the record has a single cell. */
function detectDelimiter({ bytes, starts, ends, cells }: CsvRecord): string | undefined {
  if (cells < 2) return undefined;
  return /[,;\t|]/.exec(String.fromCharCode(...bytes.subarray(ends[0], starts[1])))?.[0];
}

/** Reads the first rows of a Parquet file. If the file cannot be read, returns undefined and adds a finding. */
async function readParquetRows(file: SourceFile, duck: DuckDb, problems: Problems): Promise<Rows | undefined> {
  try {
    return { rows: await findFirstRows(file, duck), index: await readPandasIndex(file, duck) };
  } catch (error) {
    problems.nameFile(file.label, basename(file.path));
    problems.error(describeUnreadableFile(file, error));
    return undefined;
  }
}

async function findFirstRows(file: SourceFile, { connection }: DuckDb): Promise<Sample['rows']> {
  const { files, columns } = await addZones(connection, [file]);
  const scan = formatScan(files, { withRows: false });
  const names = columns.map(({ name }) => name);
  const columnList = columns.map(formatBoundColumn).join(', ');
  const queryResult = await connection.runAndReadAll(`SELECT ${columnList} FROM ${scan} LIMIT ${SAMPLE_ROWS}`);
  return [names, ...queryResult.getRows().map((row) => row.map(toCell))];
}

/**
 * Returns the index columns in the pandas metadata of a data frame. Returns none if the index only numbers the rows.
 */
function listIndexColumns(metadata: string): readonly string[] {
  try {
    const { index_columns: index } = JSON.parse(metadata) as { readonly index_columns?: unknown };
    return Array.isArray(index) ? index.filter((column) => typeof column === 'string') : [];
  } catch {
    return []; // no metadata, or not written by pandas
  }
}

/** Maximum size in bytes of the pandas metadata: about a thousand columns. */
const PANDAS_BYTES_MAX = 1 << 20;

/** Returns columns that pandas recorded as the index of the data frame; none if pandas did not write the file. */
async function readPandasIndex({ path }: SourceFile, { connection }: DuckDb): Promise<readonly string[]> {
  const metadata = `SELECT decode(value) FROM parquet_kv_metadata(${quoteText(path)})`;
  const queryResult = await connection.runAndReadAll(
    `${metadata} WHERE decode(key) = 'pandas' AND octet_length(value) <= ${PANDAS_BYTES_MAX} LIMIT 1`,
  );
  return listIndexColumns(String(queryResult.getRows()[0]?.[0] ?? ''));
}

/** Market tables in the body of an import: the names of all tables, and the first rows of some. */
interface ContentSample {
  readonly names: readonly string[];
  readonly samples: readonly Sample[];
}

/**
 * Returns the first rows of the market tables of an import. Problems of individual workbooks in an archive are
 * reported. @throws ZipFault, XmlFault, WorkbookFault
 */
export async function sampleContent(
  format: 'xlsx' | 'csv' | 'csv.zip',
  bytes: Uint8Array,
  problems: Problems,
  terms: SampleTerms,
): Promise<ContentSample> {
  if (format !== 'xlsx') return sampleArchive({ format, bytes }, problems, terms);
  const samples = (await sampleSheets(bytes)).filter(({ name }) => isMarketTable(name));
  return { names: samples.map(({ name }) => name), samples };
}

const isMarketTable = (name: string) => (findTable(name.replace(/\.(csv|xlsx)$/i, '')) ?? 'market') === 'market';

async function sampleSheets(bytes: Uint8Array): Promise<Sample[]> {
  const samples: Sample[] = [];
  await readWorkbook(bytes, (name, columns) => {
    const rows: (readonly (Cell | undefined)[])[] = [columns];
    samples.push({ name, rows, isSheet: true });
    return (cells) => {
      if (rows.length < SAMPLE_ROWS) rows.push(cells.map((cell) => (cell === FORMULA ? null : cell)));
    };
  });
  return samples.filter(({ rows }) => rows[0]!.length > 0);
}

/**
 * Reads the first rows of an archive. As in folders, workbooks are inspected only if no text file belongs to the
 * market.
 */
async function sampleArchive(
  { format, bytes }: { readonly format: 'csv' | 'csv.zip'; readonly bytes: Uint8Array },
  problems: Problems,
  terms: SampleTerms,
): Promise<ContentSample> {
  const { members } = await readArchivedFiles(bytes, format, null);
  const isOfMarket = (path: string) => {
    const table = findPartitionedFile(path, null)?.table;
    return table === undefined ? isMarketTable(getBaseName(path)) : table === 'market';
  };
  const listMembers = (ending: RegExp) => members.filter(({ name }) => ending.test(name) && isOfMarket(name));
  const texts = listMembers(/\.(csv|txt|tsv)$/i);
  const sampledMembers = texts.length > 0 ? texts : listMembers(/\.xlsx$/i);
  const samples: Sample[] = [];
  const readWorkbookMember = createWorkbookReader();
  for (const member of selectSpread(sampledMembers, terms.tablesMax)) {
    const rows =
      texts.length > 0
        ? await readMemberRows(member, problems, terms.encoding)
        : await readWorkbookRows(member, problems, (sink) =>
            readWorkbookMember(member, sink, { ignore: terms.ignore }),
          );
    if (rows !== undefined) samples.push({ name: getBaseName(member.name), ...rows });
  }
  return { names: sampledMembers.map(({ name }) => getBaseName(name)), samples };
}

/**
 * Returns the first rows of the only sheet of a workbook. If it cannot be read, returns undefined and adds a finding.
 */
async function readWorkbookRows(
  { name }: ZipMember,
  problems: Problems,
  read: (sink: (columns: readonly string[]) => SheetSink) => Promise<void>,
): Promise<Rows | undefined> {
  const rows: (readonly (Cell | undefined)[])[] = [];
  try {
    await read((columns) => {
      rows.push(columns);
      return (cells) => {
        if (rows.length < SAMPLE_ROWS) rows.push(cells.map((cell) => (cell === FORMULA ? null : cell)));
      };
    });
  } catch (error) {
    if (!isWorkbookFault(error)) throw error;
    problems.nameFile(getBaseName(name), name);
    problems.error({ code: 'UNREADABLE_FILE', path: getBaseName(name), message: error.message });
    return undefined;
  }
  return { rows, isSheet: true };
}

/** Reads rows of a text file in an archive like `readTextRows`. */
async function readMemberRows(member: ZipMember, problems: Problems, encoding: TextEncoding | null): Promise<Rows> {
  const rows: (readonly (Cell | undefined)[])[] = [];
  let delimiter: string | undefined;
  let isBinary = false;
  let fault: string | undefined;
  const add = (cells: readonly Cell[]) => {
    rows.push(cells);
    if (rows.length >= SAMPLE_ROWS) throw new SampleCheck();
  };
  const onHeader = (columns: readonly string[]) => {
    add(columns);
    return (record: CsvRecord) => {
      delimiter ??= detectDelimiter(record);
      add(Array.from({ length: record.cells }, (_, cell) => readCellText(record, cell)));
    };
  };
  try {
    const chunks = checkBytes(member.open(), () => (isBinary = true));
    const label = findPartitionedFile(member.name, null)?.label ?? member.name;
    const readers = { csv: onHeader, cells: () => undefined };
    await readCsv(chunks, addKeyColumns(readers, { label, isWanted: isColumn }, problems).csv, { encoding });
  } catch (enough) {
    if (!(enough instanceof SampleCheck || enough instanceof CsvFault)) throw enough;
    if (enough instanceof CsvFault) fault = enough.message;
    if (encoding === null && 'accepted' in enough && enough.accepted !== undefined)
      return readMemberRows(member, problems, DEFAULT_ENCODING);
  }
  return { rows, delimiter, isBinary, fault };
}

/** Yields the bytes of a text file. Calls `onBinary` if the first of them contain control characters. */
async function* checkBytes(chunks: AsyncIterable<Uint8Array>, onBinary: () => void): AsyncGenerator<Uint8Array> {
  let isFirst = true;
  for await (const chunk of chunks) {
    if (isFirst && !startsUtf16(chunk) && chunk.some((byte) => CONTROL_BYTES.has(byte))) onBinary();
    isFirst = false;
    yield chunk;
  }
}

/** Control characters that no text contains: all except tab, line feed, form feed, carriage return and Ctrl-Z. */
const CONTROL_BYTES: ReadonlySet<number> = new Set(
  Array.from({ length: 32 }, (_, byte) => byte).filter((byte) => ![9, 10, 12, 13, 26].includes(byte)),
);

/** Returns true for the byte order marks of UTF-16, in which every second byte may be zero. */
const startsUtf16 = ([a, b]: Uint8Array): boolean => (a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff);
