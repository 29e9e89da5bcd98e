import { estimatePeriodsPerYear } from '../calendars/periods-per-year.js';
import type { Engine } from '#kernels/engines/engine.js';
import { estimateStructured } from '#kernels/moments/estimate-covariance.js';
import { fillHalfLifeWeights } from '#kernels/moments/half-life-weights.js';
import {
  expandCovariance,
  estimateLowRankCovariance,
  type LowRankCovariance,
} from '#kernels/moments/low-rank-covariance.js';
import { createRollingGram, type GramHistory, type RollingGram } from '#kernels/moments/rolling-gram.js';
import { shrinkGram } from '#kernels/moments/shrunk-from-gram.js';
import { createDenseMetric, createFactorMetric, type Metric } from '#kernels/optimisation/program/metric.js';
import type { RiskEstimator } from '../risk/risk-estimator.js';
import { isFactorEstimator } from '../risk/factor-model.js';
import { estimateFactors, createLoadings as factorLoadings } from '../risk/factors/estimate-factors.js';
import {
  findCoverage,
  isEstimable,
  readReturns,
  sumReturns,
  type Coverage,
  type ReturnWindow,
} from '../risk/return-panel.js';
import {
  readModelCovariance,
  readModelFactors,
  type SecuritiesOfDecision,
  type StoredModel,
} from '../risk/stored-model.js';
import { refuseInsufficientRisk, type RequestedWindow } from './insufficient-risk.js';
import { readScenarioReturns, type Scenarios } from './scenario-returns.js';

/** Annualised risk model of an optimisation, with every requested security. */
export interface RiskEstimate {
  readonly metric: Metric;
  /** Number of sessions per year, used for annualising. */
  readonly periods: number;
  /**
   * Returns annualised arithmetic mean returns, [N]. A security that is not covered has the mean of the other
   * securities. All means are zero if `isIdentity` is true.
   * @throws Refusal RISK_INSUFFICIENT_DATA if a stored model is used and the window has too few observations
   */
  means(): Float64Array;
  /**
   * Returns the returns of the securities by scenario.
   * @throws Refusal RISK_INSUFFICIENT_DATA
   */
  readonly scenarios: (sessions: number | null) => Scenarios;
  readonly coverage: Coverage;
  /** True if there were too few observations, so that the identity replaces the covariance. */
  readonly isIdentity: boolean;
}

/** Ratio of securities to observations above which loadings cost less than a dense matrix. */
const SECURITIES_PER_OBSERVATION = 1.8;

/** Options of an estimate. */
export interface RiskTerms {
  /** State of the previous estimate, for a rolling window. */
  readonly memory?: RiskMemory;
  /** Estimator. Default: constant correlation, in the form that suits the shape of the panel. */
  readonly estimator?: RiskEstimator | null | undefined;
}

/** State that one estimate of a rolling window passes on to the next. */
export interface RiskMemory {
  readonly gram: RollingGram;
}

/** @param past estimates from which to resume */
export function createRiskMemory(engine: Engine, past: GramHistory | null = null): RiskMemory {
  return { gram: createRollingGram(engine, past) };
}

/**
 * Estimates the covariance of securities over a window, shrunk towards constant correlation. The form of the result
 * suits the shape of the panel. A security without enough returns in the window gets the mean variance and no
 * correlation, so that only rows move it away from its index weight.
 * @param columns market columns, ascending, [N].
 * @cost T N^2 / 2 multiply-adds, less the rows shared with the previous estimate; T N while there are far more
 * securities than observations.
 */
export function estimateRisk(
  engine: Engine,
  source: RequestedWindow,
  columns: Int32Array,
  { memory = createRiskMemory(engine), estimator = null }: RiskTerms = {},
): RiskEstimate {
  const window = { ...source, from: Math.max(source.from, source.to - (estimator?.sessions ?? Infinity)) };
  const coverage = findCoverage(window, columns);
  const scenarios = readScenarioReturns(source, columns);
  const periods = estimatePeriodsPerYear(source.sm.sessions);
  if (!isEstimable(coverage)) {
    return {
      periods,
      metric: createIdentity(columns.length),
      means: () => new Float64Array(columns.length),
      scenarios,
      coverage,
      isIdentity: true,
    };
  }
  if (estimator !== null) {
    const estimate = engine.scope(() => estimateCovered(engine, window, coverage, estimator));
    return {
      periods,
      metric: extendMetric(estimate.metric, coverage, columns),
      means: createMeansReader(estimate.means, coverage, columns),
      scenarios,
      coverage,
      isIdentity: false,
    };
  }
  const n = coverage.columns.length;
  const observationCount = coverage.sessions.length;
  if (n > SECURITIES_PER_OBSERVATION * observationCount) {
    const loadings = engine.scope(() => computeCovarianceFromLoadings(engine, window, coverage));
    if (loadings !== undefined)
      return {
        periods,
        metric: extendMetric(loadings.metric, coverage, columns),
        means: createMeansReader(loadings.means, coverage, columns),
        scenarios,
        coverage,
        isIdentity: false,
      };
  }
  const gram = memory.gram.over(coverage.columns, coverage.sessions, (sessions, out) =>
    readReturns(window, { ...coverage, sessions }, out),
  );
  const matrix = new Float64Array(n * n);
  shrinkGram(gram, observationCount, periods, matrix);
  const means = gram.sums.map((sum) => (periods * sum) / observationCount);
  return {
    periods,
    metric: extendMetric(createDenseMetric(matrix, n), coverage, columns),
    means: createMeansReader(means, coverage, columns),
    scenarios,
    coverage,
    isIdentity: false,
  };
}

/** Options for reading a stored model. */
interface StoredModelUse {
  readonly window: RequestedWindow;
  /** Session of the decision. */
  readonly decision: number;
  /** True to keep a factor model as loadings and specific variances, if the model has them. */
  readonly byFactors?: boolean;
}

/**
 * Returns the covariance of a stored model for the securities, with mean returns over a window.
 * @throws Refusal LOOK_AHEAD, MODEL_LACKS_NAMES
 * @cost of the rows of the securities, or of their exposures; a pass over the returns of the window if means are
 *   requested
 */
export function readStoredRisk(
  model: StoredModel,
  { window, decision, byFactors = false }: StoredModelUse,
  columns: Int32Array,
): RiskEstimate {
  const { sm } = window;
  const identifiers = Array.from(columns, (column) => sm.identifiers[column]!);
  const names = { identifiers, day: sm.sessions[decision]! };
  const coverage = findCoverage(window, columns);
  let means: Float64Array | undefined;
  return {
    periods: estimatePeriodsPerYear(sm.sessions),
    metric: (byFactors ? readFactorMetric(model, names) : undefined) ?? readStoredMetric(model, names),
    means: () => (means ??= computeWindowMeans(window, coverage, columns)),
    scenarios: readScenarioReturns(window, columns),
    // A stored model has an estimate for every security, whether or not the window covers it.
    coverage: { ...coverage, excluded: new Map() },
    isIdentity: false,
  };
}

function readStoredMetric(model: StoredModel, names: SecuritiesOfDecision): Metric {
  return createDenseMetric(readModelCovariance(model, names), names.identifiers.length);
}

/** Returns the factor form of a stored model. Returns undefined for a model without factors. */
function readFactorMetric(model: StoredModel, names: SecuritiesOfDecision): Metric | undefined {
  const modelFactors = readModelFactors(model, names);
  return modelFactors && createFactorMetric(modelFactors.loadings, modelFactors.specific);
}

function computeWindowMeans(window: RequestedWindow, coverage: Coverage, columns: Int32Array): Float64Array {
  const { sessions } = coverage;
  if (!isEstimable(coverage)) throw refuseInsufficientRisk(coverage, columns.length, { window });
  const sums = sumReturns(window, coverage);
  const periods = estimatePeriodsPerYear(window.sm.sessions);
  const means = sums.map((sum) => (periods * sum) / sessions.length);
  return extendMeans(means, coverage, columns);
}

/**
 * Estimates the covariance in the form of loadings. Returns undefined if the shrinkage target has negative
 * correlations, because loadings cannot represent them.
 */
function computeCovarianceFromLoadings(
  engine: Engine,
  window: ReturnWindow,
  coverage: Coverage,
): { readonly metric: Metric; readonly means: Float64Array } | undefined {
  const n = coverage.columns.length;
  const panel = engine.allocate(coverage.sessions.length * n);
  readReturns(window, coverage, panel);
  const means = computeColumnMeans(panel, n, estimatePeriodsPerYear(window.sm.sessions));
  const covariance = estimateLowRankCovariance(engine, panel, n, {
    target: 'constant_correlation',
    intensity: null,
    method: 'shape',
    scale: estimatePeriodsPerYear(window.sm.sessions),
  });
  return covariance.target.common >= 0 ? { metric: toLoadings(covariance), means } : undefined;
}

/** Estimates the covariance of the covered securities with a given estimator. Must run inside an engine scope. */
function estimateCovered(
  engine: Engine,
  window: ReturnWindow,
  coverage: Coverage,
  settings: RiskEstimator,
): { readonly metric: Metric; readonly means: Float64Array } {
  const { estimator, target, intensity, intensity_method: method, half_life: halfLife } = settings;
  const n = coverage.columns.length;
  const observationCount = coverage.sessions.length;
  const panel = engine.allocate(observationCount * n);
  readReturns(window, coverage, panel);
  const means = computeColumnMeans(panel, n, estimatePeriodsPerYear(window.sm.sessions));
  const scale = estimatePeriodsPerYear(window.sm.sessions);
  const weights = halfLife === null ? {} : { weights: createWeights(halfLife, observationCount) };
  if (isFactorEstimator(estimator)) {
    const { model } = estimateFactors(engine, window, coverage, { ...settings, estimator }, panel);
    return { metric: createFactorMetric(factorLoadings(model), model.specific), means };
  }
  if (estimator !== 'shrinkage') {
    const { threshold, lags, eigenvalue_simulations: simulations } = settings;
    const matrix = new Float64Array(n * n);
    estimateStructured(engine, panel, n, { estimator, threshold, lags, simulations, scale, ...weights }, matrix);
    return { metric: createDenseMetric(matrix, n), means };
  }
  const covariance = estimateLowRankCovariance(engine, panel, n, { target, intensity, method, scale, ...weights });
  if (n > SECURITIES_PER_OBSERVATION * observationCount && covariance.target.common >= 0)
    return { metric: toLoadings(covariance), means };
  const matrix = new Float64Array(n * n);
  expandCovariance(engine, covariance, matrix);
  return { metric: createDenseMetric(matrix, n), means };
}

function createWeights(halfLife: number, observationCount: number): Float64Array {
  const weights = new Float64Array(observationCount);
  fillHalfLifeWeights(halfLife, weights);
  return weights;
}

function createIdentity(n: number): Metric {
  return createFactorMetric(new Float64Array(0), new Float64Array(n).fill(1));
}

/**
 * Returns the annualised means of the columns of a panel.
 * @param periodsPerYear sessions of a year
 */
function computeColumnMeans(panel: Float64Array, n: number, periodsPerYear: number): Float64Array {
  const means = new Float64Array(n);
  for (let rowStart = 0; rowStart < panel.length; rowStart += n)
    for (let i = 0; i < n; i++) means[i]! += panel[rowStart + i]!;
  const observationCount = panel.length / n;
  return means.map((sum) => (periodsPerYear * sum) / observationCount);
}

/**
 * Returns the shrunk covariance as loadings: each row of the panel is a factor, and the common part of the target is a
 * further factor.
 */
function toLoadings({ panel, observations, assets, intensity, target, scale }: LowRankCovariance): Metric {
  const k = observations + 1;
  const loadings = new Float64Array(assets * k);
  const keep = Math.sqrt(scale * (1 - intensity));
  const commonDeviation = Math.sqrt(scale * intensity * target.common);
  for (let t = 0; t < observations; t++)
    for (let i = 0; i < assets; i++) loadings[i * k + t] = keep * panel[t * assets + i]!;
  for (let i = 0; i < assets; i++) loadings[i * k + observations] = commonDeviation * target.scale[i]!;
  return createFactorMetric(
    loadings,
    Float64Array.from(target.addedVariances, (own) => scale * intensity * own),
  );
}

/** Returns the positions of the covered securities among the requested securities. */
function findPositions(coverage: Coverage, columns: Int32Array): Int32Array {
  const coveredColumns = new Set(coverage.columns);
  return Int32Array.from(columns.keys()).filter((place) => coveredColumns.has(columns[place]!));
}

/**
 * Extends a metric to every requested security. A security that is not covered gets the mean variance and no
 * covariances.
 */
export function extendMetric(covered: Metric, coverage: Coverage, columns: Int32Array): Metric {
  const n = columns.length;
  if (covered.n === n) return covered;
  const positions = findPositions(coverage, columns);
  if (covered.form === 'factor') {
    const { factors: k, loadings, specific } = covered;
    const all = new Float64Array(n * k);
    let total = 0;
    for (let p = 0; p < positions.length; p++) {
      all.set(loadings.subarray(p * k, p * k + k), positions[p]! * k);
      total += specific[p]!;
      for (let f = 0; f < k; f++) total += loadings[p * k + f]! ** 2;
    }
    const uniform = new Float64Array(n).fill(total / positions.length);
    positions.forEach((place, p) => (uniform[place] = specific[p]!));
    return createFactorMetric(all, uniform);
  }
  const m = covered.n;
  const matrix = new Float64Array(n * n);
  let total = 0;
  for (let p = 0; p < m; p++) total += covered.matrix[p * m + p]!;
  for (let i = 0; i < n; i++) matrix[i * n + i] = total / m;
  for (let p = 0; p < m; p++)
    for (let q = 0; q < m; q++) matrix[positions[p]! * n + positions[q]!] = covered.matrix[p * m + q]!;
  return createDenseMetric(matrix, n);
}

/** Returns a function that computes mean returns of every requested security on demand. */
function createMeansReader(means: Float64Array, coverage: Coverage, columns: Int32Array): () => Float64Array {
  let all: Float64Array | undefined;
  return () => (all ??= extendMeans(means, coverage, columns));
}

function extendMeans(means: Float64Array, coverage: Coverage, columns: Int32Array): Float64Array {
  const average = means.reduce((sum, value) => sum + value, 0) / means.length;
  const all = new Float64Array(columns.length).fill(average);
  findPositions(coverage, columns).forEach((place, p) => (all[place] = means[p]!));
  return all;
}
