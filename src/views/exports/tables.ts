import type { RunColumns } from '#domain/backtest/run-file/columns.js';
import { findLastAtMost } from '#domain/base/numbers.js';
import { readSharesOutstanding } from '#domain/books/index-run.js';
import { type MarketData, readReference } from '#domain/market/market-data.js';
import {
  type ExportColumn,
  type ExportPosition,
  type ExportTableName,
  ID_COLUMNS,
  type IdColumn,
  isCashName,
  listExportColumns,
  type RowFormat,
} from '#domain/outputs/exports.js';
import { produceAttribution } from '../attribution.js';
import { produceEvents } from '../events.js';
import { produceExposures } from '../exposures.js';
import {
  type Batch,
  type ByteSink,
  type ColumnValues,
  type ExportSource,
  type NamedColumn,
  type Producer,
  type TextValues,
  toTextValues,
  yieldBatches,
} from '../formats/batch.js';
import { PART_WRITERS } from '../formats/columnar.js';
import { createClosingFile, createOpeningFile, type IndexFile, type SessionFile } from '../index-files.js';
import { produceLevels } from '../levels.js';
import { produceBreaches, produceLimits } from '../limits.js';
import { produceRebalances, produceTrades } from '../rebalances.js';
import { readStoredLabels, roundOnDay } from '../run-columns.js';
import { produceRisk } from '../run-risk.js';
import { produceConstituents, produceWeights } from '../weights.js';

export const produceClosing: Producer<'closing'> = (source, from) =>
  yieldBatches<'closing'>(
    createSessionRows(source, createClosingFile(source.columns, source.window.end, source.market)),
    from,
  );

export const produceOpening: Producer<'opening'> = (source, from) =>
  yieldBatches<'opening'>(
    createSessionRows(source, createOpeningFile(source.columns, source.window.end, source.market)),
    from,
  );

export const produceProforma: Producer<'proforma'> = (source, from) => {
  const { announced } = source;
  if (announced === undefined) throw new Error('the announced composition was not decided');
  const { count, columns } = createSecurityRows(source, announced);
  const effectiveDays = new Int32Array(count).fill(announced.effective);
  return yieldBatches<'proforma'>({ count, columns: { ...columns, effective_date: effectiveDays } }, from);
};

type Rows = Omit<Batch<'closing'>, 'end'>;

/** Returns the rows of a session. They include the dividends of the session. */
function createSessionRows({ columns, market }: FileSource, file: SessionFile): Rows {
  const rows = createSecurityRows({ columns, market }, file);
  const getDividend = createDividendReader(columns, file, market);
  const points = listPositions(file).map(
    // Adding 0 converts -0 of borrowed cash to 0.
    (position) => 0 + (getDividend(position) * file.fx[position]! * file.shares[position]!) / file.divisor,
  );
  const variant = toTextValues(points.map(() => file.variant));
  return { count: rows.count, columns: { ...rows.columns, dividend_points: Float64Array.from(points), variant } };
}

type FileSource = Pick<ExportSource, 'columns' | 'market'>;

/** Returns the positions of the held entries, sorted by identifier. All entries except cash are already sorted. */
function listPositions({ names, shares }: IndexFile): number[] {
  const positions = [...names.keys()].filter((position) => shares[position] !== 0);
  const last = positions.at(-1);
  if (last === undefined || !isCashName(names[last]!)) return positions;
  const offset = positions.findIndex((position) => names[position]! >= names[last]!);
  return [...positions.slice(0, offset), last, ...positions.slice(offset, -1)];
}

interface SecurityRows {
  readonly count: number;
  readonly columns: Omit<Rows['columns'], 'dividend_points' | 'variant'>;
}

function createSecurityRows({ columns, market }: FileSource, file: IndexFile): SecurityRows {
  const positions = listPositions(file);
  const readNumbers = (readAt: (position: number) => number): Float64Array => Float64Array.from(positions, readAt);
  const getValue = (position: number): number => file.shares[position]! * file.price[position]! * file.fx[position]!;
  const totalValue = positions.reduce((sum, position) => sum + getValue(position), 0);
  const readCounts = createCountReader(file, market);
  const roundWeight = roundOnDay(columns, 'weights', file.day);
  return {
    count: positions.length,
    columns: {
      date: Int32Array.from(positions, () => file.day),
      identifier: { codes: Int32Array.from(positions), texts: file.names },
      ...createTexts(columns, { file, market, positions }),
      price: readNumbers((position) => file.price[position]!),
      fx: readNumbers((position) => file.fx[position]!),
      shares: readNumbers((position) => readCounts(position).shares),
      float: readNumbers((position) => readCounts(position).float),
      weighting_factor: readNumbers((position) => {
        const { shares, float } = readCounts(position);
        return file.shares[position]! / (shares * float);
      }),
      index_shares: readNumbers((position) => file.shares[position]!),
      market_value: readNumbers(getValue),
      weight: readNumbers((position) => roundWeight(getValue(position) / totalValue)),
      divisor: readNumbers(() => file.divisor),
    },
  };
}

type Count = { readonly shares: number; readonly float: number };
const NO_COUNT: Count = { shares: Number.NaN, float: Number.NaN };

function createCountReader({ day, names }: IndexFile, market: MarketData | null): (position: number) => Count {
  if (market === null) return () => NO_COUNT;
  const count = readSharesOutstanding(market, day);
  return (position) => count(names[position]!);
}

/** Returns a function that reads the ordinary dividends of the session, in the currency of each security. */
function createDividendReader(
  columns: RunColumns,
  { day, names }: IndexFile,
  market: MarketData | null,
): (position: number) => number {
  if (market === null || market.adjustment === 'total') return () => Number.NaN;
  const days = columns.i32('days');
  const before = days[findLastAtMost(days, day - 1)] ?? day;
  const dividendByName = new Map<string, number>();
  for (const { type, status, identifier, exDay, value } of market.actions)
    if (type === 'DIVIDEND' && status !== 'cancelled' && exDay > before && exDay <= day)
      dividendByName.set(identifier, (dividendByName.get(identifier) ?? 0) + value);
  return (position) => dividendByName.get(names[position]!) ?? 0;
}

interface NamedField {
  readonly file: IndexFile;
  readonly market: MarketData | null;
  readonly positions: readonly number[];
}

type TextColumn = IdColumn | 'name' | 'currency';

function createTexts(columns: RunColumns, { file, market, positions }: NamedField): Record<TextColumn, TextValues> {
  const { currency } = columns.header;
  const isCash = (position: number): boolean => isCashName(file.names[position]!);
  const getTexts = (field: string): TextValues =>
    toTextValues(positions.map((position) => (market === null ? null : readTextAt(market, { position, field, file }))));
  // Without a market, names come from the labels that are stored with the run.
  const { names } = market === null ? readStoredLabels(columns) : { names: [] };
  const findName = (position: number): string | null =>
    market === null ? (names[position] ?? null) : readTextAt(market, { position, field: 'NAME', file });
  const quoteCurrencies = getTexts('CURRENCY');
  const knownCurrency = market === null ? null : (market.currency ?? currency);
  const ids = Object.entries(ID_COLUMNS).map(([column, field]) => [column, getTexts(field)] as const);
  return {
    ...(Object.fromEntries(ids) as Record<IdColumn, TextValues>), // the object has all members of the type
    name: toTextValues(positions.map((position) => (isCash(position) ? 'Cash' : findName(position)))),
    currency: toTextValues(
      Array.from(quoteCurrencies.codes, (code, k) =>
        isCash(positions[k]!) ? currency : code < 0 ? knownCurrency : quoteCurrencies.texts[code]!,
      ),
    ),
  };
}

interface Cell {
  readonly position: number;
  readonly field: string;
  readonly file: IndexFile;
}

function readTextAt({ reference }: MarketData, { position, field, file }: Cell): string | null {
  if (!reference.columns.includes(field)) return null;
  const value = readReference(reference, file.names[position]!, field, file.day);
  return value === null || value === '' ? null : String(value);
}

/** Row producers by table. If a table has no producer or a producer lacks a column, the code does not compile. */
const PRODUCERS: { readonly [T in ExportTableName]: Producer<T> } = {
  attribution: produceAttribution,
  breaches: produceBreaches,
  closing: produceClosing,
  constituents: produceConstituents,
  events: produceEvents,
  exposures: produceExposures,
  levels: produceLevels,
  limits: produceLimits,
  opening: produceOpening,
  proforma: produceProforma,
  rebalances: produceRebalances,
  risk: produceRisk,
  trades: produceTrades,
  weights: produceWeights,
};

export function listTableColumns(
  table: ExportTableName,
  { market }: Pick<ExportSource, 'market'>,
): Readonly<Record<string, ExportColumn>> {
  return listExportColumns(table, market?.reference.columns ?? []);
}

/** Rows of a table, with the name and type of each column. */
export interface TableRows {
  readonly columns: readonly NamedColumn[];
  readonly count: number;
  /** Position of the first row after these rows. */
  readonly end: number;
}

/**
 * Yields the rows of a table from a position. Rows are valid until the next rows are requested.
 * @throws Refusal as for the rows of the table
 */
export function* readTableRows(table: ExportTableName, source: ExportSource, from: number): Iterable<TableRows> {
  // The name of the table determines its producer.
  const produce = PRODUCERS[table] as Producer<ExportTableName>;
  const columns = Object.entries(listTableColumns(table, source));
  for (const batch of produce(source, from))
    yield { columns: listNamedColumns(columns, batch), count: batch.count, end: batch.end };
}

function listNamedColumns(
  columns: readonly (readonly [string, ExportColumn])[],
  batch: Batch<ExportTableName>,
): NamedColumn[] {
  const values = batch.columns as Readonly<Record<string, ColumnValues>>; // a batch has every column of its table
  return columns.map(([name, { type }]) => ({ name, type, values: values[name]! }));
}

interface TablePart extends ExportSource {
  readonly table: ExportTableName;
  readonly format: RowFormat;
  readonly from: ExportPosition;
  readonly sink: ByteSink;
  /** Number of bytes after which a part ends. Default: what a thread writes in a few tens of milliseconds. */
  readonly bytes?: number;
  /** Called between batches; throws to stop the part. */
  readonly tick: () => void;
}

/** Target size of a part in bytes. Other work of the thread runs between two parts. */
const PART_BYTES = 1 << 20;

/**
 * Target size of a Parquet part in bytes. A part is a row group, and many row groups make reading slow. The last batch
 * of a part may exceed the target; the part still fits into the buffer.
 */
const GROUP_BYTES = 3 << 19;

/**
 * Writes the rows of a table from a position until the part is full.
 * @returns the position of the next part; null after the last part
 * @throws Refusal as for the rows of the table, NUMERIC_FAILURE
 */
export function exportPart(input: TablePart): ExportPosition | null {
  const { table, format, from, sink, bytes = format === 'parquet' ? GROUP_BYTES : PART_BYTES, tick, ...source } = input;
  const columns = listTableColumns(table, source);
  const { header } = source.columns;
  const writer = PART_WRITERS[format]({ runId: header.run_id, table, columns, from, sink });
  let { rows } = from;
  for (const { columns: namedColumns, count, end } of readTableRows(table, source, from.at)) {
    tick();
    writer.rows(namedColumns, count);
    rows += count;
    if (writer.length() < bytes) continue;
    const groups = writer.end(false);
    return { at: end, rows, ...(groups && { groups }) };
  }
  writer.end(true);
  return null;
}
