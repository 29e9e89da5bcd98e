import { indexSharesOutstanding } from '#domain/books/index-shares.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { referenceAt, type MarketData } from '#domain/market/market-data.js';
import { storedLabels } from '../../stored-labels.js';
import { roundedBy } from '../../rounded.js';
import { inBatches, textValues, type Batch, type Producer, type TextValues } from '../batch.js';
import { closingFile, openingFile, type IndexFile } from '../index-file.js';

export const closing: Producer<'closing'> = ({ columns, window, market }, from) =>
  inBatches<'closing'>(rowsOf(columns, closingFile(columns, window.end, market), market), from);

export const opening: Producer<'opening'> = ({ columns, window, market }, from) =>
  inBatches<'opening'>(rowsOf(columns, openingFile(columns, window.end, market), market), from);

/** Reference columns that name a security, by the column of the table. */
const IDENTIFIERS = { isin: 'ISIN', sedol: 'SEDOL', cusip: 'CUSIP', figi: 'FIGI', ric: 'RIC', ticker: 'TICKER' };

function rowsOf(columns: RunColumns, file: IndexFile, market: MarketData | null): Omit<Batch<'closing'>, 'end'> {
  const { names } = columns.header;
  const places = [...names.keys()].filter((place) => file.shares[place] !== 0);
  const numbers = (of: (place: number) => number): Float64Array => Float64Array.from(places, of);
  const value = (place: number): number => file.shares[place]! * file.price[place]! * file.fx[place]!;
  const whole = places.reduce((sum, place) => sum + value(place), 0);
  const counts = countsOf(columns, file, market);
  const texts = textsOf(columns, { file, market, places });
  const round = roundedBy(columns, 'weights');
  const paid = dividendsOf(columns, file, market);
  return {
    count: places.length,
    columns: {
      date: Int32Array.from(places, () => file.day),
      identifier: { codes: Int32Array.from(places), texts: names },
      ...texts,
      price: numbers((place) => file.price[place]!),
      fx: numbers((place) => file.fx[place]!),
      shares: numbers((place) => counts(place).shares),
      float: numbers((place) => counts(place).float),
      weighting_factor: numbers((place) => {
        const { shares, float } = counts(place);
        return file.shares[place]! / (shares * float);
      }),
      index_shares: numbers((place) => file.shares[place]!),
      market_value: numbers(value),
      weight: numbers((place) => round(value(place) / whole)),
      dividend_points: numbers((place) => (paid(place) * file.fx[place]! * file.shares[place]!) / file.divisor),
      divisor: numbers(() => file.divisor),
    },
  };
}

type Count = { readonly shares: number; readonly float: number };
const NO_COUNT: Count = { shares: Number.NaN, float: Number.NaN };

function countsOf(columns: RunColumns, { day }: IndexFile, market: MarketData | null): (place: number) => Count {
  if (market === null) return () => NO_COUNT;
  const count = indexSharesOutstanding(market, day);
  return (place) => count(columns.header.names[place]!);
}

/** Ordinary dividends of the session in the currency of each security. */
function dividendsOf(
  columns: RunColumns,
  { at, day }: IndexFile,
  market: MarketData | null,
): (place: number) => number {
  if (market === null || market.adjustment === 'total') return () => Number.NaN;
  const before = at === 0 ? day : columns.i32('days', at - 1, at)[0]!;
  const paid = new Map<string, number>();
  for (const { type, status, identifier, exDay, value } of market.actions)
    if (type === 'DIVIDEND' && status !== 'cancelled' && exDay > before && exDay <= day)
      paid.set(identifier, (paid.get(identifier) ?? 0) + value);
  return (place) => paid.get(columns.header.names[place]!) ?? 0;
}

interface Named {
  readonly file: IndexFile;
  readonly market: MarketData | null;
  readonly places: readonly number[];
}

function textsOf(
  columns: RunColumns,
  { file, market, places }: Named,
): Record<keyof typeof IDENTIFIERS | 'name' | 'currency', TextValues> {
  const { names, currency } = columns.header;
  const labels = storedLabels(columns);
  const of = (field: string): TextValues =>
    textValues(places.map((place) => (market === null ? null : textAt(market, { name: names[place]!, field, file }))));
  const quoted = of('CURRENCY');
  const known = market === null ? null : (market.currency ?? currency);
  return {
    name: market === null ? textValues(places.map((place) => labels.names[place] ?? null)) : of('NAME'),
    currency: textValues(Array.from(quoted.codes, (code) => (code < 0 ? known : quoted.texts[code]!))),
    isin: of(IDENTIFIERS.isin),
    sedol: of(IDENTIFIERS.sedol),
    cusip: of(IDENTIFIERS.cusip),
    figi: of(IDENTIFIERS.figi),
    ric: of(IDENTIFIERS.ric),
    ticker: of(IDENTIFIERS.ticker),
  };
}

interface Cell {
  readonly name: string;
  readonly field: string;
  readonly file: IndexFile;
}

function textAt({ reference }: MarketData, { name, field, file }: Cell): string | null {
  const value = reference.columns.includes(field) ? referenceAt(reference, name, field, file.day) : null;
  return value === null || value === '' ? null : String(value);
}
