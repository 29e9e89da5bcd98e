import { roundOnDay } from '../../rounded.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import type { Day } from '#domain/time/days.js';
import { readReference, type MarketData } from '#domain/market/market-data.js';
import { readStoredLabels } from '../../stored-labels.js';
import { readPositiveWeights } from '../../weights-view.js';
import { yieldBatches, toTextValues, type Producer } from '../batch.js';

/**
 * Yields the constituents on the last date of the window.
 * @throws Refusal NO_DATA_AT_DATE before the first date of the run
 */
export const produceConstituents: Producer<'constituents'> = ({ columns, window, market }, from) => {
  const { names, at, day, held, target, raw } = readPositiveWeights(columns, window.end);
  const weights = columns.f64('weights', at * names.length, (at + 1) * names.length);
  const [value] = columns.f64('value', at, at + 1);
  const rows = [...names.keys()].filter((name) => held[name] !== 0 || weights[name] !== 0);
  const price = readPricesAt(columns, rows, at);
  const readNumbers = (readCell: (name: number, row: number) => number): Float64Array =>
    Float64Array.from(rows, readCell);
  const texts = createReference(columns, { market, day });
  const roundWeight = roundOnDay(columns, 'weights', day);
  const getHolding = (name: number): number => weights[name]! * value!;
  return yieldBatches<'constituents'>(
    {
      count: rows.length,
      columns: {
        identifier: { codes: Int32Array.from(rows), texts: names },
        name: toTextValues(rows.map(texts.name)),
        sector: toTextValues(rows.map(texts.sector)),
        country: toTextValues(rows.map(texts.country)),
        currency: toTextValues(rows.map(texts.currency)),
        weight: readNumbers((name) => roundWeight(held[name]!)),
        decided_weight: readNumbers((name) => roundWeight(target[name]!)),
        uncapped_weight: readNumbers((name) => roundWeight(raw[name]!)),
        shares: readNumbers((name, row) => getHolding(name) / price[row]!),
        price,
        value: readNumbers(getHolding),
      },
    },
    from,
  );
};

/**
 * Returns the last closes on or before a date, in the currency of the index. A close is NaN if the run contains none.
 */
function readPricesAt(columns: RunColumns, rows: readonly number[], offset: number): Float64Array {
  const { names, foreign, dates } = columns.header;
  const prices = new Float64Array(rows.length).fill(Number.NaN);
  for (let t = offset; t >= 0 && prices.includes(Number.NaN); t--) {
    const closes = columns.f64('price', t * names.length, (t + 1) * names.length);
    rows.forEach((name, row) => {
      if (Number.isNaN(prices[row]!)) prices[row] = closes[name]!;
    });
  }
  rows.forEach((name, row) => {
    const rates = foreign[String(name)];
    if (rates !== undefined)
      prices[row]! *= columns.f64('rates', rates * dates + offset, rates * dates + offset + 1)[0]!;
  });
  return prices;
}

type TextOf = (name: number) => string | null;

/**
 * Returns functions that read the reference data of a security. The data comes from the market, or from the run if the
 * market is not available.
 */
function createReference(
  columns: RunColumns,
  { market, day }: { readonly market: MarketData | null; readonly day: Day },
): Readonly<Record<'name' | 'sector' | 'country' | 'currency', TextOf>> {
  const { names, currency } = columns.header;
  if (market === null) {
    const labels = readStoredLabels(columns);
    return {
      name: (name) => labels.names[name] ?? null,
      sector: (name) => labels.sectors[name] ?? null,
      country: () => null,
      currency: () => null,
    };
  }
  const readField =
    (column: string): TextOf =>
    (name) => {
      const value = readReference(market.reference, names[name]!, column, day);
      return value === null ? null : String(value);
    };
  const quoteCurrency = readField('CURRENCY');
  return {
    name: readField('NAME'),
    sector: readField('SECTOR'),
    country: readField('COUNTRY'),
    currency: (name) => quoteCurrency(name) ?? market.currency ?? currency,
  };
}
