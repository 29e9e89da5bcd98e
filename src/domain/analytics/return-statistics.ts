import { raiseToPower } from '#kernels/power.js';
import { isConstant } from '../numbers/constant.js';
import { LIMITS } from '../refusals/limits.js';
import { computeDeviation, subtractSeries, computeDrawdown, computeMean, computeReturns } from './series.js';

/** Distribution of the returns of a level series. A ratio is null if its denominator is 0. */
export interface ReturnStatistics {
  /** Annualised root mean square of the returns, with positive returns counted as 0. */
  readonly downside_volatility: number;
  readonly sortino_ratio: number | null;
  /** Mean loss of the worst 5% of the sessions, positive for a loss. */
  readonly cvar_95: number;
  readonly skewness: number | null;
  /** Share of the sessions with a return above 0. */
  readonly hit_rate: number;
  readonly best_return: number;
  readonly worst_return: number;
}

const TAIL_FRACTION = 0.05;

/**
 * Computes the return statistics of a level series.
 * @param level at least two values.
 * @param periodsPerYear sessions of a year
 */
export function computeReturnStatistics(
  level: Float64Array,
  periodsPerYear: number = LIMITS.PERIODS_PER_YEAR,
): ReturnStatistics {
  const returns = computeReturns(level);
  const middle = computeMean(returns);
  const downside = Math.sqrt(computeMean(returns.map((value) => Math.min(value, 0) ** 2)) * periodsPerYear);
  const sortedReturns = returns.toSorted();
  const spread = Math.sqrt(computeMean(returns.map((value) => (value - middle) ** 2)));
  return {
    downside_volatility: downside,
    sortino_ratio: isConstant(downside / Math.sqrt(periodsPerYear)) ? null : (middle * periodsPerYear) / downside,
    cvar_95: 0 - computeMean(sortedReturns.subarray(0, Math.ceil(TAIL_FRACTION * returns.length))),
    skewness: isConstant(spread)
      ? null
      : computeMean(returns.map((value) => raiseToPower(value - middle, 3))) / raiseToPower(spread, 3),
    hit_rate: returns.reduce((count, value) => count + (value > 0 ? 1 : 0), 0) / returns.length,
    best_return: sortedReturns.at(-1)!,
    worst_return: sortedReturns[0]!,
  };
}

/** Level relative to a benchmark on the same dates. */
export interface BenchmarkStatistics {
  /** Number of shared dates. */
  readonly observations: number;
  readonly benchmark_return: number;
  /** Return of the level less that of the benchmark. */
  readonly excess_return: number;
  /** Annualised standard deviation of the active returns. */
  readonly tracking_error: number;
  /** Information ratio: annualised mean of the active returns over their annualised standard deviation. */
  readonly information_ratio: number | null;
  /**
   * Upside and downside capture: geometric mean return of the level over that of the benchmark. Upside uses the
   * sessions with a positive benchmark return, downside those with a negative one.
   */
  readonly up_capture: number | null;
  readonly down_capture: number | null;
}

/**
 * Computes statistics of a level series relative to a benchmark.
 * @param level and benchmark [n], n at least 2.
 * @param periodsPerYear sessions of a year
 */
export function computeBenchmarkStatistics(
  level: Float64Array,
  benchmark: Float64Array,
  periodsPerYear: number = LIMITS.PERIODS_PER_YEAR,
): BenchmarkStatistics {
  const returns = computeReturns(level);
  const benchmarkReturns = computeReturns(benchmark);
  const activeReturns = subtractSeries(returns, benchmarkReturns);
  const spread = computeDeviation(activeReturns);
  const year = Math.sqrt(periodsPerYear);
  const benchmarkReturn = benchmark.at(-1)! / benchmark[0]! - 1;
  return {
    observations: level.length,
    benchmark_return: benchmarkReturn,
    excess_return: level.at(-1)! / level[0]! - 1 - benchmarkReturn,
    tracking_error: spread * year,
    information_ratio: isConstant(spread) ? null : (computeMean(activeReturns) / spread) * year,
    up_capture: computeCaptureRatio(returns, benchmarkReturns, (value) => value > 0),
    down_capture: computeCaptureRatio(returns, benchmarkReturns, (value) => value < 0),
  };
}

function computeCaptureRatio(
  returns: Float64Array,
  other: Float64Array,
  isCounted: (value: number) => boolean,
): number | null {
  let count = 0;
  let growth = 1;
  let reference = 1;
  other.forEach((value, t) => {
    if (!isCounted(value)) return;
    count++;
    growth *= 1 + returns[t]!;
    reference *= 1 + value;
  });
  return count === 0 ? null : (raiseToPower(growth, 1 / count) - 1) / (raiseToPower(reference, 1 / count) - 1);
}

/** Fall from a high until the level recovers. Peak, trough and recovery are indices of dates. */
export interface Drawdown {
  readonly peak: number;
  readonly trough: number;
  /** First date on which the level reaches the earlier high again; null if it has not recovered. */
  readonly recovery: number | null;
  /** Level of the trough over that of the peak, minus 1. */
  readonly depth: number;
}

/** Returns the deepest drawdowns, deepest first; drawdowns of equal depth are in chronological order. */
export function listDrawdowns(level: Float64Array, most: number): Drawdown[] {
  const depth = computeDrawdown(level);
  const results: Drawdown[] = [];
  let peak = 0;
  let trough = -1;
  for (let t = 1; t <= level.length; t++) {
    const isUnderWater = t < level.length && depth[t]! < 0;
    if (isUnderWater) {
      if (trough < 0 || depth[t]! < depth[trough]!) trough = t;
      continue;
    }
    if (trough >= 0) results.push({ peak, trough, recovery: t < level.length ? t : null, depth: depth[trough]! });
    peak = t;
    trough = -1;
  }
  return results.sort((a, b) => a.depth - b.depth || a.peak - b.peak).slice(0, most);
}
