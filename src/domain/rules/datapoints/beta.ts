import type { Series } from './series.js';
import { halfOf } from './windows.js';

export interface BetaWindow {
  readonly end: number;
  readonly length: number;
}

/**
 * Return of the equally weighted universe on each session of a window: the mean over the names that have one, NaN where none has.
 * @returns [length], the last entry at `end`
 */
export function equalWeightedReturns(
  returns: Series,
  { end, length, universe }: BetaWindow & { readonly universe: Int32Array },
): Float64Array {
  const market = new Float64Array(length).fill(NaN);
  const row = new Float64Array(universe.length);
  for (let k = Math.max(0, length - 1 - end); k < length; k++) {
    returns.fill(end - length + 1 + k, universe, row);
    let total = 0;
    let count = 0;
    for (let i = 0; i < row.length; i++) {
      if (Number.isNaN(row[i]!)) continue;
      total += row[i]!;
      count++;
    }
    if (count > 0) market[k] = total / count;
  }
  return market;
}

/**
 * Slope of each name's return on the market's over the sessions that have both; missing with fewer than half of the window's
 * sessions, or when the market did not move.
 * @returns [n]
 */
export function betas({
  returns,
  market,
  end,
  length,
  columns,
}: BetaWindow & {
  readonly returns: Series;
  readonly market: Float64Array;
  readonly columns: Int32Array;
}): Float64Array {
  const sums = Array.from({ length: 4 }, () => new Float64Array(columns.length)); // of r, m, r m, m m about the first pass's means
  const counts = new Int32Array(columns.length);
  const row = new Float64Array(columns.length);
  const [rSum, mSum, rmSum, mmSum] = sums as [Float64Array, Float64Array, Float64Array, Float64Array];
  for (const pass of ['means', 'products'] as const) {
    for (let k = 0; k < length; k++) {
      const m = market[k]!;
      if (Number.isNaN(m)) continue;
      returns.fill(end - length + 1 + k, columns, row);
      for (let i = 0; i < row.length; i++) {
        const r = row[i]!;
        if (Number.isNaN(r)) continue;
        if (pass === 'means') {
          rSum[i]! += r;
          mSum[i]! += m;
          counts[i]!++;
        } else {
          const dm = m - mSum[i]! / counts[i]!;
          rmSum[i]! += (r - rSum[i]! / counts[i]!) * dm;
          mmSum[i]! += dm * dm;
        }
      }
    }
  }
  return rmSum.map((rm, i) =>
    counts[i]! >= Math.max(2, halfOf(length)) && mmSum[i]! / (counts[i]! - 1) >= FLAT ? rm / mmSum[i]! : NaN,
  );
}

/** Variance below which the market counts as not having moved. */
const FLAT = 1e-18;
