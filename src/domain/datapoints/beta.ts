import { computeHalf, type WindowLayout, type WindowReader } from './windows.js';

export interface BetaWindow {
  readonly returns: WindowReader;
  /** First session of the window, not negative, and its last session. */
  readonly from: number;
  readonly end: number;
}

/**
 * Computes the return of the equally weighted universe on each session of a window. It is the mean over the securities
 * with a return, NaN if there are none.
 * @returns [end - from + 1]
 */
export function computeEqualWeightedReturns({ returns, from, end }: BetaWindow, universe: Int32Array): Float64Array {
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
 * Function that returns the market returns of a window. Results are cached while the universe is unchanged, so each
 * session is averaged only once for all windows.
 */
export type MarketReturns = (window: BetaWindow, universe: Int32Array) => Float64Array;

export function createMarketReturns(): MarketReturns {
  let latestUniverse: Int32Array = new Int32Array(0);
  let first = 0;
  let values: Float64Array = new Float64Array(0);
  return (window, universe) => {
    const next = first + values.length;
    const { returns, from, end } = window;
    if (from < first || from > next || end < next - 1 || !isSame(latestUniverse, universe)) {
      values = computeEqualWeightedReturns(window, universe);
    } else {
      const extendedReturns = new Float64Array(end - from + 1);
      extendedReturns.set(values.subarray(from - first));
      if (end >= next)
        extendedReturns.set(computeEqualWeightedReturns({ returns, from: next, end }, universe), next - from);
      values = extendedReturns;
    }
    latestUniverse = universe;
    first = from;
    return values;
  };
}

function isSame(a: Int32Array, b: Int32Array): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/**
 * Computes the beta of each security: the slope of its return on the market return, over the sessions with both
 * returns. Beta is missing if these are fewer than half of the requested sessions, or if the market return is constant.
 * @param market [end - from + 1]
 * @param length Number of requested sessions, including sessions before the first one of the data.
 * @returns [n]
 * @cost two passes over the windows
 */
export function computeBetas(
  { returns, from, end }: BetaWindow,
  { market, length, columns }: { readonly market: Float64Array; readonly length: number; readonly columns: Int32Array },
): Float64Array {
  const slopes = new Float64Array(columns.length);
  const observationsRequired = Math.max(2, computeHalf(length));
  const moves = market.length >= observationsRequired ? computeMoves(market) : null;
  returns.windows(from, end, columns, ({ cells, starts, first }) => {
    const out = slopes.subarray(first, first + starts.length).fill(NaN);
    if (moves !== null) computeSlopesByFour(out, { cells, starts }, moves);
    for (let i = 0; i < out.length; i++)
      if (Number.isNaN(out[i]!))
        out[i] = computeBetaSlope(
          { cells, start: starts[i]! },
          { cells: market, start: 0 },
          { length: market.length, enough: observationsRequired },
        );
  });
  return slopes;
}

/** Number of securities summed in parallel, to overlap the latency of additions. */
const SECURITIES_PER_GROUP = 4;

/** Deviations of the market over sessions that all have a return. */
interface MarketMoves {
  /** Returns less their mean. */
  readonly deviations: Float64Array;
  /** Sum of the squared deviations. */
  readonly squares: number;
}

/**
 * Returns the deviations of the market. Returns null if a session has no return, or if the market return is constant.
 */
function computeMoves(market: Float64Array): MarketMoves | null {
  let sum = 0;
  for (let k = 0; k < market.length; k++) sum += market[k]!;
  const mean = sum / market.length;
  const deviations = market.map((value) => value - mean);
  let squares = 0;
  for (let k = 0; k < deviations.length; k++) squares += deviations[k]! * deviations[k]!;
  return squares / (market.length - 1) >= CONSTANT_SQUARES ? { deviations, squares } : null;
}

/**
 * Computes the slopes of four securities at a time. Securities that lack a return, and those beyond the last complete
 * group of four, stay NaN.
 * @param out [n], filled with NaN
 */
function computeSlopesByFour(
  out: Float64Array,
  { cells, starts }: Pick<WindowLayout, 'cells' | 'starts'>,
  { deviations, squares }: MarketMoves,
): void {
  const count = deviations.length;
  for (let i = 0; i + SECURITIES_PER_GROUP <= out.length; i += SECURITIES_PER_GROUP) {
    const [a, b, c, d] = [starts[i]!, starts[i + 1]!, starts[i + 2]!, starts[i + 3]!];
    let [aMean, bMean, cMean, dMean] = [0, 0, 0, 0];
    for (let k = 0; k < count; k++) {
      aMean += cells[a + k]!;
      bMean += cells[b + k]!;
      cMean += cells[c + k]!;
      dMean += cells[d + k]!;
    }
    aMean /= count;
    bMean /= count;
    cMean /= count;
    dMean /= count;
    let [aSum, bSum, cSum, dSum] = [0, 0, 0, 0];
    for (let k = 0; k < count; k++) {
      const move = deviations[k]!;
      aSum += (cells[a + k]! - aMean) * move;
      bSum += (cells[b + k]! - bMean) * move;
      cSum += (cells[c + k]! - cMean) * move;
      dSum += (cells[d + k]! - dMean) * move;
    }
    out[i] = aSum / squares;
    out[i + 1] = bSum / squares;
    out[i + 2] = cSum / squares;
    out[i + 3] = dSum / squares;
  }
}

/** Consecutive values that begin at a cell. */
export interface ValueRun {
  readonly cells: Float64Array;
  readonly start: number;
}

/**
 * Computes the slope of the least-squares line of values on market values, over the positions with both. It is NaN if
 * these are fewer than `enough`, or if the market values are constant. A first pass computes the means, and the sums
 * are taken about them.
 */
export function computeBetaSlope(
  { cells, start }: ValueRun,
  { cells: market, start: first }: ValueRun,
  { length, enough }: { readonly length: number; readonly enough: number },
): number {
  let rSum = 0;
  let mSum = 0;
  let count = 0;
  for (let k = 0; k < length; k++) {
    const r = cells[start + k]!;
    const m = market[first + k]!;
    if (Number.isNaN(r) || Number.isNaN(m)) continue;
    rSum += r;
    mSum += m;
    count++;
  }
  if (count < enough) return NaN;
  const [rMean, mMean] = [rSum / count, mSum / count];
  let rm = 0;
  let mm = 0;
  for (let k = 0; k < length; k++) {
    const r = cells[start + k]!;
    const m = market[first + k]!;
    if (Number.isNaN(r) || Number.isNaN(m)) continue;
    rm += (r - rMean) * (m - mMean);
    mm += (m - mMean) * (m - mMean);
  }
  return mm / (count - 1) >= CONSTANT_SQUARES ? rm / mm : NaN;
}

/** Variance of the market return below which it counts as constant. */
const CONSTANT_SQUARES = 1e-18;
