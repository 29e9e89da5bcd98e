import type { DuckDBConnection } from '@duckdb/node-api';
import { closeSync, openSync, readSync } from 'node:fs';
import { compareText } from '#domain/base/findings.js';
import { AssetIdentifier } from '#domain/base/schema.js';
import type { Day } from '#domain/base/time.js';
import { refuseSize } from '../content/market-content.js';
import type { CheckedRows } from '../content/table-rows.js';
import { type Cell, readDay, TEXT_BYTES_MAX } from '../formats/cells.js';
import { createNameTable } from '../formats/direct-duckdb.js';
import {
  describeMemoryFault,
  type DuckDb,
  formatBoundColumn,
  formatSettings,
  quoteName,
  quoteText,
  readIntegers,
  readTexts,
  streamChunks,
  toCell,
} from '../formats/duckdb.js';
import { digestFiles, type SourceFile } from '../formats/source-file.js';
import { describeForeignText, HEAD_BYTES } from '../formats/csv.js';
import { createMarketRowsOn } from '../mapping/mapped-content.js';
import { BLOCK_DAYS, createNoPanels, type Panels, removeEmptyLines } from '../panels/panels.js';
import { digestFilesApart } from '../panels/hashing.js';
import {
  type DayFollower,
  type RowStream,
  type RowTarget,
  SCATTERED_BYTES_MIN,
  type Scattering,
  type ScatterResult,
  startScattering,
  writeRows,
} from '../panels/scattering.js';
import { awaitAll } from '../panels/market-transfer.js';
import { sumRowGroups } from '../panels/stripes.js';
import { type DataProblem, formatReason, type Problems, replaceSlashes, restoreName } from '../tables/problems.js';
import { isBarKey } from './file-rows.js';
import { findChangedFiles, formatTableName } from './folder.js';
import {
  addZones,
  formatDayExpression,
  formatScan,
  type MarketColumns,
  type NumberedSource,
  planInstants,
  planMarketColumns,
  readColumns,
  reportColumns,
  reportKeys,
  reportMarketProblems,
  type TypedColumn,
  type ZonedFiles,
} from './parquet.js';
import type { MarketReadState, SourceReadState } from './source-read.js';

interface TypedSource extends NumberedSource {
  readonly scan: string;
  readonly columns: Extract<MarketColumns, { kind: 'typed' }>;
  readonly scattering?: Scattering | undefined;
}

export interface TypedMarketResult {
  readonly panels: Panels;
  readonly rows: number;
}

/**
 * Function that receives the identifiers of a market as soon as they are known. It is called even if the market turns
 * out to be invalid.
 */
type OnSecurities = (identifiers: readonly string[]) => void;

/**
 * Reads a typed market source into panels. Two scans of single columns give the axes. One scan of all columns then
 * writes its values to the cells. If there are errors, further scans with row numbers locate them, so that messages
 * cost nothing for valid files.
 * @returns undefined, with a finding, after an error.
 * @cost 0.15 µs a row and field on one core.
 */
export async function readTypedMarket(
  duck: DuckDb,
  source: TypedSource & { readonly isPart?: boolean; readonly onNames?: OnSecurities },
  problems: Problems,
  onProgress: (fraction: number) => void,
  follower?: DayFollower,
): Promise<TypedMarketResult | undefined> {
  const { columns, scan, isPart = false } = source;
  const { connection } = duck;
  const identifier = quoteName(columns.identifier);
  const countConnection = await duck.connect(); // connects first, because a failing scan that is not yet awaited would end the process
  const [spellings, rowsByDay] = await awaitAll([
    // Identifiers above the maximum length are invalid. Their bytes are not copied from DuckDB.
    readDistinctTexts(
      connection,
      `SELECT ${formatShortText('name')} FROM (SELECT DISTINCT ${identifier} AS name FROM ${scan})`,
    ),
    countDays(countConnection, scan, columns.date),
  ]);
  const names = [...new Set(spellings.texts.map((text) => restoreName(text.trim(), problems)))].sort(compareText);
  source.onNames?.(names);
  if (!spellings.isSound || rowsByDay === undefined) {
    await reportMarketProblems(duck, source, problems);
    return undefined;
  }
  const total = [...rowsByDay.values()].reduce((sum, rows) => sum + rows, 0);
  if (total === 0 && isPart) return { panels: createNoPanels(columns.fields.map(({ name }) => name)), rows: 0 };
  if (total === 0) {
    problems.error({
      code: 'EMPTY_DATASET',
      path: 'market',
      message: 'The market holds no row; at least one is needed.',
    });
    return undefined;
  }
  const dates = Int32Array.from(rowsByDay.keys()).sort();
  const shape = { dates: dates.length, identifiers: names.length, fields: columns.fields.length };
  if (refuseSize(shape, problems)) return undefined;

  const target = {
    identifiers: names,
    dates,
    fields: columns.fields.map(({ name }) => name),
    rowsOfDay: dates.map((date) => rowsByDay.get(date)!),
  };
  const scatterResult = await fillPanels(
    duck,
    source,
    { target, spellings: spellings.texts, rows: total },
    (rows) => onProgress(rows / total),
    follower,
  );
  if (!scatterResult.isSound) {
    await reportMarketProblems(duck, source, problems);
    if (problems.errors === 0)
      problems.error({ code: 'UNREADABLE_FILE', path: 'market', message: 'The files changed while they were read.' });
    return undefined;
  }
  return { panels: removeEmptyLines(scatterResult.panels), rows: scatterResult.rows };
}

/** Panels to fill from a source, with all spellings of its identifiers. */
interface Destination {
  readonly target: RowTarget;
  readonly spellings: readonly string[];
  readonly rows: number;
}

/** Fills the panels of a source. Uses separate threads if they are available and all identifiers are short. */
async function fillPanels(
  duck: DuckDb,
  source: TypedSource,
  { target, spellings, rows }: Destination,
  onRows: (rows: number) => void,
  follower: DayFollower | undefined,
): Promise<ScatterResult> {
  const columnByIdentifier = new Map(target.identifiers.map((name, n) => [name, n]));
  const positions = new Map(
    spellings.toSorted(compareText).map((text) => [text, columnByIdentifier.get(replaceSlashes(text.trim()))!]),
  );
  const nameTable = createNameTable(positions);
  const { scattering } = source;
  if (scattering !== undefined && nameTable !== undefined && (await scattering.areReady())) {
    const parts = divideScan(source, computeBorders(target.rowsOfDay, scattering.parts)).map((part) =>
      formatQuery(source, quoteName(source.columns.identifier), part),
    );
    return scattering.scatter({ parts, positions: [...positions] }, target, onRows, follower);
  }
  return writeRows(await openStreams(duck, source, { positions, short: nameTable, rows }), target, onRows, follower);
}

/** Opens streams of the rows of a source. Short identifiers are found by their bytes, long ones by a join. */
async function openStreams(
  duck: DuckDb,
  source: TypedSource,
  {
    positions,
    short,
    rows,
  }: Pick<Destination, 'rows'> & {
    readonly positions: ReadonlyMap<string, number>;
    readonly short: ReturnType<typeof createNameTable>;
  },
): Promise<RowStream[]> {
  if (short === undefined) await writeAxis(duck.connection, positions);
  const key = quoteName(source.columns.identifier);
  const kinds = ['integer', short ? 'text' : 'integer', ...source.columns.fields.map(() => 'double' as const)] as const;
  const count = Math.min(Math.floor(rows / PART_ROWS_MIN), PARTS_MAX);
  const borders = Array.from({ length: Math.max(0, count - 1) }, (_, i) => Math.floor(((i + 1) * rows) / count));
  return Promise.all(
    divideScan(source, borders).map(async (part, i) => {
      const from = `${part} AS source${short ? '' : ` JOIN axis ON axis.name = source.${key}`}`;
      const sql = formatQuery(source, short ? `source.${key}` : 'axis.n', from);
      const chunks = streamChunks(i === 0 ? duck.connection : await duck.connect(), sql, kinds);
      const findPositions = short?.();
      return { chunks, namesOf: (chunk) => findPositions?.(readTexts(chunk, 1)) ?? readIntegers(chunk, 1) };
    }),
  );
}

/** Returns the SQL for day, identifier and numbers of rows. */
function formatQuery({ columns: { date, fields } }: TypedSource, name: string, from: string): string {
  const day = date.type === 'DATE' ? quoteName(date.name) : formatDayExpression(date); // a DATE is stored as days since 1970
  const values = fields.map(({ column }) => `coalesce(${quoteName(column)}::DOUBLE, 'NaN'::DOUBLE)`);
  return `SELECT ${day} AS d, ${name}, ${values.join(', ')} FROM ${from}`;
}

/** Minimum number of rows for a separate scan: several row groups of the usual size. */
const PART_ROWS_MIN = 500_000;

/**
 * Maximum number of concurrent scans. A scan mostly uses one thread. With more scans, the thread that fills the panels
 * is slower.
 */
const PARTS_MAX = 3;

/** Matches the names that DuckDB gives to the file and number of a row. */
const ROW_KEYS = /^(filename|file_row_number)$/i;

/**
 * Returns the rows at which a file ordered by day is divided into parts of about equal size. Each part begins at the
 * start of a block of days.
 */
function computeBorders(rowsOfDay: Int32Array, parts: number): number[] {
  const cumulativeRows = sumRowGroups(rowsOfDay, BLOCK_DAYS).reduce<number[]>(
    (sums, rows) => [...sums, sums.at(-1)! + rows],
    [0],
  );
  const borders = Array.from({ length: parts - 1 }, (_, i) => {
    const targetRows = ((i + 1) * cumulativeRows.at(-1)!) / parts;
    return cumulativeRows.findLast((row) => row <= targetRows)!; // the first is 0, which is at most `targetRows`
  });
  return [...new Set(borders)].filter((row) => row > 0);
}

/**
 * Divides the scan of a source into scans that together return each row once. Each scan skips the row groups of the
 * others. A single file is divided by row, several files by file.
 * @param borders rows of a single file at which parts after the first begin; for several files, only their number is
 * used
 */
function divideScan({ files, scan, numberedScan, columns }: TypedSource, borders: readonly number[]): string[] {
  if (columns.fields.some(({ column }) => ROW_KEYS.test(column))) return [scan]; // the file contains a column with this name
  const count = files.length === 1 ? borders.length + 1 : Math.min(borders.length + 1, files.length);
  if (files.length === 0 || count < 2) return [scan];
  const paths = files.map(({ path }) => path).toSorted(compareText);
  const formatBorder = (i: number) =>
    files.length === 1 ? String(borders[i - 1]) : quoteText(paths[Math.floor((i * paths.length) / count)]!);
  const column = files.length === 1 ? 'file_row_number' : 'filename';
  return Array.from({ length: count }, (_, i) => {
    const bounds = [
      ...(i > 0 ? [`${column} >= ${formatBorder(i)}`] : []),
      ...(i < count - 1 ? [`${column} < ${formatBorder(i + 1)}`] : []),
    ];
    return `(SELECT * FROM ${numberedScan} WHERE ${bounds.join(' AND ')})`;
  });
}

/**
 * Creates a table `axis` that maps every spelling of an identifier to the column of its panel. A spelling may include
 * surrounding spaces.
 */
async function writeAxis(connection: DuckDBConnection, positions: ReadonlyMap<string, number>): Promise<void> {
  await connection.run('CREATE TABLE axis (name VARCHAR, n INTEGER)');
  const rows = await connection.createAppender('axis');
  for (const [text, position] of positions) {
    rows.appendVarchar(text);
    rows.appendInteger(position);
    rows.endRow();
  }
  rows.closeSync();
}

/** Returns the SQL of a text. The result is null for a text above the maximum length of a key. */
const formatShortText = (text: string) => `CASE WHEN strlen(${text}) <= ${TEXT_BYTES_MAX} THEN ${text} END`;

async function readDistinctTexts(connection: DuckDBConnection, sql: string): Promise<Spellings> {
  const texts: string[] = [];
  let isSound = true;
  for await (const chunk of streamChunks(connection, sql)) {
    for (const value of chunk.getColumnValues(0)) {
      if (typeof value === 'string' && AssetIdentifier.safeParse(replaceSlashes(value.trim())).success)
        texts.push(value);
      else isSound = false;
    }
  }
  return { texts, isSound };
}

interface Spellings {
  /** Valid identifiers as written. */
  readonly texts: readonly string[];
  /** True if all rows are valid. */
  readonly isSound: boolean;
}

/** Counts the rows of each day. Returns undefined if a date is null or not a valid day. */
async function countDays(
  connection: DuckDBConnection,
  scan: string,
  date: TypedColumn,
): Promise<Map<Day, number> | undefined> {
  const rows = new Map<Day, number>();
  for await (const chunk of streamChunks(
    connection,
    `SELECT ${date.type === 'VARCHAR' ? formatShortText('day') : 'day'}, n FROM (SELECT ${quoteName(date.name)} AS day, count(*)::INTEGER AS n FROM ${scan} GROUP BY 1)`,
    [null, 'integer'],
  )) {
    const counts = readIntegers(chunk, 1);
    let i = 0;
    for (const value of chunk.getColumnValues(0)) {
      const day = readDay(toCell(value));
      if (day === null || day === undefined) return undefined;
      rows.set(day, (rows.get(day) ?? 0) + counts[i++]!);
    }
  }
  return rows;
}

export async function readParquetMarket(
  listed: readonly SourceFile[],
  {
    digests,
    problems,
    follower,
    terms,
    duck: open,
    onNames,
    reference,
  }: MarketReadState & { readonly onNames: OnSecurities },
  isPart: boolean,
  onProgress: (fraction: number) => void,
): Promise<TypedMarketResult | undefined> {
  const refuse = (error: unknown) =>
    problems.error({
      code: 'UNREADABLE_FILE',
      path: 'market',
      message: describeReaderFault(error) ?? `The files cannot be read: ${formatReason(error)}`,
    });
  // Computes the digests while the scan of all columns runs and its first rows have not arrived.
  let pendingDigests: Promise<void> | undefined;
  const digest = () => (pendingDigests ??= digestFilesApart(listed, digests).catch(refuse));
  try {
    const duckDb = await open();
    const { connection } = duckDb;
    const checkedFiles = await checkFiles(connection, listed, terms, problems);
    if (checkedFiles === undefined) return undefined;
    const { files, columns: typed } = checkedFiles;
    const scan = formatScan(files, { withRows: false });
    const columns = await planInstants(
      connection,
      scan,
      planMarketColumns(typed, problems, terms.mapping),
      typed.map(({ name }) => name),
    );
    if (columns.kind === 'refused') {
      await reportMarketProblems(
        duckDb,
        { files, numberedScan: formatScan(files, { withRows: true }), columns: columns.rest },
        problems,
      );
      return undefined;
    }
    if (columns.kind === 'typed') {
      const scattering = startThreads(listed);
      return await readTypedMarket(
        duckDb,
        { files, scan, numberedScan: formatScan(files, { withRows: true }), columns, isPart, onNames, scattering },
        problems,
        (fraction) => {
          void digest();
          onProgress(fraction);
        },
        follower,
      ).finally(() => scattering?.end());
    }
    const rows = createMarketRowsOn(terms, problems, { isPart });
    for (const file of files) {
      const names =
        terms.mapping === null
          ? columns.columns
          : (await readColumns(connection, formatScan([file], { withRows: false }))).map(({ name }) => name);
      const marketFile = rows.beginFile(file.label, names, formatTableName(file));
      if (marketFile === undefined) continue;
      await readCells(connection, file, names, (cells) => rows.addCells(marketFile, cells));
    }
    const panels = rows.toPanels(reference);
    onNames(rows.names());
    return panels && { panels, rows: rows.rows };
  } catch (error) {
    if ((await findChangedFiles(listed)).length > 0) return undefined; // changed files are reported after all tables have been read
    if (!(await reportUnreadable(listed, open, problems))) refuse(error);
    return undefined;
  } finally {
    await digest();
  }
}

/** Starts threads that read a market. Returns undefined if the market is too small to benefit. */
function startThreads(files: readonly SourceFile[]): Scattering | undefined {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return bytes < SCATTERED_BYTES_MIN
    ? undefined
    : startScattering(formatSettings({ files: files.map(({ path }) => path) }));
}

/**
 * Returns the files of a market with the columns of their scan. If the scan would change columns, returns undefined and
 * adds a finding.
 */
async function checkFiles(
  connection: DuckDBConnection,
  listed: readonly SourceFile[],
  { mapping }: SourceReadState['terms'],
  problems: Problems,
): Promise<ZonedFiles<SourceFile> | undefined> {
  const errorsBefore = problems.errors;
  const result = await addZones(connection, listed, (key) => mapping !== null || isBarKey(key));
  await reportColumns(connection, result.files, { columns: result.columns, table: 'market' }, problems);
  if (mapping === null) await reportKeys(connection, result.files, result.columns, problems);
  return problems.errors > errorsBefore ? undefined : result;
}

/** Returns a message if a file takes the place of a table. Returns undefined for other and for unreadable files. */
function describeForeignFile(path: string): string | undefined {
  try {
    const file = openSync(path, 'r');
    try {
      const bytes = new Uint8Array(HEAD_BYTES);
      return describeForeignText(bytes.subarray(0, readSync(file, bytes)));
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined; // the reader of the file reports the error
  }
}

export const describeUnreadableFile = ({ label, path }: SourceFile, error: unknown): DataProblem => ({
  code: 'UNREADABLE_FILE',
  path: label,
  message: describeForeignFile(path) ?? describeReaderFault(error) ?? `The file cannot be read: ${formatReason(error)}`,
});

/** Returns a clear message for errors that the reader describes unclearly. Returns undefined for other errors. */
function describeReaderFault(error: unknown): string | undefined {
  const isCut = error instanceof Error && /no magic bytes found at end of file/i.test(error.message);
  return isCut
    ? 'The file is cut off, or is no Parquet file: there is no Parquet footer at its end.'
    : describeMemoryFault(error);
}

/** Reports each file with unreadable columns. @returns true if there is any */
async function reportUnreadable(
  files: readonly SourceFile[],
  open: SourceReadState['duck'],
  problems: Problems,
): Promise<boolean> {
  const errorsBefore = problems.errors;
  const duckDb = await open().catch(() => undefined); // a database that cannot be opened says nothing about the files
  for (const file of duckDb === undefined ? [] : files)
    await readColumns(duckDb!.connection, formatScan([file], { withRows: false })).catch((error: unknown) =>
      problems.error(describeUnreadableFile(file, error)),
    );
  return problems.errors > errorsBefore;
}

export async function readParquetTable<T>(
  files: readonly SourceFile[],
  rows: CheckedRows<T>,
  { digests, problems, duck }: SourceReadState,
): Promise<void> {
  const label = files[0]!.label.split('/')[0]!;
  await digestFiles(files, digests);
  try {
    const { connection } = await duck();
    for (const file of files) {
      const { files: zoned, columns: typed } = await addZones(connection, [file]);
      const columns = typed.map(({ name }) => name);
      const errorsBefore = problems.errors;
      await reportColumns(connection, zoned, { columns: typed, table: file.label }, problems);
      if (problems.errors > errorsBefore) continue;
      const addRow = rows.beginFile(file.label, columns);
      if (addRow !== undefined) await readCells(connection, zoned[0]!, columns, addRow);
    }
  } catch (error) {
    if ((await findChangedFiles(files)).length > 0) return; // changed files are reported after all tables have been read
    const message =
      files.map(({ path }) => describeForeignFile(path)).find((each) => each !== undefined) ??
      describeReaderFault(error) ??
      `The files cannot be read: ${formatReason(error)}`;
    problems.error({ code: 'UNREADABLE_FILE', path: label, message });
  }
}

/** Passes the rows of one Parquet file to `addRow`, in file order. Columns that only other files have are null. */
async function readCells(
  connection: DuckDBConnection,
  file: SourceFile,
  columns: readonly string[],
  addRow: (cells: Cell[]) => void,
): Promise<void> {
  const typedColumns = await readColumns(connection, formatScan([file], { withRows: false }));
  const columnList = columns.map((name) => {
    const column = typedColumns.find((ownTypedColumn) => ownTypedColumn.name === name);
    return column === undefined ? `NULL AS ${quoteName(name)}` : formatBoundColumn(column);
  });
  for await (const chunk of streamChunks(
    connection,
    `SELECT ${columnList.join(', ')} FROM ${formatScan([file], { withRows: false })}`,
  )) {
    for (const row of chunk.getRows()) addRow(row.map(toCell));
  }
}
