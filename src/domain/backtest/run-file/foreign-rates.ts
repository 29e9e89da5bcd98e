import type { ExchangeRates } from '../../market/exchange-rates.js';

/** Exchange rates that a run needs: securities in one currency share a row. */
export interface ForeignRates {
  /** Row of each security with prices in another currency, by its position among the securities. */
  readonly foreign: Readonly<Record<string, number>>;
  /** Rates on every session of the market, by row. */
  readonly rows: readonly Float64Array[];
}

/** @param names columns of the market */
export function createForeignRates(rates: ExchangeRates, names: Int32Array): ForeignRates {
  const rowOf = new Map<Float64Array, number>();
  const foreign: Record<string, number> = {};
  for (let place = 0; place < names.length; place++) {
    if (rates.isNative(names[place]!)) continue;
    const series = rates.seriesOf(names[place]!); // One array for all securities of a currency.
    const row = rowOf.get(series) ?? rowOf.size;
    rowOf.set(series, row);
    foreign[String(place)] = row;
  }
  return { foreign, rows: [...rowOf.keys()] };
}
