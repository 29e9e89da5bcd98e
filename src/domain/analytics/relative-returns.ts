import { findLastAtMost, isConstant } from '../base/numbers.js';
import { Refusal } from '../base/refusals.js';
import type { Day } from '../base/time.js';
import { estimateCommonPeriods } from '../calendars/calendar.js';
import { computeCovariance, computeDeviation, computeReturns, rebase, subtractSeries } from './returns.js';

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
function computeActiveReturns(
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

/** Tracking error forecast at a rebalance, and realised until the next rebalance. */
export interface ForecastPeriod {
  /** Session at whose close the rebalance took effect. */
  readonly day: Day;
  /** Forecast tracking error, annualised. */
  readonly forecast: number;
  /** Realised tracking error, annualised; null with fewer than two returns. */
  readonly realised: number | null;
  readonly observations: number;
}

/** Realised and forecast tracking error over the returns with a forecast. */
export interface TrackingForecast {
  /** Root mean square of the forecasts in force, annualised. */
  readonly forecast: number;
  /** Realised tracking error, annualised. */
  readonly realised: number;
  /**
   * Bias statistic: standard deviation of the active returns, after each return is divided by its forecast. Null if a
   * forecast is 0.
   */
  readonly bias: number | null;
  /** Interval that contains the bias statistic in 95 of 100 cases if the forecasts are right and returns are normal. */
  readonly biasBand: readonly [low: number, high: number];
  readonly observations: number;
  readonly periods: readonly ForecastPeriod[];
}

/** Rebalance with the tracking error forecast at its decision; undefined without a risk model. */
export interface ForecastRebalance {
  readonly day: Day;
  readonly trackingError: number | undefined;
}

/**
 * Compares the realised with the forecast tracking error of a run to its parent index. A return belongs to the
 * rebalance in force at the previous close.
 * @param rebalances ascending.
 * @returns null with fewer than two returns that have a forecast
 * @source Barra, Handbook: bias statistic with the band 1 -+ sqrt(2 / observations)
 */
export function computeTrackingForecast(
  level: DatedSeries,
  parent: DatedSeries,
  rebalances: readonly ForecastRebalance[],
): TrackingForecast | null {
  const { since, values, periodsPerYear } = computeActiveReturns(level, parent);
  const days = Int32Array.from(rebalances, ({ day }) => day);
  const byRebalance = rebalances.map((): number[] => []);
  values.forEach((value, t) => byRebalance[findLastAtMost(days, since[t]!)]?.push(value));
  const parts = rebalances.flatMap(({ day, trackingError: forecast }, r) =>
    forecast === undefined || byRebalance[r]!.length === 0 ? [] : [{ day, forecast, active: byRebalance[r]! }],
  );
  const allActiveReturns = Float64Array.from(parts.flatMap((part) => part.active));
  const forecasts = Float64Array.from(parts.flatMap((part) => part.active.map(() => part.forecast)));
  const observationCount = allActiveReturns.length;
  if (observationCount < 2) return null;
  const year = Math.sqrt(periodsPerYear);
  const annualise = (series: Float64Array): number => computeDeviation(series) * year;
  const half = Math.sqrt(2 / observationCount);
  return {
    forecast: Math.sqrt(forecasts.reduce((sum, value) => sum + value * value, 0) / observationCount),
    realised: annualise(allActiveReturns),
    bias: forecasts.includes(0) ? null : annualise(allActiveReturns.map((value, t) => value / forecasts[t]!)),
    biasBand: [Math.max(0, 1 - half), 1 + half],
    observations: observationCount,
    periods: parts.map(({ day, forecast, active: activeReturns }) => ({
      day,
      forecast,
      realised: activeReturns.length < 2 ? null : annualise(Float64Array.from(activeReturns)),
      observations: activeReturns.length,
    })),
  };
}
