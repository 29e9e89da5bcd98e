import { estimateCommonPeriods } from '../calendars/periods-per-year.js';
import { isConstant } from '../numbers/constant.js';
import { Refusal } from '../refusals/refusal.js';
import { computeCovariance, computeDeviation, subtractSeries, rebase, computeReturns } from './series.js';

export interface DatedSeries {
  /** Ascending days. */
  readonly days: Int32Array;
  /** One positive value per day. */
  readonly values: Float64Array;
}

/** Performance against a benchmark on the shared dates. */
export interface RelativeMetrics {
  readonly days: Int32Array;
  /** Benchmark rebased to 100 on the shared dates. */
  readonly level: Float64Array;
  readonly observations: number;
  readonly benchmarkReturn: number;
  readonly totalReturn: number;
  readonly excessReturn: number;
  readonly beta: number;
  readonly correlation: number;
  readonly trackingError: number;
}

/**
 * Computes metrics of a series relative to a benchmark, from returns on the shared dates.
 * @throws Refusal NO_COMMON_DATES with fewer than two shared dates
 */
export function computeRelativeMetrics(series: DatedSeries, benchmark: DatedSeries): RelativeMetrics {
  const sharedSeries = selectSharedDates(series, benchmark);
  const { length } = sharedSeries.days;
  if (length < 2)
    throw new Refusal('NO_COMMON_DATES', `The series have ${length} common dates; at least two are needed.`);
  return computeMetrics(sharedSeries, estimateCommonPeriods(sharedSeries.days, series.days, benchmark.days));
}

/** Computes relative metrics. Returns null with fewer than two shared dates. */
export function computeSharedMetrics(series: DatedSeries, benchmark: DatedSeries): RelativeMetrics | null {
  const sharedSeries = selectSharedDates(series, benchmark);
  const periodsPerYear = estimateCommonPeriods(sharedSeries.days, series.days, benchmark.days);
  return sharedSeries.days.length < 2 ? null : computeMetrics(sharedSeries, periodsPerYear);
}

function computeMetrics({ days, first, second }: SharedSeries, periodsPerYear: number): RelativeMetrics {
  const returns = computeReturns(first);
  const benchmarkReturns = computeReturns(second);
  const totalReturn = first.at(-1)! / first[0]! - 1;
  const benchmarkReturn = second.at(-1)! / second[0]! - 1;
  const { beta, correlation } = computeComovement(returns, benchmarkReturns);
  return {
    days,
    level: rebase(second, 100),
    observations: days.length,
    benchmarkReturn,
    totalReturn,
    excessReturn: totalReturn - benchmarkReturn,
    beta,
    correlation,
    trackingError: computeDeviation(subtractSeries(returns, benchmarkReturns)) * Math.sqrt(periodsPerYear),
  };
}

/**
 * Returns the active returns of a series: its returns less the returns of its parent on the shared dates, [n - 1] for n
 * dates.
 * @returns `since`: the start date of each return; `periodsPerYear`: the number of such returns per year
 */
export function computeActiveReturns(
  series: DatedSeries,
  parent: DatedSeries,
): { readonly since: Int32Array; readonly values: Float64Array; readonly periodsPerYear: number } {
  const { days, first, second } = selectSharedDates(series, parent);
  return {
    since: days.subarray(0, -1),
    values: subtractSeries(computeReturns(first), computeReturns(second)),
    periodsPerYear: estimateCommonPeriods(days, series.days, parent.days),
  };
}

/** Computes beta and Pearson correlation of returns with benchmark returns; both 0 if the benchmark is constant. */
export function computeComovement(
  returns: Float64Array,
  other: Float64Array,
): { readonly beta: number; readonly correlation: number } {
  const variance = computeCovariance(other, other);
  if (isConstant(Math.sqrt(variance))) return { beta: 0, correlation: 0 };
  const covariance = computeCovariance(returns, other);
  const ownVariance = computeCovariance(returns, returns);
  return {
    beta: covariance / variance,
    correlation: isConstant(Math.sqrt(ownVariance))
      ? 0
      : Math.max(-1, Math.min(1, covariance / Math.sqrt(ownVariance * variance))),
  };
}

interface SharedSeries {
  readonly days: Int32Array;
  readonly first: Float64Array;
  readonly second: Float64Array;
}

function selectSharedDates(a: DatedSeries, b: DatedSeries): SharedSeries {
  const days: number[] = [];
  const first: number[] = [];
  const second: number[] = [];
  for (let i = 0, j = 0; i < a.days.length && j < b.days.length;) {
    const gap = a.days[i]! - b.days[j]!;
    if (gap === 0) {
      days.push(a.days[i]!);
      first.push(a.values[i]!);
      second.push(b.values[j]!);
    }
    if (gap <= 0) i++;
    if (gap >= 0) j++;
  }
  return { days: Int32Array.from(days), first: Float64Array.from(first), second: Float64Array.from(second) };
}
