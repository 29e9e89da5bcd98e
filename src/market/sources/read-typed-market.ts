import type { DuckDBConnection } from '@duckdb/node-api';
import type { Day } from '#domain/time/days.js';
import { compareText } from '#domain/refusals/findings.js';
import { AssetIdentifier } from '#domain/schema/shape.js';
import { awaitAll } from '../panels/settle-all.js';
import { readDay, TEXT_BYTES_MAX } from '../formats/cells.js';
import { toCell, streamChunks, readIntegers, quoteName, quoteText, readTexts, type DuckDb } from '../formats/duckdb.js';
import { createNameTable } from '../formats/short-names.js';
import { refuseSize } from '../content/market-limits.js';
import { createNoPanels, removeEmptyLines, type Panels } from '../panels/panels.js';
import { formatDayExpression, type MarketColumns, type TypedColumn } from './parquet/parquet.js';
import { reportMarketProblems, type NumberedSource } from './parquet/parquet-problems.js';
import type { Problems } from '../tables/problems.js';
import { replaceSlashes, restoreName } from '../tables/slashless-names.js';
import { BLOCK_DAYS } from '../panels/day-blocks.js';
import {
  writeRows,
  type DayFollower,
  type RowStream,
  type ScatterResult,
  type RowTarget,
} from '../threads/scatter-rows.js';
import { sumRowGroups } from '../threads/stripes.js';
import type { Scattering } from '../threads/scattering.js';

interface TypedSource extends NumberedSource {
  readonly scan: string;
  readonly columns: Extract<MarketColumns, { kind: 'typed' }>;
  /** Threads available for reading the source. */
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
export type OnSecurities = (identifiers: readonly string[]) => void;

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

/** Returns the distinct texts of a query with one column. */
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
