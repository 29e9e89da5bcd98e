import type { EigenvalueRange } from '../algebra/eigenvalue-range.js';
import type { Engine } from '../engines/engine.js';
import { boundFactorEigenvalues } from './factor-eigenvalues.js';
import {
  expandCovariance,
  estimateLowRankCovariance,
  type LowRankCovariance,
  type Shrinkage,
} from './low-rank-covariance.js';
import { estimateStructuredCovariance, type StructuredRequest } from './estimators/structured-covariance.js';
import { createPanelCovariance } from './panel-covariance.js';
import { findPanelEigenvalues } from './panel-eigenvalues.js';
import { repairCovariance } from './repair-covariance.js';
import { computeAverageCorrelation } from './shrinkage-target.js';

/**
 * Smallest eigenvalue that counts as a rounding error, divided by the largest eigenvalue or by 1, whichever is larger.
 */
const SEMIDEFINITE_RATIO = -1e-10;

/**
 * Ratio of the smallest to the largest eigenvalue, divided by the number of securities. Below it, the matrix is
 * singular to working precision.
 */
const SINGULAR_RATIO = 1e-15;

/** Condition number reported for a matrix that is singular to working precision. */
const CONDITION_MAX = 1e300;

/** Diagnostics of an estimate, as reported with the matrix. */
export interface CovarianceDiagnostics {
  /** Weight on the shrinkage target. */
  readonly intensity: number;
  /** Mean off-diagonal correlation. */
  readonly averageCorrelation: number;
  readonly smallestEigenvalue: number;
  /** Largest over smallest eigenvalue; 1e300 when the matrix is singular to working precision. */
  readonly conditionNumber: number;
  readonly isPositiveSemiDefinite: boolean;
  /** True if negative eigenvalues were clipped. */
  readonly isRepaired: boolean;
}

export interface CovarianceRequest extends Shrinkage {
  /** True to clip negative eigenvalues if the result is not positive semi-definite. */
  readonly repair: boolean;
}

/** Stages of an estimate, reported at the start of each. */
export type EstimateStage = 'moments' | 'product' | 'eigenvalues' | 'repair';

/**
 * Estimates a shrunk covariance matrix from a panel of returns, and inspects its eigenvalues.
 *
 * @param engine   Engine that computes.
 * @param panel    [observations x assets] row-major returns, finite; overwritten.
 * @param assets   Columns of `panel`, at least 1.
 * @param request  Target, intensity, weights, scale, and `repair`.
 * @param out      [assets x assets] row-major, overwritten; exactly symmetric.
 * @param onStage  Called at the start of each stage; may throw to stop.
 * @returns        Diagnostics of the matrix in `out`.
 * @throws         KernelFault in the cases of `estimateLowRankCovariance`; Error if the panel is not finite.
 * @cost           observations * assets^2 / 2 + 4/3 assets^3 multiply-adds; if the panel has fewer rows than assets and
 *                 the target permits it, the eigenvalues cost observations^3 instead. Needs scratch of order assets^2
 *                 only for a repair.
 * @source         Ledoit & Wolf (2004), J. Portfolio Management 30(4), 110-119.
 */
export function estimateCovariance(
  engine: Engine,
  panel: Float64Array,
  assets: number,
  request: CovarianceRequest,
  out: Float64Array,
  onStage: (stage: EstimateStage) => void = () => {},
): CovarianceDiagnostics {
  onStage('moments');
  const covariance = estimateLowRankCovariance(engine, panel, assets, request);
  onStage('product');
  expandCovariance(engine, covariance, out);
  onStage('eigenvalues');
  const range = isSolvableByRows(covariance)
    ? findEigenvaluesByRows(engine, covariance)
    : findEigenvalues(engine, out, assets);
  return {
    intensity: covariance.intensity,
    ...diagnose(engine, out, { assets, range, repair: request.repair, onStage }),
  };
}

/**
 * Estimates a covariance matrix by an estimator without a shrinkage target, and inspects its eigenvalues. A matrix that
 * is not positive semi-definite is repaired.
 *
 * @param engine   Engine that computes.
 * @param panel    [observations x assets] row-major returns, finite; overwritten.
 * @param assets   Columns of `panel`, at least 1.
 * @param request  Estimator with its settings, weights of the observations, and the scale.
 * @param out      [assets x assets] row-major, overwritten; exactly symmetric.
 * @param onStage  Called at the start of each stage; may throw to stop.
 * @returns        Diagnostics of the matrix in `out`.
 * @throws         KernelFault on a shape mismatch; Error if the panel is not finite.
 * @cost           Cost of the estimator, and 4/3 assets^3 for the eigenvalues.
 * @source         See the estimator.
 */
export function estimateStructured(
  engine: Engine,
  panel: Float64Array,
  assets: number,
  request: StructuredRequest,
  out: Float64Array,
  onStage: (stage: EstimateStage) => void = () => {},
): Omit<CovarianceDiagnostics, 'intensity'> {
  onStage('moments');
  estimateStructuredCovariance(engine, panel, assets, request, out);
  onStage('eigenvalues');
  return diagnose(engine, out, { assets, range: findEigenvalues(engine, out, assets), repair: true, onStage });
}

/**
 * Inspects the eigenvalues of a covariance, and repairs it on request.
 *
 * @param engine   Engine that computes.
 * @param matrix   [assets x assets] row-major, exactly symmetric, finite; changed only by a repair.
 * @param request  `repair` is true to clip negative eigenvalues if the matrix is not positive semi-definite.
 * @returns        Diagnostics of the matrix.
 * @throws         Error if an entry is not finite.
 * @cost           4/3 assets^3.
 * @source         Definition.
 */
export function diagnoseCovariance(
  engine: Engine,
  matrix: Float64Array,
  { repair }: Pick<CovarianceRequest, 'repair'>,
): Omit<CovarianceDiagnostics, 'intensity'> {
  const assets = Math.sqrt(matrix.length);
  return diagnose(engine, matrix, {
    assets,
    range: findEigenvalues(engine, matrix, assets),
    repair,
    onStage: () => {},
  });
}

/**
 * Computes the smallest and largest eigenvalue of a low-rank covariance without forming its matrix.
 *
 * @param engine      Engine that multiplies.
 * @param covariance  The covariance.
 * @returns           Smallest and largest eigenvalue: as accurate as in `estimateCovariance` if the T x T products of
 *                    the rows determine them, otherwise as accurate as `findPanelEigenvalues`.
 * @throws            Error if the panel is not finite.
 * @cost              observations^2 * assets + observations^3, or the cost of `findPanelEigenvalues`.
 * @source            Definition.
 */
export function findLowRankEigenvalues(engine: Engine, covariance: LowRankCovariance): EigenvalueRange {
  return isSolvableByRows(covariance)
    ? findEigenvaluesByRows(engine, covariance)
    : findPanelEigenvalues(engine, createPanelCovariance(covariance));
}

/** Covariance given by factor loadings and specific variances. */
export interface FactoredCovariance {
  /** Loadings, [assets x factors]. */
  readonly loadings: Float64Array;
  /** Specific variances, [assets]. */
  readonly specific: Float64Array;
}

/**
 * Inspects the eigenvalues of a covariance given by factors.
 *
 * @param engine   Engine that computes.
 * @param matrix   [assets x assets] row-major, exactly symmetric; not changed.
 * @param parts    The same covariance by factors: loadings loadings' + diag(specific).
 * @param onStage  Called at the start of each stage; may throw to stop.
 * @returns        Diagnostics of the matrix.
 * @throws         Error if the loadings are not finite.
 * @cost           Cost of `boundFactorEigenvalues`, and one pass over the matrix.
 * @source         Definition.
 */
export function estimateWithDiagnostics(
  engine: Engine,
  matrix: Float64Array,
  { loadings, specific }: FactoredCovariance,
  onStage: (stage: EstimateStage) => void = () => {},
): Omit<CovarianceDiagnostics, 'intensity'> {
  onStage('eigenvalues');
  const range = boundFactorEigenvalues(engine, loadings, specific);
  return diagnose(engine, matrix, { assets: specific.length, range, repair: false, onStage });
}

interface DiagnosisInput {
  readonly assets: number;
  readonly range: EigenvalueRange;
  readonly repair: boolean;
  readonly onStage: (stage: EstimateStage) => void;
}

/** Returns the diagnostics of a matrix, after a repair if it is requested and necessary. */
function diagnose(
  engine: Engine,
  out: Float64Array,
  { assets, range: first, repair, onStage }: DiagnosisInput,
): Omit<CovarianceDiagnostics, 'intensity'> {
  let range = first;
  const isRepaired = repair && !isSemidefinite(range);
  if (isRepaired) {
    onStage('repair');
    repairCovariance(engine, out, assets);
    range = findEigenvalues(engine, out, assets);
  }
  return { averageCorrelation: computeAverageCorrelation(out, assets), ...describeRange(range, assets), isRepaired };
}

/** Returns the diagnostics of a range of eigenvalues. @param assets  order of the matrix */
export function describeRange(
  range: EigenvalueRange,
  assets: number,
): Pick<CovarianceDiagnostics, 'smallestEigenvalue' | 'conditionNumber' | 'isPositiveSemiDefinite'> {
  return {
    smallestEigenvalue: range.smallest,
    conditionNumber: computeCondition(range, assets),
    isPositiveSemiDefinite: isSemidefinite(range),
  };
}

function isSemidefinite({ smallest, largest }: EigenvalueRange): boolean {
  return smallest >= SEMIDEFINITE_RATIO * Math.max(1, largest);
}

function computeCondition({ smallest, largest }: EigenvalueRange, assets: number): number {
  return smallest <= SINGULAR_RATIO * assets * largest ? CONDITION_MAX : largest / smallest;
}

function findEigenvalues(engine: Engine, matrix: Float64Array, n: number): EigenvalueRange {
  const range = engine.eigenvalueRange(matrix, n);
  if (range === undefined) throw new Error('the covariance has entries that are not finite');
  return range;
}

/**
 * Returns true if the eigenvalues follow from the T x T products of the rows. A target with equal diagonal entries only
 * shifts the sample eigenvalues.
 */
function isSolvableByRows({ observations, assets, intensity, target }: LowRankCovariance): boolean {
  return observations < assets && (intensity === 0 || target.kind === 'scaled_identity');
}

/**
 * Returns the smallest and largest of keep * eigenvalues of XX', shifted by the target. The additional eigenvalues of
 * X'X are 0 before the shift.
 */
function findEigenvaluesByRows(
  engine: Engine,
  { panel, observations, assets, intensity, target, scale }: LowRankCovariance,
): EigenvalueRange {
  return engine.scope(() => {
    const products = engine.allocate(observations * observations);
    engine.gemm({ rows: observations, inner: assets, columns: observations, transposeB: true }, panel, panel, products);
    const { largest } = findEigenvalues(engine, products, observations);
    const shift = intensity === 0 ? 0 : scale * intensity * target.addedVariances[0]!;
    return { smallest: shift, largest: scale * (1 - intensity) * largest + shift };
  });
}
