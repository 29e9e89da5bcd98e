import type { Day } from '../days.js';
import { firstAtLeast, lastAtMost } from '../search.js';
import type { MarketData } from './market-data.js';

/** The retained part of a market. */
export interface Narrowing {
  /** Columns, ascending. */
  readonly columns: ArrayLike<number>;
  /** First and last day; null is open. */
  readonly from: Day | null;
  readonly to: Day | null;
}

/**
 * The prices of a few names over a window, as a market of its own whose days are those on which one of them has a bar.
 * Reference data is left behind: every name is taken in the currency of its prices.
 * @cost O(window * names)
 */
export function narrowMarket(market: MarketData, { columns, from, to }: Narrowing): MarketData {
  const close = market.fields.get('CLOSE')!;
  const width = market.identifiers.length;
  const n = columns.length;
  const first = from === null ? 0 : firstAtLeast(market.dates, from);
  const last = to === null ? market.dates.length - 1 : lastAtMost(market.dates, to);
  const rows: number[] = [];
  const values = new Float64Array(Math.max(0, last - first + 1) * n);
  for (let row = first; row <= last; row++) {
    const at = rows.length * n;
    let bars = 0;
    for (let k = 0; k < n; k++) {
      const price = close[row * width + columns[k]!]!;
      values[at + k] = price;
      if (price === price) bars++;
    }
    if (bars > 0) rows.push(row);
  }
  const identifiers = Array.from(columns, (column) => market.identifiers[column]!);
  const retained = new Set(identifiers);
  return {
    ...market,
    currency: null,
    identifiers,
    dates: Int32Array.from(rows, (row) => market.dates[row]!),
    fields: new Map([['CLOSE', values.subarray(0, rows.length * n)]]),
    reference: { columns: [], rows: new Map() },
    actions: market.actions.filter(({ identifier }) => retained.has(identifier)),
    universes: [],
  };
}
