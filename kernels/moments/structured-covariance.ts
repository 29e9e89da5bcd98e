import { assert } from '../assert.js';
import type { Engine } from '../engines/engine.js';
import { computeNaturalLog } from '../power.js';
import { createCounterRandom } from '../random/counter-random.js';
import { computeSampleCovariance, demean } from './sample-covariance.js';

/** Engine operations for assembling a matrix from its eigenpairs. */
type RebuildingEngine = Pick<Engine, 'precision' | 'symmetricRankK' | 'gemm'>;

/**
 * Builds a symmetric matrix from eigenvalues and eigenvectors.
 *
 * @param engine   Engine that multiplies; the product has float64 precision on every engine.
 * @param vectors  Eigenvectors as rows, [n x n]; overwritten.
 * @param values   Eigenvalues, [n], not negative.
 * @param out      [n x n] row-major, overwritten; exactly symmetric.
 * @throws         KernelFault on a shape mismatch.
 * @cost           n^3 / 2 multiply-adds.
 * @source         Definition: the sum of each eigenvalue times the outer product of its eigenvector.
 */
export function rebuild(
  engine: RebuildingEngine,
  vectors: Float64Array,
  values: Float64Array,
  out: Float64Array,
): void {
  const n = values.length;
  for (let k = 0; k < n; k++) {
    const factor = Math.sqrt(values[k]!);
    for (let i = k * n; i < (k + 1) * n; i++) vectors[i]! *= factor;
  }
  if (engine.precision === 'float64') engine.symmetricRankK(vectors, n, out);
  else engine.gemm({ rows: n, inner: n, columns: n, transposeA: true }, vectors, vectors, out);
}

/**
 * Replaces the eigenvalues of a symmetric matrix and keeps its eigenvectors.
 *
 * @param engine  Engine that solves and multiplies.
 * @param matrix  [n x n] row-major, symmetric; overwritten, exactly symmetric.
 * @param n       Order, at least 1.
 * @param change  Maps the ascending eigenvalues, [n], to the new ones, which must not be negative.
 * @throws        Error if the matrix is not finite.
 * @cost          An eigenproblem of order n, and n^3 / 2 multiply-adds.
 * @source        Definition; see `rebuild`.
 */
function replaceEigenvalues(
  engine: RebuildingEngine & Pick<Engine, 'symmetricEigen' | 'allocate' | 'scope'>,
  matrix: Float64Array,
  n: number,
  change: (values: Float64Array) => Float64Array,
): void {
  engine.scope(() => {
    const values = engine.allocate(n);
    const vectors = engine.allocate(n * n);
    if (!engine.symmetricEigen(matrix, n, values, vectors))
      throw new Error('the covariance has entries that are not finite');
    rebuild(engine, vectors, change(values), matrix);
  });
}

/** Seed of the draws, equal for every estimate, so that equal inputs give equal results. */
const SEED = 2011;

/**
 * Minimum ratio of an eigenvalue to the largest eigenvalue. A smaller eigenvalue is a rounding error, and its bias has
 * no meaning.
 */
const NEGLIGIBLE_RATIO = 1e-12;

/** Parameters for drawing sample covariances. */
export interface BiasRequest {
  /** Number of observations of each sample, at least 2. */
  readonly observations: number;
  readonly simulations: number;
}

/**
 * Simulates the bias of the volatilities of eigenportfolios in a sample covariance. The bias is the square root of the
 * mean ratio of true to sample variance. Samples are drawn with the given eigenvalues as the truth. The bias is below 1
 * for the largest eigenvalues and above 1 for the smallest.
 * @param engine   Engine that solves.
 * @param values   [n] eigenvalues, ascending, not negative.
 * @param request  Number of observations of a sample, and number of samples.
 * @returns        Biases, [n], in the order of the eigenvalues; 1 for an eigenvalue of 0.
 * @throws         KernelFault with fewer than two observations or no simulation.
 * @cost           simulations * (observations n^2 / 2 + an eigenproblem of order n).
 * @source         Menchero, Wang & Orr (2011), Eigen-adjusted covariance matrices, MSCI Research Insight; Menchero, Orr
 *                 & Wang (2011), The Barra US Equity Model (USE4), section 4.2.
 */
export function estimateEigenvalueBias(
  engine: Pick<Engine, 'symmetricEigen' | 'allocate' | 'scope'>,
  values: Float64Array,
  { observations, simulations }: BiasRequest,
): Float64Array {
  assert(observations >= 2, `observations: ${observations}, at least 2 needed`);
  assert(simulations >= 1, `simulations: ${simulations}, at least 1 needed`);
  const n = values.length;
  const valueMin = NEGLIGIBLE_RATIO * (values[n - 1] ?? 0);
  const roots = values.map((value) => (value > valueMin ? Math.sqrt(value) : 0));
  const ratios = new Float64Array(n);
  engine.scope(() => {
    const matrix = engine.allocate(n * n);
    const result = engine.allocate(n);
    const vectors = engine.allocate(n * n);
    const panel = new Float64Array(observations * n);
    for (let stream = 0; stream < simulations; stream++) {
      const random = createCounterRandom({ seed: SEED, stream });
      for (let position = 0; position < panel.length; position++)
        panel[position] = roots[position % n]! * random.normal();
      computeSampleCovariance(panel, n, matrix);
      engine.symmetricEigen(matrix, n, result, vectors);
      for (let k = 0; k < n; k++) {
        if (roots[k] === 0 || result[k]! <= valueMin) continue;
        let variance = 0;
        for (let i = 0; i < n; i++) variance += vectors[k * n + i]! ** 2 * roots[i]! * roots[i]!;
        ratios[k]! += variance / result[k]! / simulations;
      }
    }
  });
  return ratios.map((ratio) => (ratio > 0 ? Math.sqrt(ratio) : 1));
}

/** Ratio of the bias of actual returns to the simulated bias. Actual returns are neither normal nor stationary. */
const BIAS_SCALE = 1.4;

/**
 * Adjusts the eigenvalues of a covariance for their bias and keeps its eigenvectors.
 *
 * @param engine   Engine that solves.
 * @param matrix   [n x n] row-major, symmetric positive semi-definite; overwritten.
 * @param n        Order, at least 1.
 * @param request  Number of observations behind the matrix, and number of samples.
 * @returns        Nothing; the covariance is in `matrix`, exactly symmetric.
 * @throws         KernelFault in the cases of `estimateEigenvalueBias`; Error if the matrix is not finite.
 * @cost           Cost of `estimateEigenvalueBias`, and n^3.
 * @source         As `estimateEigenvalueBias`: v becomes 1.4 (v - 1) + 1.
 */
export function adjustEigenvalues(
  engine: Pick<Engine, 'symmetricEigen' | 'allocate' | 'scope'> & RebuildingEngine,
  matrix: Float64Array,
  n: number,
  request: BiasRequest,
): void {
  replaceEigenvalues(engine, matrix, n, (values) => {
    const variances = values.map((value) => Math.max(0, value));
    const biases = estimateEigenvalueBias(engine, variances, request);
    return variances.map((variance, k) => variance * (BIAS_SCALE * (biases[k]! - 1) + 1) ** 2);
  });
}

/**
 * Computes the effective number of observations: with equal weights, this number would give an estimate the same
 * variance as the given weights.
 *
 * @param weights  [observations] summing to 1.
 * @returns        1 over the sum of squares, rounded, at least 2.
 * @throws         Never.
 * @cost           O(observations).
 * @source         Kish (1965), Survey Sampling: effective sample size.
 */
export function countEffectiveObservations(weights: Float64Array): number {
  return Math.max(2, Math.round(1 / weights.reduce((sum, weight) => sum + weight * weight, 0)));
}

/** Maximum number of rounds in the search for the noise edge. The edge falls by at least one eigenvalue per round. */
const ROUNDS_MAX = 1000;

/**
 * Replaces the noise eigenvalues of a correlation matrix by their mean. Noise eigenvalues are those below the upper
 * edge of the Marchenko-Pastur distribution with their mean as variance.
 *
 * @param eigenvalues   Eigenvalues of a correlation matrix, [assets], ascending.
 * @param observations  Number of observations of the sample.
 * @returns             Eigenvalues with unchanged sum and order, [assets], and the number of unchanged (signal)
 *                      eigenvalues.
 * @throws              Nothing.
 * @cost                Order assets per round; a handful of rounds.
 * @source              Laloux, Cizeau, Bouchaud & Potters (1999), Noise dressing of financial correlation matrices,
 *                      Physical Review Letters 83, 1467; Lopez de Prado (2020), Machine Learning for Asset Managers,
 *                      section 2.5 (constant residual eigenvalue).
 */
export function denoise(
  eigenvalues: Float64Array,
  observations: number,
): { readonly values: Float64Array; readonly signals: number } {
  const n = eigenvalues.length;
  const computeMeanBelow = (count: number): number =>
    Math.max(
      0,
      eigenvalues.subarray(0, count).reduce((sum, value) => sum + value, 0),
    ) / count;
  const spread = (1 + Math.sqrt(n / observations)) ** 2;
  let noise = n;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const edge = computeMeanBelow(noise) * spread; // the edge is above the mean, so at least one eigenvalue is below it
    const countBelow = eigenvalues.findLastIndex((value, k) => k < noise && value <= edge) + 1;
    if (countBelow === noise) break;
    noise = countBelow;
  }
  return { values: eigenvalues.slice().fill(computeMeanBelow(noise), 0, noise), signals: n - noise };
}

/** Engine operations for counting joint moves. */
type CountingEngine = Pick<Engine, 'symmetricRankK' | 'allocate' | 'scope'>;

/**
 * Computes the Gerber statistic of each pair of securities. It counts the observations in which both securities move
 * beyond a threshold in the same direction, and subtracts those in which they move in opposite directions. It divides
 * the difference by the number of observations in which at least one security moves beyond the threshold.
 * @param engine      Engine that multiplies counts.
 * @param panel       [observations x assets] row-major returns.
 * @param deviations  Standard deviations, [assets].
 * @param threshold   Minimum size of a move in standard deviations, at least 0.
 * @param out         [assets x assets] row-major, overwritten; symmetric, 1 on the diagonal. Not always positive
 *                    semi-definite.
 * @throws            KernelFault on a shape mismatch.
 * @cost              Two products of observations * assets^2 / 2; scratch of two panels and a matrix.
 * @source            Gerber, Markowitz, Ernst, Miao, Javid & Sargen (2022), The Gerber statistic: a robust co-movement
 *                    measure for portfolio optimization, J. Portfolio Management 48(3), 87-102, equation 10.
 */
function estimateGerber(
  engine: CountingEngine,
  panel: Float64Array,
  { deviations, threshold }: { readonly deviations: Float64Array; readonly threshold: number },
  out: Float64Array,
): void {
  const n = deviations.length;
  const observations = panel.length / n;
  assert(Number.isInteger(observations), `panel: ${panel.length} values over ${n} assets`);
  assert(out.length === n * n, `out: ${out.length} values for ${n} assets`);
  engine.scope(() => {
    const moves = engine.allocate(panel.length);
    const isStill = engine.allocate(panel.length);
    for (let k = 0; k < panel.length; k++) {
      const bound = threshold * deviations[k % n]!;
      moves[k] = panel[k]! >= bound ? Number(panel[k]! > 0 || bound > 0) : panel[k]! <= -bound ? -1 : 0;
      if (deviations[k % n] === 0) moves[k] = 0;
      isStill[k] = moves[k] === 0 ? 1 : 0;
    }
    const stillProducts = engine.allocate(n * n);
    engine.symmetricRankK(moves, n, out);
    engine.symmetricRankK(isStill, n, stillProducts);
    for (let k = 0; k < out.length; k++) {
      const movingCount = observations - stillProducts[k]!;
      out[k] = movingCount === 0 ? 0 : out[k]! / movingCount;
    }
  });
  for (let i = 0; i < n; i++) out[i * n + i] = 1;
}

/** Engine operations for products of a panel with its shifted copy. */
type ShiftingEngine = Pick<Engine, 'symmetricRankK' | 'gemm' | 'allocate' | 'scope'>;

/**
 * Computes a Newey-West covariance, which includes autocovariances with weight 1 - k / (lags + 1) for lag k: the
 * covariance, per observation, of a sum over many observations.
 *
 * @param engine  Engine that multiplies.
 * @param panel   [observations x assets] row-major deviations, each row multiplied by the square root of its weight. A
 *                pair of rows thus has the geometric mean of their weights, which keeps the result positive
 *                semi-definite.
 * @param assets  Number of columns of the panel.
 * @param lags    Number of lags, a whole number below the number of observations; 0 gives the plain covariance.
 * @param out     [assets x assets] row-major, overwritten; exactly symmetric.
 * @throws        KernelFault on a shape mismatch or too many lags.
 * @cost          (1/2 + lags) * observations * assets^2 multiply-adds; scratch of a matrix.
 * @source        Newey & West (1987), Econometrica 55(3), 703-708; weighted observations as in Menchero, Orr & Wang
 *                (2011), The Barra US Equity Model (USE4), section 4.1.
 */
function estimateNeweyWest(
  engine: ShiftingEngine,
  panel: Float64Array,
  { assets: n, lags }: { readonly assets: number; readonly lags: number },
  out: Float64Array,
): void {
  const observations = panel.length / n;
  assert(Number.isInteger(observations), `panel: ${panel.length} values over ${n} assets`);
  assert(Number.isInteger(lags) && lags >= 0 && lags < observations, `lags: ${lags} of ${observations} observations`);
  engine.symmetricRankK(panel, n, out);
  engine.scope(() => {
    const shiftedProducts = engine.allocate(n * n);
    for (let lag = 1; lag <= lags; lag++) {
      const inner = observations - lag;
      const laterRows = panel.subarray(lag * n);
      const earlierRows = panel.subarray(0, inner * n);
      engine.gemm({ rows: n, inner, columns: n, transposeA: true }, laterRows, earlierRows, shiftedProducts);
      const weight = 1 - lag / (lags + 1);
      for (let i = 0; i < n; i++)
        for (let j = i; j < n; j++) {
          const value = out[i * n + j]! + weight * (shiftedProducts[i * n + j]! + shiftedProducts[j * n + i]!);
          out[i * n + j] = value;
          out[j * n + i] = value;
        }
    }
  });
}

const ROOT_5 = Math.sqrt(5);
/**
 * Value of sqrt(5) / |x| below which a series in sqrt(5) / x replaces the closed form, and its number of terms: the
 * remainder is below the last digit of a double.
 */
const SERIES_BELOW = 0.5;
const SERIES_TERMS = 26;
/** Ratio to the largest eigenvalue below which an eigenvalue is 0 to working precision. */
const SINGULAR_RATIO = 1e-14;

/**
 * Shrinks each sample eigenvalue individually by the analytical nonlinear formula.
 *
 * @param eigenvalues   Eigenvalues of the sample covariance, [assets], ascending; at most `observations` are above 0.
 * @param observations  Effective number of observations: the sample size less 1 for the mean.
 * @returns             Shrunk eigenvalues, [assets], not negative, in the order of the input.
 * @throws              KernelFault for fewer than two observations.
 * @cost                assets^2 logarithms.
 * @source              Ledoit & Wolf (2020), Analytical nonlinear shrinkage of large-dimensional covariance matrices,
 *   Annals of Statistics 48(5), 3043-3065, equations 4.3, 4.7 to 4.9, C.4, C.5 and C.8.
 */
export function shrinkEigenvalues(eigenvalues: Float64Array, observations: number): Float64Array {
  assert(observations >= 2, `observations: ${observations}, at least 2 needed`);
  const p = eigenvalues.length;
  const n = observations;
  const valueMin = SINGULAR_RATIO * Math.max(eigenvalues[p - 1]!, 0);
  if (valueMin === 0) return new Float64Array(p);
  const nulls = Math.max(0, p - n);
  const lambda = eigenvalues.subarray(nulls).map((value) => Math.max(value, valueMin));
  const width = 1 / computeCubeRoot(n);
  const shrunkValues = new Float64Array(p);
  lambda.forEach((value, i) => {
    const { density, transform } = estimateDensity(lambda, value, width);
    const realPart = Math.PI * value * density;
    const imaginaryPart = Math.PI * value * transform;
    const c = p / n;
    shrunkValues[nulls + i] =
      nulls === 0
        ? value / ((c * realPart) ** 2 + (1 - c - c * imaginaryPart) ** 2)
        : value / (realPart ** 2 + imaginaryPart ** 2);
  });
  if (nulls > 0) shrunkValues.fill(computeNullValue(lambda, { width, nulls, observations: n }), 0, nulls);
  return shrunkValues;
}

/** Returns kernel estimates of the density of the eigenvalues and of its Hilbert transform at one eigenvalue. */
function estimateDensity(lambda: Float64Array, value: number, width: number) {
  let density = 0;
  let transform = 0;
  for (let j = 0; j < lambda.length; j++) {
    const h = width * lambda[j]!;
    const x = (value - lambda[j]!) / h;
    const inside = 1 - (x * x) / 5;
    density += Math.max(inside, 0) / h;
    transform += computeHilbertTransform(x) / h;
  }
  const scale = 3 / (4 * ROOT_5 * lambda.length);
  return { density: scale * density, transform: (scale / Math.PI) * transform };
}

/**
 * Computes -0.4 sqrt(5) x + (1 - x^2 / 5) ln |(sqrt(5) - x) / (sqrt(5) + x)|; uses a series for large x, where the two
 * terms cancel.
 */
function computeHilbertTransform(x: number): number {
  const u = ROOT_5 / x;
  if (Math.abs(u) < SERIES_BELOW) {
    let total = 0;
    for (let k = 2 * SERIES_TERMS - 1; k > 0; k -= 2) total = total * u * u + 2 / (k * (k + 2));
    return -2 * u * total;
  }
  const edge = Math.abs((ROOT_5 - x) / (ROOT_5 + x));
  return -0.4 * ROOT_5 * x + (edge === 0 || edge === Infinity ? 0 : (1 - (x * x) / 5) * computeNaturalLog(edge));
}

interface NullTerms {
  readonly width: number;
  readonly nulls: number;
  readonly observations: number;
}

/** Computes the shrunk value of the null eigenvalues of a sample with fewer observations than securities. */
function computeNullValue(lambda: Float64Array, { width: h, nulls, observations }: NullTerms): number {
  const inverse = lambda.reduce((sum, value) => sum + 1 / value, 0) / lambda.length;
  const log = computeNaturalLog((1 + ROOT_5 * h) / Math.abs(1 - ROOT_5 * h));
  const transform = (inverse / Math.PI) * (3 / (10 * h * h) + (3 / (4 * ROOT_5 * h)) * (1 - 1 / (5 * h * h)) * log);
  return observations / (Math.PI * nulls * transform);
}

/**
 * Computes a cube root by Newton's steps in basic operations, because the last bits of `Math.cbrt` differ between
 * JavaScript engines.
 */
function computeCubeRoot(x: number): number {
  let root = x;
  for (let next = (2 * root + x / (root * root)) / 3; next < root; next = (2 * root + x / (root * root)) / 3)
    root = next;
  return root;
}

/** Names of the estimators without a shrinkage target. */
export const STRUCTURED_ESTIMATORS = ['nonlinear', 'gerber', 'denoised', 'newey_west'] as const;
export type StructuredEstimator = (typeof STRUCTURED_ESTIMATORS)[number];

export interface StructuredRequest {
  readonly estimator: StructuredEstimator;
  /** Threshold of a joint move in standard deviations, used by `gerber`. */
  readonly threshold: number;
  /** Number of lags, used by `newey_west`. */
  readonly lags: number;
  /**
   * Number of samples drawn to adjust the eigenvalues for their bias, used by `newey_west`; no adjustment if absent.
   */
  readonly simulations?: number | undefined;
  /** Weights of the observations, [observations], summing to 1, used by `newey_west`; equal if absent. */
  readonly weights?: Float64Array;
  /** Scale of the covariance: the number of periods per year. */
  readonly scale: number;
}

/**
 * Estimates a covariance by an estimator without a shrinkage target.
 *
 * @param engine   Engine that computes.
 * @param panel    [observations x assets] row-major returns, finite; overwritten.
 * @param assets   Columns of `panel`, at least 1.
 * @param request  The estimator and its settings.
 * @param out      [assets x assets] row-major, overwritten; symmetric.
 * @throws         KernelFault on a shape mismatch; Error if the panel is not finite.
 * @cost           observations * assets^2 / 2 per product; eigenpairs for `nonlinear` and `denoised`.
 * @source         See the estimators.
 */
export function estimateStructuredCovariance(
  engine: Engine,
  panel: Float64Array,
  assets: number,
  { estimator, threshold, lags, simulations, weights, scale }: StructuredRequest,
  out: Float64Array,
): void {
  const returns = estimator === 'gerber' ? panel.slice() : panel;
  const decayWeights = estimator === 'newey_west' ? weights : undefined;
  const { rowFactors } = demean(panel, assets, decayWeights, new Float64Array(assets), engine);
  if (estimator === 'newey_west') estimateNeweyWest(engine, panel, { assets, lags }, out);
  else engine.symmetricRankK(panel, assets, out);
  const deviations = Float64Array.from({ length: assets }, (_, i) => Math.sqrt(Math.max(0, out[i * (assets + 1)]!)));
  if (estimator === 'nonlinear')
    replaceEigenvalues(engine, out, assets, (values) => shrinkEigenvalues(values, rowFactors.length - 1));
  if (estimator === 'denoised') {
    scaleBy(out, deviations, (a, b) => (a * b > 0 ? 1 / (a * b) : 0));
    for (let i = 0; i < assets; i++) out[i * (assets + 1)] = 1;
    replaceEigenvalues(engine, out, assets, (values) => denoise(values, rowFactors.length).values);
    const unit = Float64Array.from(deviations, (_, i) => Math.sqrt(out[i * (assets + 1)]!));
    scaleBy(out, deviations, (a, b, i, j) => (a * b) / (unit[i]! * unit[j]!));
  }
  if (estimator === 'gerber') {
    estimateGerber(engine, returns, { deviations, threshold }, out);
    scaleBy(out, deviations, (a, b) => a * b);
  }
  if (estimator === 'newey_west' && simulations !== undefined) {
    const observations = decayWeights === undefined ? rowFactors.length : countEffectiveObservations(decayWeights);
    adjustEigenvalues(engine, out, assets, { observations, simulations });
  }
  for (let k = 0; k < out.length; k++) out[k]! *= scale;
}

function scaleBy(
  matrix: Float64Array,
  deviations: Float64Array,
  factor: (a: number, b: number, i: number, j: number) => number,
): void {
  const n = deviations.length;
  for (let i = 0; i < n; i++)
    for (let j = i; j < n; j++) {
      const value = matrix[i * n + j]! * factor(deviations[i]!, deviations[j]!, i, j);
      matrix[i * n + j] = value;
      matrix[j * n + i] = value;
    }
}
