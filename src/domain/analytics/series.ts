import { raiseToPower } from '#kernels/power.js';
import { toCivilDate, toDay } from '../time/days.js';
import { isConstant } from '../numbers/constant.js';
import { LIMITS } from '../refusals/limits.js';

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

/** Returns the sample standard deviation (ddof 1). Returns 0 with fewer than two values. */
export function computeDeviation(values: Float64Array): number {
  return Math.sqrt(computeCovariance(values, values));
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
