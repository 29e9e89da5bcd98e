import { assert } from '../../assert.js';
import { computeNaturalLog } from '../../random/natural-log.js';

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
