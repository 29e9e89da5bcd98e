import { assert } from '../assert.js';
import type { LevelBins } from './simulate-paths.js';

/**
 * Range of the bins on either side of the mean, in standard deviations. Values outside are counted in the outermost
 * bins.
 */
const REACH_DEVIATIONS = 6;

/**
 * Creates the bins for the levels of a path after each session.
 *
 * @param mean       Mean return of a session.
 * @param deviation  Standard deviation of a session's return.
 * @param horizon    Number of sessions, at least 1.
 * @param count      Number of bins per session, at least 2.
 * @returns          Bins around the mean path, up to six standard deviations to either side.
 * @throws           KernelFault if a number is out of range.
 * @cost             Order horizon.
 * @source           Quadratic bound of the exponential, so that no transcendental function decides a bin.
 */
export function createLevelBins({
  mean,
  deviation,
  horizon,
  count,
}: {
  readonly mean: number;
  readonly deviation: number;
  readonly horizon: number;
  readonly count: number;
}): LevelBins {
  assert(
    Number.isFinite(mean) && deviation >= 0 && Number.isFinite(deviation),
    `mean ${mean}, deviation ${deviation}: finite numbers needed`,
  );
  assert(horizon >= 1 && count >= 2, `horizon: ${horizon}, count: ${count}`);
  const low = new Float64Array(horizon);
  const scale = new Float64Array(horizon);
  let middle = 1;
  for (let t = 0; t < horizon; t++) {
    middle *= 1 + mean;
    const spread = REACH_DEVIATIONS * deviation * Math.sqrt(t + 1) + 1e-9;
    const factor = 1 + spread + spread * spread;
    low[t] = middle / factor;
    scale[t] = count / (middle * factor - low[t]!);
  }
  return { low, scale, count };
}

/**
 * Computes a quantile of the levels counted in the bins of one session, interpolated within its bin.
 *
 * @param bins    Bins of the levels.
 * @param counts  Number of paths in each bin, [horizon x count].
 * @param t       Index of the session.
 * @param share   Share of the paths below the quantile, in (0, 1).
 * @returns       Level below which this share of the paths lies, accurate to the width of a bin.
 * @throws        KernelFault if no path was counted.
 * @cost          Order count.
 * @source        Definition of a histogram quantile.
 */
export function findBinQuantile(bins: LevelBins, counts: Uint32Array, t: number, share: number): number {
  const row = counts.subarray(t * bins.count, (t + 1) * bins.count);
  let total = 0;
  for (let k = 0; k < row.length; k++) total += row[k]!;
  assert(total > 0, `counts: nothing at session ${t}`);
  const rank = share * total;
  let countBelow = 0;
  let k = 0;
  while (k < row.length - 1 && countBelow + row[k]! < rank) countBelow += row[k++]!;
  const binCount = row[k]!;
  const binFraction = binCount > 0 ? (rank - countBelow) / binCount : 0;
  return bins.low[t]! + (k + binFraction) / bins.scale[t]!;
}
