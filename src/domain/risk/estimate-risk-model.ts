import { estimatePeriodsPerYear } from '../calendars/periods-per-year.js';
import type { EigenvalueRange } from '#kernels/algebra/eigenvalue-range.js';
import type { Engine } from '#kernels/engines/engine.js';
import {
  estimateWithDiagnostics,
  estimateCovariance,
  estimateStructured,
  lowRankEigenvalues,
  type CovarianceDiagnostics,
  type EstimateStage,
} from '#kernels/moments/estimate-covariance.js';
import { boundFactorEigenvalues } from '#kernels/moments/factor-eigenvalues.js';
import { fillHalfLifeWeights } from '#kernels/moments/half-life-weights.js';
import { estimateLowRankCovariance } from '#kernels/moments/low-rank-covariance.js';
import { computeDeviations, createPanelCovariance, type PanelCovariance } from '#kernels/moments/panel-covariance.js';
import type { Estimator, RiskModelRequest } from './risk-model-document.js';
import { Refusal } from '../refusals/refusal.js';
import { isFactorEstimator } from './factor-model.js';
import {
  estimateFactors,
  computeFactorCovariance,
  createFactorPanel,
  createLoadings,
  type EstimatedFactors,
} from './factors/estimate-factors.js';
import {
  assertEstimable,
  createReturnSource,
  type Coverage,
  type ReturnSource,
  type ReturnWindow,
} from './return-panel.js';

/**
 * Minimum share of the weight before the last observation: with less the divisor 1 - sum w^2 of an unbiased covariance
 * loses its digits.
 */
const EARLIER_WEIGHT_MIN = 1e-4;

export type RiskSettings = Pick<
  RiskModelRequest,
  | 'estimator'
  | 'factors'
  | 'eigenvalue_simulations'
  | 'threshold'
  | 'lags'
  | 'intensity'
  | 'target'
  | 'repair'
  | 'intensity_method'
  | 'half_life'
>;

export interface RiskModelEstimate {
  readonly coverage: Coverage;
  /** Diagnostics without an intensity if the estimator has no target. */
  readonly diagnostics: Omit<CovarianceDiagnostics, 'intensity'> & { readonly intensity: number | null };
  /** Annualised, [n x n]; in the memory of the engine. */
  readonly covariance: Float64Array;
  /** Null for an estimator without factors. */
  readonly factors: EstimatedFactors | null;
}

/**
 * Estimates a covariance model of the securities that a window covers. Must run inside an engine's scope, which owns
 * the matrix.
 * @param asked columns of the market, each once, in the order of the matrix.
 * @throws Refusal RISK_INSUFFICIENT_DATA, also if the half-life puts all weight on the last session; NUMERIC_FAILURE if
 *   the squares of returns overflow
 * @cost of `estimateCovariance`
 */
export function estimateRiskModel(
  engine: Engine,
  window: ReturnWindow,
  asked: ArrayLike<number>,
  settings: RiskSettings,
  report: (stage: EstimateStage | 'returns') => void = () => {},
): RiskModelEstimate {
  report('returns');
  return estimateFrom(engine, createReturnSource(window, asked), settings, report);
}

/**
 * Estimates from returns. Factors need the returns of a window.
 * @param report also receives the matrix, which is final from the stage of its eigenvalues unless it is repaired
 * @throws as `estimateRiskModel`
 */
export function estimateFrom(
  engine: Engine,
  returns: ReturnSource,
  settings: RiskSettings,
  report: (stage: EstimateStage, covariance: Float64Array) => void,
): RiskModelEstimate {
  const { coverage, window } = returns;
  const scale = estimatePeriodsPerYear(returns.sm.sessions);
  assertEstimable(returns, coverage);
  const n = coverage.columns.length;
  const covariance = engine.room(n * n);
  let estimated: EstimatedFactors | null = null;
  const diagnostics = engine.scope((): RiskModelEstimate['diagnostics'] => {
    const panel = engine.room(coverage.sessions.length * n);
    returns.read(panel, engine);
    const weights = weightsIn(settings, coverage);
    const { estimator, threshold, lags, eigenvalue_simulations: simulations } = settings;
    const onStage = (stage: EstimateStage): void => {
      if (stage === 'eigenvalues') assertFinite(covariance, n);
      report(stage, covariance);
    };
    if (isFactorEstimator(estimator)) {
      if (window === undefined) throw new Error(`returns without a window for the estimator ${estimator}`);
      onStage('moments');
      estimated = estimateFactors(engine, window, coverage, { ...settings, estimator }, panel);
      onStage('product');
      computeFactorCovariance(engine, estimated.model, covariance);
      const { model } = estimated;
      const parts = { loadings: createLoadings(model), specific: model.specific };
      return { intensity: null, ...estimateWithDiagnostics(engine, covariance, parts, onStage) };
    }
    if (estimator !== 'shrinkage') {
      const structured = { estimator, threshold, lags, simulations, scale, ...weights };
      return { intensity: null, ...estimateStructured(engine, panel, n, structured, covariance, onStage) };
    }
    const request = { ...shrinkageOf(settings, scale), repair: settings.repair, ...weights };
    return estimateCovariance(engine, panel, n, request, covariance, onStage);
  });
  return { coverage: usedOf(coverage, estimated), diagnostics, covariance, factors: estimated };
}

/** Estimators whose covariance is a sum over a panel, so that rows of it can be computed without the others. */
export const isSumOfPanel = (estimator: Estimator): boolean =>
  estimator === 'shrinkage' || isFactorEstimator(estimator);

/** An estimate whose matrix is not formed. */
export interface PanelEstimate {
  readonly coverage: Coverage;
  /** Annualised. */
  readonly covariance: PanelCovariance;
  /** Square roots of its diagonal, [n]. */
  readonly deviations: Float64Array;
  /** Null without a target. */
  readonly intensity: number | null;
  /** Null for an estimator without factors. */
  readonly factors: EstimatedFactors | null;
  /** Computes the range of its eigenvalues. */
  readonly eigenvalues: (engine: Engine) => EigenvalueRange;
}

/**
 * Estimates from returns, as `estimateFrom` with the same bits, without the matrix. The result is in its own memory.
 * @param settings with an estimator of `isSumOfPanel`; nothing is repaired, because such a covariance is positive
 *   semi-definite up to rounding
 * @throws as `estimateRiskModel`
 */
export function estimatePanel(engine: Engine, returns: ReturnSource, settings: RiskSettings): PanelEstimate {
  const { coverage, window } = returns;
  const { estimator } = settings;
  assertEstimable(returns, coverage);
  const n = coverage.columns.length;
  return engine.scope(() => {
    const panel = engine.room(coverage.sessions.length * n);
    returns.read(panel, engine);
    if (isFactorEstimator(estimator)) {
      if (window === undefined) throw new Error(`returns without a window for the estimator ${estimator}`);
      const factors = estimateFactors(engine, window, coverage, { ...settings, estimator }, panel);
      const { model } = factors;
      const covariance = createFactorPanel(model);
      return {
        coverage: usedOf(coverage, factors),
        covariance,
        deviations: computeDeviations(covariance, squaresOf(covariance)),
        intensity: null,
        factors,
        eigenvalues: (on) => boundFactorEigenvalues(on, createLoadings(model), model.specific),
      };
    }
    const shrinkage = {
      ...shrinkageOf(settings, estimatePeriodsPerYear(returns.sm.sessions)),
      ...weightsIn(settings, coverage),
    };
    const estimated = estimateLowRankCovariance(engine, panel, n, shrinkage);
    const lowRank = { ...estimated, panel: panel.slice() };
    const covariance = createPanelCovariance(lowRank);
    return {
      coverage,
      covariance,
      deviations: computeDeviations(covariance, lowRank.variances),
      intensity: lowRank.intensity,
      factors: null,
      eigenvalues: (on) => lowRankEigenvalues(on, lowRank),
    };
  });
}

/** Sums the squares of the columns of a panel, first row to last. */
function squaresOf({ panel, assets }: PanelCovariance): Float64Array {
  const squares = new Float64Array(assets);
  for (let row = 0; row < panel.length; row += assets)
    for (let i = 0; i < assets; i++) squares[i]! += panel[row + i]! * panel[row + i]!;
  return squares;
}

const shrinkageOf = ({ target, intensity, intensity_method: method }: RiskSettings, scale: number) => ({
  target,
  intensity,
  method,
  scale,
});

/** @throws Refusal RISK_INSUFFICIENT_DATA */
const weightsIn = ({ half_life: halfLife }: RiskSettings, { sessions }: Coverage) =>
  halfLife === null ? {} : { weights: weightsOf(halfLife, sessions.length) };

/** Returns the coverage with the sessions that were used. */
function usedOf(coverage: Coverage, estimated: EstimatedFactors | null): Coverage {
  return estimated === null ? coverage : { ...coverage, sessions: coverage.sessions.subarray(estimated.from) };
}

/** Checks the complete product before anything is solved with it. @param covariance [n x n], exactly symmetric */
function assertFinite(covariance: Float64Array, n: number): void {
  for (let i = 0; i < n; i++) assertFiniteNumbers(covariance.subarray(i * (n + 1), (i + 1) * n));
}

/** Checks entries of a covariance. @throws Refusal NUMERIC_FAILURE */
export function assertFiniteNumbers(covariances: Float64Array): void {
  // An iterator takes six times as long.
  for (let i = 0; i < covariances.length; i++)
    if (!Number.isFinite(covariances[i]))
      throw new Refusal('NUMERIC_FAILURE', `A covariance of the window is ${covariances[i]}, not a finite number.`);
}

/** @throws Refusal RISK_INSUFFICIENT_DATA */
function weightsOf(halfLife: number, observations: number): Float64Array {
  const weights = new Float64Array(observations);
  fillHalfLifeWeights(halfLife, weights);
  let earlier = 0;
  for (let t = 0; t < observations - 1; t++) earlier += weights[t]!;
  if (earlier >= EARLIER_WEIGHT_MIN) return weights;
  throw new Refusal(
    'RISK_INSUFFICIENT_DATA',
    `A half_life of ${halfLife} sessions leaves ${earlier.toPrecision(3)} of the weight to the observations before the last; at least ${EARLIER_WEIGHT_MIN} is required.`,
    { half_life: halfLife, observations, weight: earlier, weight_needed: EARLIER_WEIGHT_MIN },
  );
}
