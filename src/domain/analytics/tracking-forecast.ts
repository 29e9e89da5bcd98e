import type { Day } from '../time/days.js';
import { findLastAtMost } from '../numbers/search.js';
import { computeActiveReturns, type DatedSeries } from './relative.js';
import { computeDeviation } from './series.js';

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
