import { referenceEngine } from '#kernels/engines/reference.js';
import { visitExponentialCovariances, visitRollingCovariances } from '#kernels/moments/sample-covariance.js';
import { raiseToPower } from '#kernels/power.js';
import { LIMITS } from '../base/limits.js';
import { isConstant } from '../base/numbers.js';
import { toCivilDate, toDay } from '../base/time.js';

/** Computes the period returns of a level series, [n] for n + 1 levels. */
export function computeReturns(level: Float64Array): Float64Array {
  const returns = new Float64Array(Math.max(0, level.length - 1));
  for (let t = 1; t < level.length; t++) returns[t - 1] = level[t]! / level[t - 1]! - 1;
  return returns;
}

/**
 * Computes the level over its running peak, minus 1, for each date of the level: 0 at a new high, negative below it.
 */
export function computeDrawdown(level: Float64Array): Float64Array {
  const drawdown = new Float64Array(level.length);
  let peak = -Infinity;
  for (let t = 0; t < level.length; t++) {
    if (level[t]! > peak) peak = level[t]!;
    drawdown[t] = level[t]! / peak - 1;
  }
  return drawdown;
}

/** Returns the series with its first value at `base`. */
export function rebase(series: Float64Array, base: number): Float64Array {
  const first = series[0]!;
  const rebasedSeries = new Float64Array(series.length);
  for (let i = 0; i < rebasedSeries.length; i++) rebasedSeries[i] = base * (series[i]! / first);
  return rebasedSeries;
}

/**
 * Computes the return of each calendar year. It is the last level of the year over the last level of the previous year.
 * For the first year it is the last level over the first level.
 * @returns pairs of year and return, ascending; they compound to the total return.
 */
export function computeAnnualReturns(
  days: Int32Array,
  level: Float64Array,
): (readonly [year: number, value: number])[] {
  const years: (readonly [number, number])[] = [];
  let start = level[0]!;
  let end = -Infinity;
  for (let t = 1; t < level.length; t++) {
    if (days[t]! > end) end = toDay({ year: toCivilDate(days[t]!).year, month: 12, day: 31 });
    if (t + 1 < level.length && days[t + 1]! <= end) continue;
    years.push([toCivilDate(days[t]!).year, level[t]! / start - 1]);
    start = level[t]!;
  }
  return years;
}

export function computeMean(values: Float64Array): number {
  let sum = 0;
  for (let t = 0; t < values.length; t++) sum += values[t]!;
  return values.length === 0 ? 0 : sum / values.length;
}

/**
 * Returns the sample standard deviation (ddof 1) of returns. Returns 0 with fewer than two values, and for values that
 * differ only by rounding.
 */
export function computeDeviation(values: Float64Array): number {
  const deviation = Math.sqrt(computeCovariance(values, values));
  return isConstant(deviation) ? 0 : deviation;
}

/** Returns the sample covariance (ddof 1). Returns 0 with fewer than two values. */
export function computeCovariance(a: Float64Array, b: Float64Array): number {
  if (a.length < 2) return 0;
  const meanA = computeMean(a);
  const meanB = a === b ? meanA : computeMean(b);
  let sum = 0;
  for (let t = 0; t < a.length; t++) sum += (a[t]! - meanA) * (b[t]! - meanB);
  return sum / (a.length - 1);
}

export interface BacktestMetrics {
  readonly annualised_return: number;
  readonly max_drawdown: number;
  readonly sharpe_ratio: number;
  readonly total_return: number;
  readonly tracking_difference: number | null;
  readonly tracking_error: number | null;
  readonly volatility: number;
}

/**
 * Computes metrics of a level series and the index it tracks on the same dates. The Sharpe ratio is the arithmetic mean
 * return over the volatility, with risk-free rate 0.
 * @param periodsPerYear sessions of a year.
 */
export function computeBacktestMetrics(
  level: Float64Array,
  index: Float64Array | null,
  periodsPerYear: number = LIMITS.PERIODS_PER_YEAR,
): BacktestMetrics {
  const returns = computeReturns(level);
  const total = level.at(-1)! / level[0]! - 1;
  const deviation = computeDeviation(returns);
  const volatility = deviation * Math.sqrt(periodsPerYear);
  return {
    annualised_return: raiseToPower(1 + total, periodsPerYear / returns.length) - 1,
    max_drawdown: computeDrawdown(level).reduce((lowest, value) => Math.min(lowest, value), 0),
    sharpe_ratio: isConstant(deviation) ? 0 : (computeMean(returns) * periodsPerYear) / volatility,
    total_return: total,
    tracking_difference: index && total - (index.at(-1)! / index[0]! - 1),
    tracking_error:
      index && computeDeviation(subtractSeries(returns, computeReturns(index))) * Math.sqrt(periodsPerYear),
    volatility,
  };
}

export function subtractSeries(a: Float64Array, b: Float64Array): Float64Array {
  const differences = new Float64Array(a.length);
  for (let t = 0; t < a.length; t++) differences[t] = a[t]! - b[t]!;
  return differences;
}

/** Distribution of the returns of a level series. A ratio is null if its denominator is 0. */
interface ReturnStatistics {
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
  const downsideSquare = computeMean(returns.map((value) => Math.min(value, 0) ** 2));
  const downside = isConstant(Math.sqrt(downsideSquare)) ? 0 : Math.sqrt(downsideSquare * periodsPerYear);
  const sortedReturns = returns.toSorted();
  const spread = Math.sqrt(computeMean(returns.map((value) => (value - middle) ** 2)));
  return {
    downside_volatility: downside,
    sortino_ratio: downside === 0 ? null : (middle * periodsPerYear) / downside,
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
interface BenchmarkStatistics {
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
interface Drawdown {
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

/** Rolling risk of a run: a value for each date with enough earlier returns, [n] each. */
export interface RollingRisk {
  /** Index of the first value in the levels; later values follow without a gap. */
  readonly from: number;
  readonly volatility: Float64Array;
  readonly indexVolatility: Float64Array;
  readonly trackingError: Float64Array;
  /** Beta of the run to the index; 0 if the index is constant. */
  readonly beta: Float64Array;
  /** Correlation of the run with the index; 0 if either of them is constant. */
  readonly correlation: Float64Array;
}

/** Default window of returns: a quarter. */
export const DEFAULT_RISK_WINDOW = 63;

/** Window of returns, or half-life in sessions. */
export type RiskMemory = { readonly window: number } | { readonly halfLife: number };

/** Reference of a run: the index it tracks, or its external benchmark. */
export const RISK_REFERENCES = ['index', 'benchmark'] as const;
export type RiskReference = (typeof RISK_REFERENCES)[number];

/** Number of series: run, index, and active return of the run. */
const SERIES_COUNT = 3;

/**
 * Variance below which a variance may consist of rounding errors. The moments of a window are updated from those of the
 * window before, so that their rounding errors are in proportion to the returns that left it.
 */
const VARIANCE_MIN = 1e-18;

/**
 * Computes rolling risk of a level relative to the index it tracks, on the same dates. Active returns are a third
 * series: if tracking is close, active risk computed from the moments of the other two is only rounding noise. Plain
 * loops update the 3 x 3 matrix in place, because no kernel engine is faster at this size.
 * @param level run, [T].
 * @param index tracked index, [T].
 * @param periodsPerYear sessions of a year.
 * @cost O(T), independent of the window
 */
export function computeRollingRisk(
  level: Float64Array,
  index: Float64Array,
  memory: RiskMemory,
  periodsPerYear: number = LIMITS.PERIODS_PER_YEAR,
): RollingRisk {
  const returns = new Float64Array(SERIES_COUNT * Math.max(0, level.length - 1));
  for (let t = 0, position = 0; t + 1 < level.length; t++, position += SERIES_COUNT) {
    returns[position] = level[t + 1]! / level[t]! - 1;
    returns[position + 1] = index[t + 1]! / index[t]! - 1;
    returns[position + 2] = returns[position]! - returns[position + 1]!;
  }
  const first = 'window' in memory ? memory.window : 2;
  const risk = allocateRisk(first, Math.max(0, level.length - first));
  /** Returns the annualised deviation of a series. One that may be only rounding is computed again from its returns. */
  const annualise = (series: number, last: number, variance: number): number => {
    if (variance >= VARIANCE_MIN) return Math.sqrt(variance * periodsPerYear);
    if (!('window' in memory)) {
      const square = Math.max(0, variance);
      return isConstant(Math.sqrt(square)) ? 0 : Math.sqrt(square * periodsPerYear);
    }
    const start = last + 1 - memory.window;
    const seriesReturns = Float64Array.from(
      { length: memory.window },
      (_, i) => returns[(start + i) * SERIES_COUNT + series]!,
    );
    return computeDeviation(seriesReturns) * Math.sqrt(periodsPerYear);
  };
  const visitWindow = (last: number, _means: Float64Array, covariance: Float64Array): void => {
    const k = last + 1 - first;
    risk.volatility[k] = annualise(0, last, covariance[0]!);
    risk.indexVolatility[k] = annualise(1, last, covariance[SERIES_COUNT + 1]!);
    risk.trackingError[k] = annualise(2, last, covariance[2 * SERIES_COUNT + 2]!);
    writeComovementAt(risk, k, covariance);
  };
  if ('window' in memory) visitRollingCovariances(referenceEngine, returns, SERIES_COUNT, memory.window, visitWindow);
  else visitExponentialCovariances(referenceEngine, returns, SERIES_COUNT, memory.halfLife, visitWindow);
  return risk;
}

function allocateRisk(from: number, count: number): RollingRisk {
  const allocateValues = (): Float64Array => new Float64Array(count);
  return {
    from,
    volatility: allocateValues(),
    indexVolatility: allocateValues(),
    trackingError: allocateValues(),
    beta: allocateValues(),
    correlation: allocateValues(),
  };
}

/**
 * Writes beta and correlation at index `k`.
 * @param covariance covariances of run, index and their difference, [3 x 3]
 */
function writeComovementAt(risk: RollingRisk, k: number, covariance: Float64Array): void {
  const runVariance = covariance[0]!;
  const crossCovariance = covariance[1]!;
  const indexVariance = covariance[SERIES_COUNT + 1]!;
  risk.beta[k] = indexVariance < VARIANCE_MIN ? 0 : crossCovariance / indexVariance;
  risk.correlation[k] =
    runVariance < VARIANCE_MIN || indexVariance < VARIANCE_MIN
      ? 0
      : Math.min(1, Math.max(-1, crossCovariance / Math.sqrt(runVariance * indexVariance)));
}

/**
 * Computes the annualised standard deviation of the trailing returns at each date.
 * @param returns [n]
 * @param window number of returns, at least 2
 * @param periodsPerYear sessions of a year
 * @returns one value per complete window, the first at return `window - 1`, [n - window + 1]; none with fewer returns
 * @cost O(n window)
 */
export function computeRollingVolatility(
  returns: Float64Array,
  window: number,
  periodsPerYear: number = LIMITS.PERIODS_PER_YEAR,
): Float64Array {
  const scale = Math.sqrt(periodsPerYear);
  const values = new Float64Array(Math.max(0, returns.length - window + 1));
  for (let i = 0; i < values.length; i++) values[i] = computeDeviation(returns.subarray(i, i + window)) * scale;
  return values;
}

export interface MonthReturn {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly value: number;
}

/**
 * Computes the return of each calendar month. It is the last level of the month over the last level of the previous
 * month. For the first month it is the last level over the first level.
 * @returns months ascending; they compound to the total return.
 */
export function computeMonthlyReturns(days: Int32Array, level: Float64Array): MonthReturn[] {
  const months: MonthReturn[] = [];
  let start = level[0]!;
  for (let t = 1; t < level.length; t++) {
    const { year, month } = toCivilDate(days[t]!);
    const next = t + 1 < level.length ? toCivilDate(days[t + 1]!) : null;
    if (next?.month === month && next.year === year) continue;
    months.push({ year, month, value: level[t]! / start - 1 });
    start = level[t]!;
  }
  return months;
}
