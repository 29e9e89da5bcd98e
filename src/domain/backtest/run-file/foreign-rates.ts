import type { ExchangeRates } from '../../market/exchange-rates.js';

/** Exchange rates of a run. Securities in one currency share a row. */
export interface ForeignRates {
  /** Row of each security with prices in another currency, by security position. */
  readonly foreign: Readonly<Record<string, number>>;
  /** Rates on every session of the market, by row. */
  readonly rows: readonly Float64Array[];
}

/**
 * Collects the exchange rates of the securities of a run.
 * @param names market columns of the securities
 */
export function createForeignRates(rates: ExchangeRates, names: Int32Array): ForeignRates {
  const rowOf = new Map<Float64Array, number>();
  const foreign: Record<string, number> = {};
  for (let place = 0; place < names.length; place++) {
    if (rates.isNative(names[place]!)) continue;
    const series = rates.seriesOf(names[place]!); // all securities of a currency share one array
    const row = rowOf.get(series) ?? rowOf.size;
    rowOf.set(series, row);
    foreign[String(place)] = row;
  }
  return { foreign, rows: [...rowOf.keys()] };
}
