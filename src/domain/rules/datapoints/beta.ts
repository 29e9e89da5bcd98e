import type { WindowReader } from './laid-out.js';
import { halfOf } from './windows.js';

export interface BetaWindow {
  /** Windows of returns. */
  readonly returns: WindowReader;
  /** First session of the window, not negative, and its last. */
  readonly from: number;
  readonly end: number;
}

/**
 * Return of the equally weighted universe on each session of a window: the mean over the names that have one, NaN where
 * none has.
 * @returns [end - from + 1]
 */
export function equalWeightedReturns({ returns, from, end }: BetaWindow, universe: Int32Array): Float64Array {
  const sessions = end - from + 1;
  const totals = new Float64Array(sessions);
  const counts = new Int32Array(sessions);
  returns.windows(from, end, universe, ({ cells, starts }) => {
    for (const start of starts) {
      for (let k = 0; k < sessions; k++) {
        const value = cells[start + k]!;
        if (Number.isNaN(value)) continue;
        totals[k]! += value;
        counts[k]!++;
      }
    }
  });
  return totals.map((total, k) => (counts[k]! > 0 ? total / counts[k]! : NaN));
}

/**
 * Slope of each name's return on the market's over the sessions that have both; missing with fewer than half of the
 * sessions asked for, or when the market did not move.
 * @param market [end - from + 1]
 * @param length Sessions asked for, before the first one too.
 * @returns      [n]
 */
export function betas(
  { returns, from, end }: BetaWindow,
  { market, length, columns }: { readonly market: Float64Array; readonly length: number; readonly columns: Int32Array },
): Float64Array {
  const slopes = new Float64Array(columns.length);
  const enough = Math.max(2, halfOf(length));
  returns.windows(from, end, columns, ({ cells, starts, first }) => {
    for (let i = 0; i < starts.length; i++) slopes[first + i] = slope(cells, starts[i]!, market, enough);
  });
  return slopes;
}

/** Sums are taken about the means of the first pass. */
function slope(cells: Float64Array, start: number, market: Float64Array, enough: number): number {
  let rSum = 0;
  let mSum = 0;
  let count = 0;
  for (let k = 0; k < market.length; k++) {
    const r = cells[start + k]!;
    const m = market[k]!;
    if (Number.isNaN(r) || Number.isNaN(m)) continue;
    rSum += r;
    mSum += m;
    count++;
  }
  if (count < enough) return NaN;
  const [rMean, mMean] = [rSum / count, mSum / count];
  let rm = 0;
  let mm = 0;
  for (let k = 0; k < market.length; k++) {
    const r = cells[start + k]!;
    const m = market[k]!;
    if (Number.isNaN(r) || Number.isNaN(m)) continue;
    rm += (r - rMean) * (m - mMean);
    mm += (m - mMean) * (m - mMean);
  }
  return mm / (count - 1) >= FLAT ? rm / mm : NaN;
}

/** Variance below which the market counts as not having moved. */
const FLAT = 1e-18;
