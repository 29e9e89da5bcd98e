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
  const rowBySeries = new Map<Float64Array, number>();
  const foreignRows: Record<string, number> = {};
  for (let position = 0; position < names.length; position++) {
    if (rates.isNative(names[position]!)) continue;
    const series = rates.seriesOf(names[position]!); // all securities of a currency share one array
    const row = rowBySeries.get(series) ?? rowBySeries.size;
    rowBySeries.set(series, row);
    foreignRows[String(position)] = row;
  }
  return { foreign: foreignRows, rows: [...rowBySeries.keys()] };
}
