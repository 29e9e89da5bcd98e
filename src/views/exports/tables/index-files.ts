import { readSharesOutstanding } from '#domain/books/index-shares.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { ID_COLUMNS, isCashName, type IdColumn } from '#domain/exports/index-file-tables.js';
import { readReference, type MarketData } from '#domain/market/market-data.js';
import { findLastAtMost } from '#domain/numbers/search.js';
import { readStoredLabels } from '../../stored-labels.js';
import { roundOnDay } from '../../rounded.js';
import { yieldBatches, toTextValues, type Batch, type ExportSource, type Producer, type TextValues } from '../batch.js';
import { createClosingFile, createOpeningFile, type IndexFile, type SessionFile } from '../index-file.js';

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
  const effective = new Int32Array(count).fill(announced.effective);
  return yieldBatches<'proforma'>({ count, columns: { ...columns, effective_date: effective } }, from);
};

type Rows = Omit<Batch<'closing'>, 'end'>;

/** Returns the rows of a session, with the dividends of the session. */
function createSessionRows({ columns, market }: FileSource, file: SessionFile): Rows {
  const rows = createSecurityRows({ columns, market }, file);
  const paid = createDividendReader(columns, file, market);
  const points = listPositions(file).map(
    // Adding 0 converts -0 of borrowed cash to 0.
    (place) => 0 + (paid(place) * file.fx[place]! * file.shares[place]!) / file.divisor,
  );
  const variant = toTextValues(points.map(() => file.variant));
  return { count: rows.count, columns: { ...rows.columns, dividend_points: Float64Array.from(points), variant } };
}

type FileSource = Pick<ExportSource, 'columns' | 'market'>;

/** Returns the positions of the held entries in the order of identifiers. Only cash is not yet in this order. */
function listPositions({ names, shares }: IndexFile): number[] {
  const places = [...names.keys()].filter((place) => shares[place] !== 0);
  const last = places.at(-1);
  if (last === undefined || !isCashName(names[last]!)) return places;
  const offset = places.findIndex((place) => names[place]! >= names[last]!);
  return [...places.slice(0, offset), last, ...places.slice(offset, -1)];
}

interface SecurityRows {
  readonly count: number;
  readonly columns: Omit<Rows['columns'], 'dividend_points' | 'variant'>;
}

function createSecurityRows({ columns, market }: FileSource, file: IndexFile): SecurityRows {
  const places = listPositions(file);
  const readNumbers = (of: (place: number) => number): Float64Array => Float64Array.from(places, of);
  const getValue = (place: number): number => file.shares[place]! * file.price[place]! * file.fx[place]!;
  const whole = places.reduce((sum, place) => sum + getValue(place), 0);
  const counts = createCountReader(file, market);
  const round = roundOnDay(columns, 'weights', file.day);
  return {
    count: places.length,
    columns: {
      date: Int32Array.from(places, () => file.day),
      identifier: { codes: Int32Array.from(places), texts: file.names },
      ...createTexts(columns, { file, market, places }),
      price: readNumbers((place) => file.price[place]!),
      fx: readNumbers((place) => file.fx[place]!),
      shares: readNumbers((place) => counts(place).shares),
      float: readNumbers((place) => counts(place).float),
      weighting_factor: readNumbers((place) => {
        const { shares, float } = counts(place);
        return file.shares[place]! / (shares * float);
      }),
      index_shares: readNumbers((place) => file.shares[place]!),
      market_value: readNumbers(getValue),
      weight: readNumbers((place) => round(getValue(place) / whole)),
      divisor: readNumbers(() => file.divisor),
    },
  };
}

type Count = { readonly shares: number; readonly float: number };
const NO_COUNT: Count = { shares: Number.NaN, float: Number.NaN };

function createCountReader({ day, names }: IndexFile, market: MarketData | null): (place: number) => Count {
  if (market === null) return () => NO_COUNT;
  const count = readSharesOutstanding(market, day);
  return (place) => count(names[place]!);
}

/** Returns a reader of the ordinary dividends of the session, in the currency of each security. */
function createDividendReader(
  columns: RunColumns,
  { day, names }: IndexFile,
  market: MarketData | null,
): (place: number) => number {
  if (market === null || market.adjustment === 'total') return () => Number.NaN;
  const days = columns.i32('days');
  const before = days[findLastAtMost(days, day - 1)] ?? day;
  const paid = new Map<string, number>();
  for (const { type, status, identifier, exDay, value } of market.actions)
    if (type === 'DIVIDEND' && status !== 'cancelled' && exDay > before && exDay <= day)
      paid.set(identifier, (paid.get(identifier) ?? 0) + value);
  return (place) => paid.get(names[place]!) ?? 0;
}

interface NamedField {
  readonly file: IndexFile;
  readonly market: MarketData | null;
  readonly places: readonly number[];
}

type TextColumn = IdColumn | 'name' | 'currency';

function createTexts(columns: RunColumns, { file, market, places }: NamedField): Record<TextColumn, TextValues> {
  const { currency } = columns.header;
  const isCash = (place: number): boolean => isCashName(file.names[place]!);
  const getTexts = (field: string): TextValues =>
    toTextValues(places.map((place) => (market === null ? null : readTextAt(market, { place, field, file }))));
  // Without a market, names are read from the labels stored with the run.
  const { names } = market === null ? readStoredLabels(columns) : { names: [] };
  const findName = (place: number): string | null =>
    market === null ? (names[place] ?? null) : readTextAt(market, { place, field: 'NAME', file });
  const quoted = getTexts('CURRENCY');
  const known = market === null ? null : (market.currency ?? currency);
  const ids = Object.entries(ID_COLUMNS).map(([column, field]) => [column, getTexts(field)] as const);
  return {
    ...(Object.fromEntries(ids) as Record<IdColumn, TextValues>), // the object has all members of the type
    name: toTextValues(places.map((place) => (isCash(place) ? 'Cash' : findName(place)))),
    currency: toTextValues(
      Array.from(quoted.codes, (code, k) => (isCash(places[k]!) ? currency : code < 0 ? known : quoted.texts[code]!)),
    ),
  };
}

interface Cell {
  readonly place: number;
  readonly field: string;
  readonly file: IndexFile;
}

function readTextAt({ reference }: MarketData, { place, field, file }: Cell): string | null {
  if (!reference.columns.includes(field)) return null;
  const value = readReference(reference, file.names[place]!, field, file.day);
  return value === null || value === '' ? null : String(value);
}
