import type { DuckDBConnection } from '@duckdb/node-api';
import type { Day } from '#domain/days.js';
import { compareText } from '#domain/findings.js';
import { AssetIdentifier } from '#domain/shape.js';
import { settleAll } from '../process/settle-all.js';
import { dayIn } from '../formats/cells.js';
import { cellOf, chunksOf, integersOf, sqlName, sqlText, textsOf, type DuckDb } from './duckdb.js';
import { shortNames } from './short-names.js';
import { refuseSize } from '../content/market-limits.js';
import { noPanels, withoutEmptyLines, type Panels } from '../serving/panels.js';
import { dayExpression, type MarketColumns, type TypedColumn } from '../formats/parquet.js';
import { reportMarketProblems, type NumberedSource } from '../formats/parquet-problems.js';
import type { Problems } from '../content/problems.js';
import { scatterRows, type DayFollower, type RowStream } from '../content/scatter-rows.js';

interface TypedSource extends NumberedSource {
  readonly scan: string;
  readonly columns: Extract<MarketColumns, { kind: 'typed' }>;
}

export interface MarketRead {
  readonly panels: Panels;
  readonly rows: number;
}

/** Takes the names of a market as soon as they are known, also of one that turns out to be wrong. */
export type OnNames = (identifiers: readonly string[]) => void;

/**
 * Reads a typed market source into panels: two narrow scans give the axes, one wide scan is scattered into the cells.
 * Whatever is wrong is looked for again with row numbers, so that a good file pays nothing for the wording.
 * @returns undefined, with a finding, when something is wrong.
 * @cost 0.15 µs a row and field on one core.
 */
export async function readTypedMarket(
  duck: DuckDb,
  source: TypedSource & { readonly isPart?: boolean; readonly onNames?: OnNames },
  problems: Problems,
  onProgress: (fraction: number) => void,
  follower?: DayFollower,
): Promise<MarketRead | undefined> {
  const { columns, scan, isPart = false } = source;
  const { connection } = duck;
  const identifier = sqlName(columns.identifier);
  const beside = await duck.connect(); // First: a scan that fails while nobody waits for it would end the process.
  const [spellings, rowsByDay] = await settleAll([
    distinctTexts(connection, `SELECT DISTINCT ${identifier} FROM ${scan}`),
    countDays(beside, scan, columns.date),
  ]);
  const names = [...new Set(spellings.texts.map((text) => text.trim()))].sort(compareText);
  source.onNames?.(names);
  if (!spellings.isSound || rowsByDay === undefined) {
    await reportMarketProblems(duck, source, problems);
    return undefined;
  }
  const total = [...rowsByDay.values()].reduce((sum, rows) => sum + rows, 0);
  if (total === 0 && isPart) return { panels: noPanels(columns.fields.map(({ name }) => name)), rows: 0 };
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

  const fields = columns.fields.map(({ name }) => name);
  const streams = await openStreams(duck, source, { names, spellings: spellings.texts, rows: total });
  const scattered = await scatterRows(
    streams,
    { identifiers: names, dates, fields, rowsOfDay: dates.map((date) => rowsByDay.get(date)!) },
    (rows) => onProgress(rows / total),
    follower,
  );
  if (!scattered.isSound) {
    await reportMarketProblems(duck, source, problems);
    if (problems.errors === 0)
      problems.error({ code: 'UNREADABLE_FILE', path: 'market', message: 'The files changed while they were read.' });
    return undefined;
  }
  return { panels: withoutEmptyLines(scattered.panels), rows: scattered.rows };
}

/** Streams of the rows of a source. Names are found by their bytes, long ones by a join. */
async function openStreams(
  duck: DuckDb,
  source: TypedSource,
  {
    names,
    spellings,
    rows,
  }: { readonly names: readonly string[]; readonly spellings: readonly string[]; readonly rows: number },
): Promise<RowStream[]> {
  const { date, identifier, fields } = source.columns;
  const columnOf = new Map(names.map((name, n) => [name, n]));
  const positions = new Map(spellings.toSorted(compareText).map((text) => [text, columnOf.get(text.trim())!]));
  const short = shortNames(positions);
  if (short === undefined) await writeAxis(duck.connection, positions);
  const key = `source.${sqlName(identifier)}`;
  const day = date.type === 'DATE' ? sqlName(date.name) : dayExpression(date); // a DATE is its days since 1970
  const values = fields.map(({ column }) => `coalesce(${sqlName(column)}::DOUBLE, 'NaN'::DOUBLE)`);
  const kinds = ['integer', short ? 'text' : 'integer', ...values.map(() => 'double' as const)] as const;
  return Promise.all(
    partsOf(source, rows).map(async (part, i) => {
      const from = `${part} AS source${short ? '' : ` JOIN axis ON axis.name = ${key}`}`;
      const chunks = chunksOf(
        i === 0 ? duck.connection : await duck.connect(),
        `SELECT ${day} AS d, ${short ? key : 'axis.n'}, ${values.join(', ')} FROM ${from}`,
        kinds,
      );
      const positionsOf = short?.();
      return { chunks, namesOf: (chunk) => positionsOf?.(textsOf(chunk, 1)) ?? integersOf(chunk, 1) };
    }),
  );
}

/** Rows that are worth a scan of their own: some row groups of the usual size. */
const PART_ROWS_MIN = 500_000;

/**
 * One scan is worked on by one thread at a time for the most part; beyond these the thread that fills the panels is the
 * slower one.
 */
const PARTS_MAX = 3;

/** DuckDB's name of a row's position. */
const ROW_KEYS = /^(filename|file_row_number)$/i;

/**
 * The scan of a source as several that have each row once and pass over each other's row groups: by row within one
 * file, by file among many.
 */
function partsOf({ files, scan, numberedScan, columns }: TypedSource, rows: number): string[] {
  if (columns.fields.some(({ column }) => ROW_KEYS.test(column))) return [scan]; // the file says something else by it
  const count = Math.min(Math.floor(rows / PART_ROWS_MIN), PARTS_MAX, files.length === 1 ? PARTS_MAX : files.length);
  if (files.length === 0 || count < 2) return [scan];
  const paths = files.map(({ path }) => path).toSorted(compareText);
  const borderAt = (i: number) =>
    files.length === 1
      ? String(Math.floor((i * rows) / count))
      : sqlText(paths[Math.floor((i * paths.length) / count)]!);
  const column = files.length === 1 ? 'file_row_number' : 'filename';
  return Array.from({ length: count }, (_, i) => {
    const bounds = [
      ...(i > 0 ? [`${column} >= ${borderAt(i)}`] : []),
      ...(i < count - 1 ? [`${column} < ${borderAt(i + 1)}`] : []),
    ];
    return `(SELECT * FROM ${numberedScan} WHERE ${bounds.join(' AND ')})`;
  });
}

/**
 * A table `axis` of every spelling of an identifier with the column of its panel: spaces around it are not part of it.
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

/** Texts of a query of one column. */
async function distinctTexts(connection: DuckDBConnection, sql: string): Promise<Spellings> {
  const texts: string[] = [];
  let isSound = true;
  for await (const chunk of chunksOf(connection, sql)) {
    for (const value of chunk.getColumnValues(0)) {
      if (typeof value === 'string' && AssetIdentifier.safeParse(value.trim()).success) texts.push(value);
      else isSound = false;
    }
  }
  return { texts, isSound };
}

interface Spellings {
  /** Those that are identifiers. */
  readonly texts: readonly string[];
  /** Whether all of them are. */
  readonly isSound: boolean;
}

/** Rows of each day of the date column; undefined when one is null or no day that can be written. */
async function countDays(
  connection: DuckDBConnection,
  scan: string,
  date: TypedColumn,
): Promise<Map<Day, number> | undefined> {
  const rows = new Map<Day, number>();
  for await (const chunk of chunksOf(
    connection,
    `SELECT ${sqlName(date.name)}, count(*)::INTEGER FROM ${scan} GROUP BY 1`,
    [null, 'integer'],
  )) {
    const counts = integersOf(chunk, 1);
    let i = 0;
    for (const value of chunk.getColumnValues(0)) {
      const day = dayIn(cellOf(value));
      if (day === null || day === undefined) return undefined;
      rows.set(day, (rows.get(day) ?? 0) + counts[i++]!);
    }
  }
  return rows;
}
