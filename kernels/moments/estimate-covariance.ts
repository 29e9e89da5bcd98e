import type { EigenvalueRange } from '../algebra/symmetric-eigen.js';
import { assert } from '../assert.js';
import type { Engine } from '../engines/engine.js';
import {
  estimateLowRankCovariance,
  expandCovariance,
  type LowRankCovariance,
  type Shrinkage,
} from './low-rank-covariance.js';
import { createPanelCovariance, findPanelEigenvalues } from './panel-covariance.js';
import { computeAverageCorrelation } from './shrinkage.js';
import { estimateStructuredCovariance, type StructuredRequest } from './structured-covariance.js';

/** Maximum number of bisection steps: all digits of a double. */
const HALVINGS = 60;

/** Width of a bracket, relative to its upper end, that is within rounding. */
const ROUNDING = 1e-15;

/**
 * Computes the smallest and the largest eigenvalue of loadings loadings' + diag(specific). The number of eigenvalues
 * below a value follows from a [factors x factors] matrix; the brackets of both eigenvalues are bisected.
 *
 * @param engine    Engine that multiplies.
 * @param loadings  [n x k] row-major.
 * @param specific  [n], n at least 1.
 * @returns         Both eigenvalues, with rounding errors relative to the largest.
 * @throws          KernelFault on a shape mismatch.
 * @cost            About 100 products of n k^2 / 2.
 * @source          Sylvester's law of inertia; Golub (1973), Some modified matrix eigenvalue problems, SIAM Review
 *                  15(2).
 */
export function boundFactorEigenvalues(
  engine: Engine,
  loadings: Float64Array,
  specific: Float64Array,
): EigenvalueRange {
  const n = specific.length;
  assert(n >= 1, 'specific: no names');
  const k = loadings.length / n;
  assert(Number.isInteger(k), `loadings: ${loadings.length} values over ${n} names`);
  const sortedSpecific = specific.toSorted();
  let sum = 0;
  for (const value of loadings) sum += value * value;
  const [least, most] = [sortedSpecific[0]!, sortedSpecific[n - 1]!];
  const countEigenvalues = (value: number) => countBelow(engine, loadings, specific, value);
  return {
    // With k factors, the smallest eigenvalue is at most the (k + 1)-th smallest specific variance.
    smallest: bisect(least, k < n ? sortedSpecific[k]! : most + sum, (value) => countEigenvalues(value) >= 1),
    largest: bisect(most, most + sum, (value) => countEigenvalues(value) === n),
  };
}

/**
 * Returns the smallest value in a range from which on a monotone condition holds, by bisection. The condition must hold
 * at `to`.
 */
function bisect(from: number, to: number, holds: (value: number) => boolean): number {
  let [low, high] = [from, to];
  for (let step = 0; step < HALVINGS && high - low > ROUNDING * Math.abs(high); step++) {
    const middle = low + (high - low) / 2;
    if (holds(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/**
 * Counts the eigenvalues below a value: the number of specific variances below it less the number of negative
 * eigenvalues of I + L' (D - value)^-1 L.
 */
function countBelow(engine: Engine, loadings: Float64Array, specific: Float64Array, value: number): number {
  const n = specific.length;
  const k = loadings.length / n;
  let count = 0;
  for (let i = 0; i < n; i++) if (specific[i]! < value) count++;
  return engine.scope(() => {
    const parts = engine.room(n * k);
    const inner = engine.room(k * k);
    for (let i = 0; i < n; i++) {
      const weight = 1 / (specific[i]! - value || Number.EPSILON * (Math.abs(value) || 1));
      for (let f = 0; f < k; f++) parts[i * k + f] = weight * loadings[i * k + f]!;
    }
    engine.gemm({ rows: k, inner: n, columns: k, transposeA: true }, loadings, parts, inner);
    for (let f = 0; f < k; f++) {
      inner[f * k + f]! += 1;
      // Products of two numbers in either order can differ in the last digit.
      for (let g = 0; g < f; g++) inner[f * k + g] = inner[g * k + f]!;
    }
    const values = engine.room(k);
    if (!engine.symmetricEigenvalues(inner, k, values))
      throw new Error('the loadings have entries that are not finite');
    return count - values.reduce((total, own) => total + (own < 0 ? 1 : 0), 0);
  });
}

type RepairEngine = Pick<Engine, 'precision' | 'allocate' | 'scope' | 'symmetricEigen' | 'symmetricRankK' | 'gemm'>;

/**
 * Makes a symmetric matrix positive semi-definite by setting its negative eigenvalues to 0, and restores its diagonal
 * by scaling rows and columns.
 *
 * @param engine      Engine that decomposes and multiplies.
 * @param covariance  [assets x assets] row-major, symmetric, diagonal not negative; overwritten.
 * @param assets      Order.
 * @throws            KernelFault on a shape mismatch; Error if an entry is not finite.
 * @cost              All eigenpairs and assets^3 / 2 multiply-adds; scratch of two matrices.
 * @source            Higham (2002), IMA J. Numerical Analysis 22(3), 329-343, one projection; rescaling as in Rebonato
 *                    & Jaeckel (2000), J. Risk 2(2).
 */
export function repairCovariance(engine: RepairEngine, covariance: Float64Array, assets: number): void {
  assert(covariance.length === assets * assets, `covariance: ${covariance.length} values for ${assets} assets`);
  const diagonal = Float64Array.from({ length: assets }, (_, i) => covariance[i * (assets + 1)]!);
  engine.scope(() => {
    const values = engine.allocate(assets);
    const vectors = engine.allocate(assets * assets);
    if (!engine.symmetricEigen(covariance, assets, values, vectors))
      throw new Error('the covariance has entries that are not finite');
    for (let k = 0; k < assets; k++) scaleRow(vectors, k * assets, assets, Math.sqrt(Math.max(values[k]!, 0)));
    // A product in float32 would not be precise enough for the repair; `gemm` uses float64 on every engine.
    if (engine.precision === 'float64') engine.symmetricRankK(vectors, assets, covariance);
    else engine.gemm({ rows: assets, inner: assets, columns: assets, transposeA: true }, vectors, vectors, covariance);
  });
  restoreDiagonal(covariance, diagonal);
}

function scaleRow(vectors: Float64Array, row: number, n: number, factor: number): void {
  for (let i = row; i < row + n; i++) vectors[i]! *= factor;
}

/**
 * Restores the diagonal by scaling rows and columns. A security whose variance became 0 keeps its diagonal entry and
 * loses its covariances.
 */
function restoreDiagonal(covariance: Float64Array, diagonal: Float64Array): void {
  const n = diagonal.length;
  const factors = diagonal.map((variance, i) => {
    const clippedVariance = covariance[i * (n + 1)]!;
    return clippedVariance > 0 ? Math.sqrt(variance / clippedVariance) : 0;
  });
  for (let i = 0; i < n; i++) {
    covariance[i * (n + 1)] = diagonal[i]!;
    for (let j = i + 1; j < n; j++) {
      const value = covariance[i * n + j]! * (factors[i]! * factors[j]!);
      covariance[i * n + j] = value;
      covariance[j * n + i] = value;
    }
  }
}

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
