import type { Program } from '../program/program.js';

/** Factor that splits a double into two halves of 26 bits. */
const SPLIT_FACTOR = 2 ** 27 + 1;

/**
 * Sum of doubles and products of doubles to about 106 bits: a second double holds the rounding error of the first.
 *
 * @cost    7 operations per term, 24 per product.
 * @source  Dekker (1971), A floating-point technique for extending the available precision, Numerische Mathematik 18.
 */
export class ExactSum {
  private high = 0;
  private low = 0;

  reset(): this {
    this.high = 0;
    this.low = 0;
    return this;
  }

  add(term: number): this {
    const total = this.high + term;
    const part = total - this.high;
    this.low += this.high - (total - part) + (term - part);
    this.high = total;
    return this;
  }

  addProduct(a: number, b: number): this {
    const product = a * b;
    const aBig = SPLIT_FACTOR * a;
    const aHigh = aBig - (aBig - a);
    const aLow = a - aHigh;
    const bBig = SPLIT_FACTOR * b;
    const bHigh = bBig - (bBig - b);
    const bLow = b - bHigh;
    this.low += aLow * bLow - (product - aHigh * bHigh - aLow * bHigh - aHigh * bLow);
    return this.add(product);
  }

  /** Adds a multiple of another sum. */
  addMultiple(factor: number, { high, low }: ExactSum): this {
    return this.addProduct(factor, high).addProduct(factor, low);
  }

  /** Returns the sum rounded to a double. */
  value(): number {
    return this.high + this.low;
  }
}

/**
 * Point with a multiplier for each variable's bounds: positive if the upper bound binds, negative if the lower bound
 * binds.
 */
export interface CertifiedPoint {
  /** [n] */
  readonly x: Float64Array;
  /** [m] */
  readonly rowMultipliers: Float64Array;
  /** [n] */
  readonly boundMultipliers: Float64Array;
}

/** Absolute residuals of the optimality conditions, in the units of the program. */
export interface ExactResiduals {
  /** Largest violation of a bound or row. */
  readonly primal: number;
  /** Largest entry of the gradient of the Lagrangian, in magnitude. */
  readonly dual: number;
  /** Objective less the dual objective; negative only if there are violations or a nonzero gradient. */
  readonly gap: number;
}

/** Adds entry i of the gradient of the objective to a sum. */
function addSlope({ n, metric, curvature, ridge, centre, linear }: Program, x: Float64Array, i: number, sum: ExactSum) {
  if (metric?.form === 'dense' && curvature !== 0) {
    const curvedSum = new ExactSum();
    for (let j = 0, e = i * n; j < n; j++, e++) {
      const entry = metric.matrix[e]!;
      if (entry === 0) continue;
      if (x[j] !== 0) curvedSum.addProduct(entry, x[j]!);
      if (centre[j] !== 0) curvedSum.addProduct(-entry, centre[j]!);
    }
    sum.addMultiple(curvature, curvedSum);
  }
  if (ridge !== 0) sum.addProduct(ridge, x[i]!).addProduct(-ridge, centre[i]!);
  sum.add(linear[i]!);
}

/**
 * Computes the gradient of the Lagrangian, [n], in double-double arithmetic, rounded once.
 *
 * @cost  26 n^2, and 26 per nonzero entry of the rows.
 */
export function computeExactGradient(
  program: Program,
  { x, rowMultipliers, boundMultipliers }: CertifiedPoint,
): Float64Array {
  const { n, rows } = program;
  const sums = Array.from({ length: n }, () => new ExactSum());
  for (let i = 0; i < n; i++) {
    addSlope(program, x, i, sums[i]!);
    sums[i]!.add(boundMultipliers[i]!);
  }
  for (let r = 0; r < rows.count; r++) {
    const multiplier = rowMultipliers[r]!;
    if (multiplier === 0) continue;
    for (let i = 0, e = r * n; i < n; i++, e++) {
      const entry = rows.coefficients[e]!;
      if (entry !== 0) sums[i]!.addProduct(entry, multiplier);
    }
  }
  return Float64Array.from(sums, (sum) => sum.value());
}

/** Returns the value of a row less a number, rounded once. */
export function computeExactRow({ n, rows }: Program, x: Float64Array, r: number, less: number): number {
  const sum = new ExactSum().add(-less);
  for (let i = 0, e = r * n; i < n; i++, e++) {
    const entry = rows.coefficients[e]!;
    if (entry !== 0) sum.addProduct(entry, x[i]!);
  }
  return sum.value();
}

/** Returns x'gradient of the objective plus the sum of the multipliers times their bounds. */
export function computeExactGap(program: Program, { x, rowMultipliers, boundMultipliers }: CertifiedPoint): number {
  const { n, lower, upper, rows } = program;
  const gap = new ExactSum();
  const slope = new ExactSum();
  for (let i = 0; i < n; i++) {
    if (x[i] !== 0) {
      addSlope(program, x, i, slope.reset());
      gap.addMultiple(x[i]!, slope);
    }
    const z = boundMultipliers[i]!;
    if (z !== 0) gap.addProduct(z, z > 0 ? upper[i]! : lower[i]!);
  }
  for (let r = 0; r < rows.count; r++) {
    const y = rowMultipliers[r]!;
    if (y !== 0) gap.addProduct(y, y > 0 ? rows.upper[r]! : rows.lower[r]!);
  }
  return gap.value();
}

/**
 * Computes the residuals of a point of a program without kinks, norms, loadings and penalties. Nonzero multipliers must
 * belong to finite bounds.
 *
 * @cost    Twice the cost of `computeExactGradient`.
 * @source  Boyd & Vandenberghe (2004), Convex Optimization, section 5.5.
 */
export function computeExactResiduals(program: Program, point: CertifiedPoint): ExactResiduals {
  const { n, lower, upper, rows } = program;
  const { x } = point;
  let primal = 0;
  for (let i = 0; i < n; i++) primal = Math.max(primal, lower[i]! - x[i]!, x[i]! - upper[i]!);
  for (let r = 0; r < rows.count; r++) {
    const [least, most] = [rows.lower[r]!, rows.upper[r]!];
    if (Number.isFinite(least)) primal = Math.max(primal, -computeExactRow(program, x, r, least));
    if (Number.isFinite(most)) primal = Math.max(primal, computeExactRow(program, x, r, most));
  }
  let dual = 0;
  for (const entry of computeExactGradient(program, point)) dual = Math.max(dual, Math.abs(entry));
  return { primal, dual, gap: computeExactGap(program, point) };
}
