import { estimatePeriodsPerYear } from '../../calendars/periods-per-year.js';
import { computeDotProduct } from '../../numbers/dot.js';
import type { Engine } from '#kernels/engines/engine.js';
import type { Day } from '../../time/days.js';
import type { RiskValidationRequest } from './risk-validation-request.js';
import { readGrowthRow } from '../../index-mathematics/growth.js';
import { Refusal } from '../../refusals/refusal.js';
import { estimateRiskModel, type RiskSettings } from '../estimate-risk-model.js';
import type { ReturnWindow } from '../return-panel.js';
import { computeForecastStatistics, type ForecastStatistics } from './forecast-statistics.js';
import {
  createEigenTrials,
  createEqualTrial,
  drawTrials,
  type PortfolioFamily,
  type TrialPortfolio,
} from './trial-portfolios.js';

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

/** Portfolio with the accuracy statistics of its forecasts. */
export interface PortfolioValidation extends ForecastStatistics {
  readonly family: PortfolioFamily;
  readonly number: number;
}

/** Forecast of a portfolio. */
export interface ForecastOutcome {
  readonly family: PortfolioFamily;
  readonly number: number;
  /** Forecast standard deviation over the horizon. */
  readonly forecast: number;
  /** Return over the horizon. */
  readonly outcome: number;
}

/** All forecasts of one day. */
export interface ForecastDay {
  readonly day: Day;
  /** Last day of the outcomes of these forecasts. */
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

interface Horizon {
  readonly session: number;
  readonly horizon: number;
}

/** Returns the returns of securities over the horizon after the close of a session, [n]. */
function computeReturnsAfter(
  { sm, growth }: ReturnWindow,
  columns: Int32Array,
  { session, horizon }: Horizon,
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
