import type { Engine } from '#kernels/engines/engine.js';
import { computeNaturalLog } from '#kernels/power.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import { computeDeviation, computeMean } from '../analytics/returns.js';
import { computeDotProduct } from '../base/numbers.js';
import { Refusal } from '../base/refusals.js';
import type { Day } from '../base/time.js';
import { estimatePeriodsPerYear } from '../calendars/calendar.js';
import { readGrowthRow } from '../market/growth.js';
import { estimateRiskModel, type RiskSettings } from './estimation.js';
import type { ReturnWindow } from './return-panel.js';
import type { RiskValidationRequest } from './risk-models.js';

/** Number of outcomes in a window of the rolling bias statistic: one year of months. */
const ROLLING_OUTCOMES = 12;

/** Accuracy of T forecasts of one portfolio. */
interface ForecastStatistics {
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
function computeForecastStatistics(
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

export const PORTFOLIO_FAMILIES = ['equal_weight', 'index', 'random', 'active', 'eigenportfolio'] as const;
export type PortfolioFamily = (typeof PORTFOLIO_FAMILIES)[number];

/** Portfolio with which a model is tested, on one day. */
interface TrialPortfolio {
  readonly family: PortfolioFamily;
  /** Number within its family, from 1. */
  readonly number: number;
  /** Weights of the covered securities, [n]. */
  readonly weights: Float64Array;
}

const RANDOM_SECURITIES_MAX = 20;

export interface RandomTrials {
  readonly count: number;
  readonly seed: number;
}

/** Returns the portfolio with equal weights of every covered security. */
function createEqualTrial(n: number): TrialPortfolio {
  return { family: 'equal_weight', number: 1, weights: new Float64Array(n).fill(1 / n) };
}

/**
 * Draws random long portfolios with exponential weights. Each holds the securities with the smallest random keys. Key
 * and weight of a security depend only on seed, portfolio and security, so portfolios stay stable when securities enter
 * or leave.
 * @param names covered securities, as streams of random numbers, [n].
 * @returns portfolios, each followed by its difference from the equally weighted portfolio
 */
function drawTrials(names: Int32Array, { count, seed }: RandomTrials): TrialPortfolio[] {
  const n = names.length;
  const keys = Array.from({ length: count }, () => new Float64Array(n));
  const sizes = keys.map(() => new Float64Array(n));
  names.forEach((name, i) => {
    const random = createCounterRandom({ seed, stream: name });
    for (let p = 0; p < count; p++) {
      keys[p]![i] = random.uniform();
      sizes[p]![i] = -computeNaturalLog(random.uniform());
    }
  });
  return keys.flatMap((key, p) => {
    const limit = n <= RANDOM_SECURITIES_MAX ? 1 : key.toSorted()[RANDOM_SECURITIES_MAX - 1]!;
    const drawnSizes = sizes[p]!.map((size, i) => (key[i]! <= limit ? size : 0));
    const total = drawnSizes.reduce((sum, size) => sum + size, 0);
    const weights = drawnSizes.map((size) => size / total);
    return [
      { family: 'random', number: p + 1, weights },
      { family: 'active', number: p + 1, weights: weights.map((weight) => weight - 1 / n) },
    ] as const;
  });
}

/**
 * Returns eigenvectors of a covariance as portfolios of gross weight 1. They are `count` eigenvectors, evenly spaced by
 * rank from the largest eigenvalue on.
 * @param covariance [n x n].
 * @cost a symmetric eigenproblem of order n
 */
function createEigenTrials(engine: Engine, covariance: Float64Array, n: number, count: number): TrialPortfolio[] {
  if (count === 0) return [];
  return engine.scope(() => {
    const values = engine.allocate(n);
    const vectors = engine.allocate(n * n);
    engine.symmetricEigen(covariance, n, values, vectors);
    const trialCount = Math.min(count, n);
    return Array.from({ length: trialCount }, (_, k) => {
      const rank = trialCount === 1 ? 0 : Math.round((k * (n - 1)) / (trialCount - 1));
      const vector = vectors.slice((n - 1 - rank) * n, (n - rank) * n);
      const gross = vector.reduce((sum, value) => sum + Math.abs(value), 0);
      return { family: 'eigenportfolio', number: k + 1, weights: vector.map((value) => value / gross) };
    });
  });
}

/** Maximum number of forecast days of one validation: one per week over forty years. Earlier days are not used. */
const FORECASTS_MAX = 2_000;

/** Minimum number of outcomes for the statistics of a portfolio. */
const OUTCOMES_MIN = 2;

export interface ValidationInput {
  /** Market with its growth. Forecasts are made on sessions from `from`; outcomes end at `to`. */
  readonly window: ReturnWindow;
  /** Market columns of the model's securities. */
  readonly asked: readonly number[];
  readonly settings: RiskSettings;
  readonly terms: Pick<RiskValidationRequest, 'sessions' | 'horizon' | 'random' | 'eigenportfolios' | 'seed'>;
  /** Returns the holdings of the index at the close of a day, by column. Returns undefined on a day without weights. */
  readonly heldOn: ((day: Day) => ReadonlyMap<number, number> | undefined) | null;
  readonly report: (fraction: number) => void;
}

export interface PortfolioValidation extends ForecastStatistics {
  readonly family: PortfolioFamily;
  readonly number: number;
}

export interface ForecastOutcome {
  readonly family: PortfolioFamily;
  readonly number: number;
  /** Forecast standard deviation over the horizon. */
  readonly forecast: number;
  /** Return over the horizon. */
  readonly outcome: number;
}

export interface ForecastDay {
  readonly day: Day;
  readonly until: Day;
  /** Number of securities with an estimate. */
  readonly names: number;
  readonly tried: readonly ForecastOutcome[];
}

export interface RiskValidation {
  readonly days: readonly ForecastDay[];
  /** Number of forecast days with too little data for an estimate. */
  readonly skipped: number;
  readonly portfolios: readonly PortfolioValidation[];
}

/**
 * Measures how accurately the settings of a risk model forecast over history. On each forecast day, a model is
 * estimated from the returns up to that day. Its volatility forecasts of portfolios over the horizon are compared with
 * the realised returns. Forecasts use no data after their day.
 * @throws Refusal RISK_INSUFFICIENT_DATA with fewer than two days, and refusals of an estimate on all of them
 * @cost an estimate and an eigenproblem per day
 */
export function validateRiskModel(engine: Engine, input: ValidationInput): RiskValidation {
  const sessions = listForecastSessions(input);
  const days: ForecastDay[] = [];
  let refusal: Refusal | undefined;
  sessions.forEach((session, position) => {
    input.report(position / sessions.length);
    const forecastResult = engine.scope(() => forecastAtSession(engine, input, session));
    if (forecastResult instanceof Refusal) refusal = forecastResult;
    else days.push(forecastResult);
  });
  if (days.length === 0 && refusal !== undefined) throw refusal;
  if (days.length < OUTCOMES_MIN) throw refuseTooFewForecasts(input, days.length);
  return { days, skipped: sessions.length - days.length, portfolios: summarisePortfolios(days, input) };
}

function listForecastSessions({ window: { from, to }, terms: { sessions, horizon } }: ValidationInput): number[] {
  const results: number[] = [];
  for (let session = Math.max(from, sessions); session + horizon <= to; session += horizon) results.push(session);
  return results.slice(-FORECASTS_MAX);
}

/** Makes the forecasts of one day. Returns a refusal if the known data allow no estimate. */
function forecastAtSession(engine: Engine, input: ValidationInput, session: number): ForecastDay | Refusal {
  const { window, asked, settings, terms } = input;
  const { sm } = window;
  const estimationWindow = { ...window, from: session - terms.sessions, to: session };
  const estimate = estimateOrRefusal(() => estimateRiskModel(engine, estimationWindow, asked, settings));
  if (estimate instanceof Refusal) return estimate;
  const {
    covariance,
    coverage: { columns },
  } = estimate;
  const n = columns.length;
  const trials = [
    createEqualTrial(n),
    ...createIndexTrial(input.heldOn?.(sm.sessions[session]!), columns),
    ...drawTrials(findPositions(columns, asked), { count: terms.random, seed: terms.seed }),
    ...createEigenTrials(engine, covariance, n, terms.eigenportfolios),
  ];
  const returns = computeReturnsAfter(window, columns, { session, horizon: terms.horizon });
  const scale = terms.horizon / estimatePeriodsPerYear(sm.sessions);
  const product = engine.allocate(n);
  const forecastOutcomes = trials.flatMap(({ family, number, weights }): ForecastOutcome[] => {
    engine.symv(covariance, weights, product);
    const forecast = Math.sqrt(Math.max(0, scale * computeDotProduct(weights, product)));
    return forecast > 0 ? [{ family, number, forecast, outcome: computeDotProduct(weights, returns) }] : [];
  });
  return {
    day: sm.sessions[session]!,
    until: sm.sessions[session + terms.horizon]!,
    names: n,
    tried: forecastOutcomes,
  };
}

/** Returns the positions of the covered securities among the securities of the model. */
function findPositions(columns: Int32Array, requestedColumns: readonly number[]): Int32Array {
  const positionByColumn = new Map(requestedColumns.map((column, place) => [column, place]));
  return columns.map((column) => positionByColumn.get(column)!);
}

function estimateOrRefusal<T>(estimate: () => T): T | Refusal {
  try {
    return estimate();
  } catch (refusal) {
    if (refusal instanceof Refusal && refusal.code === 'RISK_INSUFFICIENT_DATA') return refusal;
    throw refusal;
  }
}

/**
 * Returns the index holdings among the covered securities, scaled to their total. Returns an empty list if the total is
 * zero.
 */
function createIndexTrial(
  weightByColumn: ReadonlyMap<number, number> | undefined,
  columns: Int32Array,
): TrialPortfolio[] {
  const weights = Float64Array.from(columns, (column) => weightByColumn?.get(column) ?? 0);
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return sum > 0 ? [{ family: 'index', number: 1, weights: weights.map((weight) => weight / sum) }] : [];
}

/** Returns the returns of securities over the horizon after the close of a session, [n]. */
function computeReturnsAfter(
  { sm, growth }: ReturnWindow,
  columns: Int32Array,
  { session, horizon }: { readonly session: number; readonly horizon: number },
): Float64Array {
  const values = new Float64Array(columns.length).fill(1);
  for (let s = session + 1; s <= session + horizon; s++) {
    const row = readGrowthRow(sm, s);
    for (let i = 0; i < values.length; i++) {
      const factor = growth[row + columns[i]!]!;
      if (factor === factor) values[i]! *= factor; // NaN if an exchange rate is missing; no change is assumed
    }
  }
  return values.map((value) => value - 1);
}

function summarisePortfolios(days: readonly ForecastDay[], { window, terms }: ValidationInput): PortfolioValidation[] {
  const { horizon } = terms;
  const periods = estimatePeriodsPerYear(window.sm.sessions);
  const series = new Map<string, ForecastOutcome[]>();
  for (const { tried } of days)
    for (const forecastOutcome of tried) {
      const name = `${forecastOutcome.family} ${forecastOutcome.number}`;
      const forecastOutcomes = series.get(name);
      if (forecastOutcomes) forecastOutcomes.push(forecastOutcome);
      else series.set(name, [forecastOutcome]);
    }
  return [...series.values()]
    .filter(({ length }) => length >= OUTCOMES_MIN)
    .map((tried) => ({
      family: tried[0]!.family,
      number: tried[0]!.number,
      ...computeForecastStatistics(
        {
          forecasts: Float64Array.from(tried, ({ forecast }) => forecast),
          outcomes: Float64Array.from(tried, ({ outcome }) => outcome),
        },
        { horizon, periods },
      ),
    }));
}

function refuseTooFewForecasts({ terms: { sessions, horizon } }: ValidationInput, forecastCount: number): Refusal {
  return new Refusal(
    'RISK_INSUFFICIENT_DATA',
    `The window contains ${forecastCount} forecasts with ${sessions} sessions before and ${horizon} after them; at least ${OUTCOMES_MIN} are required.`,
    { forecasts: forecastCount, forecasts_needed: OUTCOMES_MIN },
  );
}
