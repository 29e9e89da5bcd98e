import type { EigenvalueRange } from '#kernels/algebra/symmetric-eigen.js';
import type { Engine } from '#kernels/engines/engine.js';
import {
  boundFactorEigenvalues,
  type CovarianceDiagnostics,
  estimateCovariance,
  type EstimateStage,
  estimateStructured,
  estimateWithDiagnostics,
  findLowRankEigenvalues,
} from '#kernels/moments/estimate-covariance.js';
import { estimateLowRankCovariance } from '#kernels/moments/low-rank-covariance.js';
import {
  computeDeviations,
  countTriangleEntries,
  createPanelCovariance,
  type PanelCovariance,
} from '#kernels/moments/panel-covariance.js';
import { fillHalfLifeWeights } from '#kernels/moments/sample-covariance.js';
import { LIMITS } from '../base/limits.js';
import { Refusal, refuseWithFindings } from '../base/refusals.js';
import { formatDay } from '../base/time.js';
import { estimatePeriodsPerYear } from '../calendars/calendar.js';
import type { MarketData } from '../market/market-data.js';
import {
  computeFactorCovariance,
  createFactorPanel,
  createLoadings,
  type EstimatedFactors,
  estimateFactors,
} from './factors.js';
import { isFactorEstimator } from './model-terms.js';
import { type Estimator, type RiskModelRequest } from './risk-models.js';
import {
  assertEstimable,
  type Coverage,
  createReturnSource,
  type ReturnSource,
  type ReturnWindow,
} from './return-panel.js';

/**
 * Minimum weight of all observations before the last one. With less, the divisor 1 - sum w^2 of an unbiased covariance
 * would lose precision.
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
  /** Diagnostics of the covariance. The intensity is null if the estimator has no shrinkage target. */
  readonly diagnostics: Omit<CovarianceDiagnostics, 'intensity'> & { readonly intensity: number | null };
  /** Annualised covariance, [n x n], in engine memory. */
  readonly covariance: Float64Array;
  /** Factor model; null for an estimator without factors. */
  readonly factors: EstimatedFactors | null;
}

/**
 * Estimates the covariance model of the securities that a window covers. Must run inside an engine scope; the scope
 * owns the matrix.
 * @param requestedColumns market columns without duplicates, in the order of the matrix.
 * @throws Refusal RISK_INSUFFICIENT_DATA, also if the half-life puts all weight on the last session; NUMERIC_FAILURE if
 * the squares of returns overflow
 * @cost of `estimateCovariance`
 */
export function estimateRiskModel(
  engine: Engine,
  window: ReturnWindow,
  requestedColumns: ArrayLike<number>,
  settings: RiskSettings,
  report: (stage: EstimateStage | 'returns') => void = () => {},
): RiskModelEstimate {
  report('returns');
  return estimateFrom(engine, createReturnSource(window, requestedColumns), settings, report);
}

/**
 * Estimates a covariance model from returns. Factor models need returns with a window.
 * @param report receives each stage and the matrix. From the eigenvalue stage on, the matrix is final unless it is
 * repaired.
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
  let estimatedFactors: EstimatedFactors | null = null;
  const diagnostics = engine.scope((): RiskModelEstimate['diagnostics'] => {
    const panel = engine.room(coverage.sessions.length * n);
    returns.read(panel, engine);
    const weights = createWeightOptions(settings, coverage);
    const { estimator, threshold, lags, eigenvalue_simulations: simulations } = settings;
    const onStage = (stage: EstimateStage): void => {
      if (stage === 'eigenvalues') assertFinite(covariance, n);
      report(stage, covariance);
    };
    if (isFactorEstimator(estimator)) {
      if (window === undefined) throw new Error(`returns without a window for the estimator ${estimator}`);
      onStage('moments');
      estimatedFactors = estimateFactors(engine, window, coverage, { ...settings, estimator }, panel);
      onStage('product');
      computeFactorCovariance(engine, estimatedFactors.model, covariance);
      const { model } = estimatedFactors;
      const modelParts = { loadings: createLoadings(model), specific: model.specific };
      return { intensity: null, ...estimateWithDiagnostics(engine, covariance, modelParts, onStage) };
    }
    if (estimator !== 'shrinkage') {
      const structuredSettings = { estimator, threshold, lags, simulations, scale, ...weights };
      return { intensity: null, ...estimateStructured(engine, panel, n, structuredSettings, covariance, onStage) };
    }
    const request = { ...createShrinkageOptions(settings, scale), repair: settings.repair, ...weights };
    return estimateCovariance(engine, panel, n, request, covariance, onStage);
  });
  return {
    coverage: limitToUsedSessions(coverage, estimatedFactors),
    diagnostics,
    covariance,
    factors: estimatedFactors,
  };
}

/** Returns true if an estimator's covariance is a sum over a panel. Single rows of it can then be computed. */
export const hasPanelForm = (estimator: Estimator): boolean =>
  estimator === 'shrinkage' || isFactorEstimator(estimator);

/** Estimate of a covariance whose matrix is not computed. */
export interface PanelEstimate {
  readonly coverage: Coverage;
  /** Annualised covariance in panel form. */
  readonly covariance: PanelCovariance;
  /** Square roots of the covariance diagonal, [n]. */
  readonly deviations: Float64Array;
  /** Shrinkage intensity; null without a target. */
  readonly intensity: number | null;
  /** Factor model; null for an estimator without factors. */
  readonly factors: EstimatedFactors | null;
  readonly eigenvalues: (engine: Engine) => EigenvalueRange;
}

/**
 * Estimates a covariance in panel form from returns. The result is bit-identical to `estimateFrom`, but the matrix is
 * not computed. The result does not use engine memory.
 * @param settings settings with an estimator of `hasPanelForm`; nothing is repaired, because such a covariance is
 * positive semi-definite up to rounding
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
        coverage: limitToUsedSessions(coverage, factors),
        covariance,
        deviations: computeDeviations(covariance, sumSquares(covariance)),
        intensity: null,
        factors,
        eigenvalues: (on) => boundFactorEigenvalues(on, createLoadings(model), model.specific),
      };
    }
    const shrinkage = {
      ...createShrinkageOptions(settings, estimatePeriodsPerYear(returns.sm.sessions)),
      ...createWeightOptions(settings, coverage),
    };
    const lowRankEstimate = estimateLowRankCovariance(engine, panel, n, shrinkage);
    const lowRankCovariance = { ...lowRankEstimate, panel: panel.slice() };
    const covariance = createPanelCovariance(lowRankCovariance);
    return {
      coverage,
      covariance,
      deviations: computeDeviations(covariance, lowRankCovariance.variances),
      intensity: lowRankCovariance.intensity,
      factors: null,
      eigenvalues: (on) => findLowRankEigenvalues(on, lowRankCovariance),
    };
  });
}

/** Returns the sum of squares of each column of a panel, summed from the first row to the last. */
function sumSquares({ panel, assets }: PanelCovariance): Float64Array {
  const squares = new Float64Array(assets);
  for (let row = 0; row < panel.length; row += assets)
    for (let i = 0; i < assets; i++) squares[i]! += panel[row + i]! * panel[row + i]!;
  return squares;
}

const createShrinkageOptions = ({ target, intensity, intensity_method: method }: RiskSettings, scale: number) => ({
  target,
  intensity,
  method,
  scale,
});

/**
 * Returns the observation weights for a half-life.
 * @throws Refusal RISK_INSUFFICIENT_DATA
 */
const createWeightOptions = ({ half_life: halfLife }: RiskSettings, { sessions }: Coverage) =>
  halfLife === null ? {} : { weights: createWeights(halfLife, sessions.length) };

function limitToUsedSessions(coverage: Coverage, estimated: EstimatedFactors | null): Coverage {
  return estimated === null ? coverage : { ...coverage, sessions: coverage.sessions.subarray(estimated.from) };
}

/**
 * Checks that all entries of a covariance are finite before it is used.
 * @param covariance [n x n], exactly symmetric
 */
function assertFinite(covariance: Float64Array, n: number): void {
  for (let i = 0; i < n; i++) assertFiniteNumbers(covariance.subarray(i * (n + 1), (i + 1) * n));
}

/**
 * Checks that entries of a covariance are finite.
 * @throws Refusal NUMERIC_FAILURE
 */
export function assertFiniteNumbers(covariances: Float64Array): void {
  // an iterator takes six times as long
  for (let i = 0; i < covariances.length; i++)
    if (!Number.isFinite(covariances[i]))
      throw new Refusal('NUMERIC_FAILURE', `A covariance of the window is ${covariances[i]}, not a finite number.`);
}

/**
 * Returns exponential observation weights.
 * @throws Refusal RISK_INSUFFICIENT_DATA
 */
function createWeights(halfLife: number, observationCount: number): Float64Array {
  const weights = new Float64Array(observationCount);
  fillHalfLifeWeights(halfLife, weights);
  let earlier = 0;
  for (let t = 0; t < observationCount - 1; t++) earlier += weights[t]!;
  if (earlier >= EARLIER_WEIGHT_MIN) return weights;
  throw new Refusal(
    'RISK_INSUFFICIENT_DATA',
    `A half_life of ${halfLife} sessions leaves ${earlier.toPrecision(3)} of the weight to the observations before the last; at least ${EARLIER_WEIGHT_MIN} is required.`,
    { half_life: halfLife, observations: observationCount, weight: earlier, weight_needed: EARLIER_WEIGHT_MIN },
  );
}

const NUMBER_BYTES = Float64Array.BYTES_PER_ELEMENT;

/** Maximum number of securities of a model that a single thread estimates as a whole. */
export const SINGLE_THREAD_SECURITIES_MAX = 5_000;

/** Number of parts of a larger model's matrix: ranges of upper-triangle rows with about equal numbers of entries. */
export const MODEL_PARTS = 64;

/**
 * Number of the part that computes the range of the eigenvalues. It comes after the matrix parts. The node that runs
 * the job computes its last part first.
 */
export const EIGENVALUES_PART = MODEL_PARTS;

export const PART_COUNT = MODEL_PARTS + 1;

/**
 * Divides the rows of a matrix into parts.
 * @returns first row of each part, and the number of rows at the end, [MODEL_PARTS + 1]
 */
export function divideModel(assetCount: number): Int32Array {
  const cuts = new Int32Array(MODEL_PARTS + 1).fill(assetCount);
  const entries = countTriangleEntries(assetCount, 0, assetCount);
  let part = 0;
  for (let row = 0; row < assetCount; row++)
    while (part < MODEL_PARTS && countTriangleEntries(assetCount, 0, row) >= (part * entries) / MODEL_PARTS)
      cuts[part++] = row;
  return cuts;
}

/**
 * Returns the number of values of a part in addition to its rows. They are a fingerprint of the estimate, followed by
 * the sum of correlations of each row or by both ends of the eigenvalue range.
 */
export const countPartFigures = (cuts: Int32Array, part: number): number =>
  1 + (part === EIGENVALUES_PART ? 2 : cuts[part + 1]! - cuts[part]!);

/** Returns the file size in bytes of each part of a matrix. */
export function computeFileBytes(assetCount: number): number[] {
  const cuts = divideModel(assetCount);
  return Array.from(cuts.subarray(1), (to, part) => NUMBER_BYTES * countTriangleEntries(assetCount, cuts[part]!, to));
}

/**
 * Refuses a model with too many securities.
 * @param path member of the request that lists the securities
 * @throws Refusal VALIDATION_FAILED
 */
export function assertFewSecurities(count: number, path: 'identifiers' | 'index_id'): void {
  if (count <= LIMITS.MAX_RISK_SECURITIES) return;
  const message = `The model has ${count} securities; at most ${LIMITS.MAX_RISK_SECURITIES} are accepted.`;
  throw refuseWithFindings('request', [{ severity: 'error', code: 'OUT_OF_RANGE', path, message, value: count }]);
}

/**
 * Runs an estimate over a requested range. If the request states a start or an end, a refusal for too few returns names
 * it, and the range of the store.
 * @throws Refusal as `estimate`
 */
export function estimateOverRange<T>(
  { start, end }: Pick<RiskModelRequest, 'start' | 'end'>,
  { dates }: Pick<MarketData, 'dates'>,
  estimate: () => T,
): T {
  try {
    return estimate();
  } catch (failure) {
    const isWholeRange = start === null && end === null;
    if (!(failure instanceof Refusal) || failure.code !== 'RISK_INSUFFICIENT_DATA' || isWholeRange) throw failure;
    const [first, last] = [formatDay(dates[0]!), formatDay(dates.at(-1)!)]; // every market has dates
    const bounds = [start === null ? '' : `start ${start}`, end === null ? '' : `end ${end}`].filter(Boolean);
    const message = `${failure.message} Requested: ${bounds.join(' and ')}; the data covers ${first} to ${last}.`;
    throw new Refusal(failure.code, message, { ...failure.detail, start, end, first, last }, { cause: failure });
  }
}
