import { computeDeviation, computeMean } from '../../analytics/series.js';

/** Number of outcomes in a window of the rolling bias statistic: one year of months. */
const ROLLING_OUTCOMES = 12;

/** Accuracy of T forecasts of one portfolio. */
export interface ForecastStatistics {
  readonly observations: number;
  /** Bias statistic: standard deviation of the standardised outcomes. It is 1 for correct forecasts. */
  readonly bias: number;
  /** Interval that contains the bias statistic in 95 of 100 cases if forecasts are correct and returns are normal. */
  readonly biasBand: readonly [low: number, high: number];
  /** Mean of |bias - 1| over rolling windows of 12 outcomes. Null with fewer outcomes. */
  readonly rollingDeviation: number | null;
  /**
   * Mean of z^2 - ln z^2. It is 2.27 if forecasts are correct and returns are normal. Null if an outcome is exactly 0.
   */
  readonly qStatistic: number | null;
  /** QLIKE loss: mean of ln s^2 + r^2 / s^2 over the horizon. It is smallest for correct forecasts. */
  readonly qlike: number;
  /** Root mean square of the forecasts, annualised. */
  readonly forecastVolatility: number;
  /** Standard deviation of the outcomes, annualised. */
  readonly realisedVolatility: number;
}

/** Outcomes of a portfolio with their forecasts, [T] each. */
export interface ForecastSeries {
  /** Forecast standard deviation of each outcome over the horizon, above 0. */
  readonly forecasts: Float64Array;
  /** Returns over the horizon after each forecast. */
  readonly outcomes: Float64Array;
}

/**
 * Computes accuracy statistics of volatility forecasts.
 * @param horizon number of sessions of an outcome.
 * @param periods number of sessions per year.
 * @source Menchero, Orr, Wang (2011), The Barra US Equity Model (USE4), methodology notes: bias statistics; Patton
 *   (2011), Journal of Econometrics 160, 246-256: QLIKE
 */
export function computeForecastStatistics(
  { forecasts, outcomes }: ForecastSeries,
  { horizon, periods }: { readonly horizon: number; readonly periods: number },
): ForecastStatistics {
  const observationCount = outcomes.length;
  const standardisedOutcomes = outcomes.map((outcome, t) => outcome / forecasts[t]!);
  const squares = standardisedOutcomes.map((z) => z * z);
  const half = Math.sqrt(2 / observationCount);
  const annualisation = Math.sqrt(periods / horizon);
  return {
    observations: observationCount,
    bias: computeDeviation(standardisedOutcomes),
    biasBand: [Math.max(0, 1 - half), 1 + half],
    rollingDeviation: computeRollingDeviation(standardisedOutcomes),
    qStatistic: squares.includes(0) ? null : computeMean(squares.map((square) => square - Math.log(square))),
    qlike: computeMean(squares.map((square, t) => 2 * Math.log(forecasts[t]!) + square)),
    forecastVolatility: annualisation * Math.sqrt(computeMean(forecasts.map((forecast) => forecast * forecast))),
    realisedVolatility: annualisation * computeDeviation(outcomes),
  };
}

function computeRollingDeviation(standardised: Float64Array): number | null {
  if (standardised.length < ROLLING_OUTCOMES) return null;
  const windowCount = standardised.length - ROLLING_OUTCOMES + 1;
  let sum = 0;
  for (let t = 0; t < windowCount; t++)
    sum += Math.abs(computeDeviation(standardised.subarray(t, t + ROLLING_OUTCOMES)) - 1);
  return sum / windowCount;
}
