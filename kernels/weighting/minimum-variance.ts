import { factorCholesky, solveLower, solveLowerTransposed } from '../algebra/linear-systems.js';
import { assert } from '../assert.js';

/** Maximum number of pair steps per asset before the search switches to the exact solve. */
const STEPS_PER_SECURITY = 60;

/** Maximum number of exact solves on an estimated active set before the search refines its estimate. */
const EXACT_SOLVES_MAX = 12;

/**
 * Gradient gaps at which the search switches to the exact solve, relative to the largest gradient. They are tried in
 * order.
 */
const GAP_LIMITS = [1e-3, 1e-5, 1e-7, 1e-9, 1e-11, 1e-13];

/** Tolerance of the optimality conditions, relative to the largest gradient. */
const TOLERANCE = 1e-10;

/**
 * Ridge added to the diagonal of a singular matrix, relative to the mean variance. It selects the most even of the
 * optimal weights.
 */
const RIDGE = 1e-10;

/** Minimum ratio of a pivot to its diagonal entry; below it the matrix counts as singular. */
const PIVOT_MIN = 1e-13;

export interface MinimumVarianceOutcome {
  readonly status: 'solved' | 'iteration-limit';
  /** Number of exact solves on an active set. */
  readonly solves: number;
  /** True if the search failed without a ridge, as for a singular matrix, and a ridge made the solution unique. */
  readonly ridged: boolean;
}

/**
 * Computes the long-only weights of least variance: argmin w'Sw over sum w = 1 and 0 <= w <= upper. A pairwise descent
 * estimates the active bounds. A Cholesky solve on the free securities then gives the exact solution, which is checked
 * against the optimality conditions of all securities.
 * @param covariance [n x n] row-major, symmetric positive semi-definite; any unit.
 * @param upper      Maximum weight, at least 1/n; a smaller value is replaced by 1/n, so that the weights can sum to 1.
 * @param out        [n], overwritten with the weights.
 * @throws           KernelFault on a shape mismatch.
 * @cost             about 50 n steps of 2 n multiply-adds, and a few Cholesky factors of the free securities; scratch of
 *                   their square.
 * @source           Platt (1998), sequential minimal optimisation, with second-order pairs; Nocedal & Wright (2006),
 *                   Numerical Optimization, 2nd ed., 16.5.
 */
export function solveMinimumVarianceWeights(
  covariance: Float64Array,
  upper: number,
  out: Float64Array,
): MinimumVarianceOutcome {
  const n = out.length;
  assert(covariance.length === n * n, `covariance: ${covariance.length} values for ${n} names`);
  assert(n >= 1, 'out: 0 names, at least 1 needed');
  const bound = Math.max(upper, 1 / n);
  out.fill(1 / n);
  const plainResult = search(covariance, bound, out);
  if (plainResult.status === 'solved') return { ...plainResult, ridged: false };
  const ridgedCovariance = covariance.slice();
  let trace = 0;
  for (let i = 0; i < n; i++) trace += covariance[i * n + i]!;
  for (let i = 0; i < n; i++) ridgedCovariance[i * n + i]! += Math.max(RIDGE * (trace / n), Number.MIN_VALUE);
  out.fill(1 / n);
  const ridgedSolution = search(ridgedCovariance, bound, out);
  return { status: ridgedSolution.status, solves: plainResult.solves + ridgedSolution.solves, ridged: true };
}

interface SearchOutcome {
  readonly status: 'solved' | 'iteration-limit';
  readonly solves: number;
}

function search(covariance: Float64Array, upper: number, w: Float64Array): SearchOutcome {
  const n = w.length;
  const gradient = new Float64Array(n);
  const exactWeights = new Float64Array(n);
  let solves = 0;
  for (const gap of GAP_LIMITS) {
    descend({ covariance, upper, w, gradient, gap });
    const sides = Int8Array.from(w, (weight) => (weight <= 0 ? LOWER : weight >= upper ? UPPER : FREE));
    for (let k = 0; k < EXACT_SOLVES_MAX; k++) {
      solves++;
      if (!solveOnSides(covariance, sides, upper, exactWeights)) break;
      multiply(covariance, exactWeights, gradient);
      const correctedCount = correctSides({ w: exactWeights, gradient, sides, upper });
      if (correctedCount === 0) {
        w.set(exactWeights.map((weight) => Math.min(upper, Math.max(0, weight))));
        return { status: 'solved', solves };
      }
    }
  }
  return { status: 'iteration-limit', solves };
}

const LOWER = -1;
const FREE = 0;
const UPPER = 1;

interface Descent {
  readonly covariance: Float64Array;
  readonly upper: number;
  readonly w: Float64Array;
  readonly gradient: Float64Array;
  readonly gap: number;
}

/**
 * Moves weight from the held security with the largest gradient to the best partner. Stops when no pair has a larger
 * gradient difference than the gap.
 */
function descend({ covariance, upper, w, gradient, gap }: Descent): void {
  const n = w.length;
  const diagonal = Float64Array.from({ length: n }, (_, i) => covariance[i * n + i]!);
  multiply(covariance, w, gradient);
  for (let step = 0; step < STEPS_PER_SECURITY * n; step++) {
    const from = findSteepest(w, gradient);
    const to = findBestPartner({ covariance, diagonal, upper, w, gradient, from });
    if (to < 0) return;
    const slope = gradient[from]! - computeLeastGradient({ upper, w, gradient });
    if (slope <= gap * Math.abs(gradient[from]!)) return;
    const fromRow = from * n;
    const toRow = to * n;
    const curvature = covariance[fromRow + from]! + covariance[toRow + to]! - 2 * covariance[fromRow + to]!;
    const amountMax = Math.min(w[from]!, upper - w[to]!);
    const exactAmount = curvature > 0 ? (gradient[from]! - gradient[to]!) / curvature : amountMax;
    const amount = Math.min(amountMax, exactAmount);
    w[from] = amount === w[from] ? 0 : w[from]! - amount;
    w[to] = amount === upper - w[to]! ? upper : w[to]! + amount;
    for (let j = 0; j < n; j++) gradient[j]! += amount * (covariance[toRow + j]! - covariance[fromRow + j]!);
  }
}

/** Returns the held security with the largest gradient. */
function findSteepest(w: Float64Array, gradient: Float64Array): number {
  let steepest = -1;
  for (let i = 0; i < w.length; i++)
    if (w[i]! > 0 && (steepest < 0 || gradient[i]! > gradient[steepest]!)) steepest = i;
  return steepest;
}

function computeLeastGradient({ upper, w, gradient }: Pick<Descent, 'upper' | 'w' | 'gradient'>): number {
  let leastGradient = Infinity;
  for (let i = 0; i < w.length; i++) if (w[i]! < upper && gradient[i]! < leastGradient) leastGradient = gradient[i]!;
  return leastGradient;
}

/**
 * Returns the security below its bound whose exact pair step reduces the variance most. Returns -1 if no step reduces
 * it.
 */
function findBestPartner({
  covariance,
  diagonal,
  upper,
  w,
  gradient,
  from,
}: Omit<Descent, 'gap'> & { readonly diagonal: Float64Array; readonly from: number }): number {
  const n = w.length;
  const row = from * n;
  const variance = diagonal[from]!;
  const steepestSlope = gradient[from]!;
  let bestPartner = -1;
  let bestGain = 0;
  for (let j = 0; j < n; j++) {
    const slope = steepestSlope - gradient[j]!;
    if (slope <= 0 || w[j]! >= upper) continue;
    const curvature = variance + diagonal[j]! - 2 * covariance[row + j]!;
    const gain = curvature > 0 ? (slope * slope) / curvature : Infinity;
    if (gain > bestGain) {
      bestPartner = j;
      bestGain = gain;
    }
  }
  return bestPartner;
}

/**
 * Minimises the variance with fixed securities at their bounds: S_FF w_F = lambda 1 - S_FU u, sum w = 1.
 * @returns false if the free block is singular, or no security is free and the weights at bounds do not sum to 1
 */
function solveOnSides(covariance: Float64Array, sides: Int8Array, upper: number, out: Float64Array): boolean {
  const n = sides.length;
  const freeSecurities: number[] = [];
  const cappedSecurities: number[] = [];
  for (let i = 0; i < n; i++) {
    if (sides[i] === FREE) freeSecurities.push(i);
    else if (sides[i] === UPPER) cappedSecurities.push(i);
  }
  const m = freeSecurities.length;
  out.fill(0);
  for (const i of cappedSecurities) out[i] = upper;
  const freeWeight = 1 - cappedSecurities.length * upper;
  if (m === 0) return Math.abs(freeWeight) <= 1e-12;
  const block = new Float64Array(m * m);
  const sides2 = new Float64Array(m * 2); // right-hand sides 1 and S_FU u
  for (let a = 0; a < m; a++) {
    const row = freeSecurities[a]! * n;
    for (let b = 0; b < m; b++) block[a * m + b] = covariance[row + freeSecurities[b]!]!;
    sides2[a * 2] = 1;
    for (const i of cappedSecurities) sides2[a * 2 + 1]! += covariance[row + i]! * upper;
  }
  if (!factor(block, m)) return false;
  solveLower(block, m, sides2);
  solveLowerTransposed(block, m, sides2);
  let unitSum = 0;
  let fixedSum = 0;
  for (let a = 0; a < m; a++) {
    unitSum += sides2[a * 2]!;
    fixedSum += sides2[a * 2 + 1]!;
  }
  const lambda = (freeWeight + fixedSum) / unitSum;
  for (let a = 0; a < m; a++) out[freeSecurities[a]!] = lambda * sides2[a * 2]! - sides2[a * 2 + 1]!;
  return true;
}

function factor(block: Float64Array, m: number): boolean {
  const diagonal = Float64Array.from({ length: m }, (_, i) => block[i * m + i]!);
  if (factorCholesky(block, m) < m) return false;
  for (let i = 0; i < m; i++) if (block[i * m + i]! ** 2 <= PIVOT_MIN * diagonal[i]!) return false;
  return true;
}

interface SolvedWeights {
  readonly w: Float64Array;
  readonly gradient: Float64Array;
  readonly sides: Int8Array;
  readonly upper: number;
}

/**
 * Fixes every free security that is outside its bounds, and releases every fixed security whose gradient violates its
 * optimality condition.
 * @returns the number of changed securities
 */
function correctSides({ w, gradient, sides, upper }: SolvedWeights): number {
  const n = w.length;
  let lambda = 0;
  let freeCount = 0;
  let scale = 0;
  for (let i = 0; i < n; i++) {
    scale = Math.max(scale, Math.abs(gradient[i]!));
    if (sides[i] !== FREE) continue;
    lambda += gradient[i]!;
    freeCount++;
  }
  const slack = TOLERANCE * scale;
  const price = freeCount > 0 ? lambda / freeCount : findPriceBetween({ gradient, sides });
  let movedCount = 0;
  for (let i = 0; i < n; i++) {
    const side = sides[i]!;
    const next =
      side === FREE
        ? w[i]! < -1e-15
          ? LOWER
          : w[i]! > upper + 1e-15
            ? UPPER
            : FREE
        : side === LOWER
          ? gradient[i]! < price - slack
            ? FREE
            : LOWER
          : gradient[i]! > price + slack
            ? FREE
            : UPPER;
    if (next !== side) movedCount++;
    sides[i] = next;
  }
  return movedCount;
}

/**
 * Returns a multiplier between the gradients of the securities at their upper bound and of those at zero. Used if every
 * security is at a bound.
 */
function findPriceBetween({ gradient, sides }: Pick<SolvedWeights, 'gradient' | 'sides'>): number {
  let lowestAbove = Infinity;
  let highestBelow = -Infinity;
  for (let i = 0; i < sides.length; i++) {
    if (sides[i] === LOWER) lowestAbove = Math.min(lowestAbove, gradient[i]!);
    else highestBelow = Math.max(highestBelow, gradient[i]!);
  }
  return lowestAbove === Infinity ? highestBelow : (lowestAbove + highestBelow) / 2;
}

function multiply(a: Float64Array, x: Float64Array, out: Float64Array): void {
  const n = x.length;
  out.fill(0);
  for (let i = 0; i < n; i++) {
    const xi = x[i]!;
    if (xi === 0) continue;
    for (let j = 0, position = i * n; j < n; j++, position++) out[j]! += a[position]! * xi;
  }
}
