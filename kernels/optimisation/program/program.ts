import { assert } from '../../assert.js';
import { addMetrics, computeMetricDiagonal, type Metric, multiplyMetric } from './metric.js';

/**
 * Convex program over x, [n], the form that all solvers of this folder accept:
 *
 * minimise    curvature/2 (x - centre)' P (x - centre) + ridge/2 |x - centre|^2 + linear'x + penalties
 *   subject to  lower <= x <= upper
 *               rows.lower <= rows.coefficients x <= rows.upper
 *               sum_i max(left_i (x_i - at_i), right_i (x_i - at_i)) <= limit      for every kink with a limit
 *               root of (x - centre)' M (x - centre) <= radius                     for every norm, M = P, I or its own
 *
 * Bounds may be infinite. A finite penalty makes a row soft: it may be violated at that price per unit.
 */
export interface Program {
  readonly n: number;
  /** P, positive semi-definite; null if no term uses it. */
  readonly metric: Metric | null;
  readonly curvature: number;
  readonly ridge: number;
  /** [n] */
  readonly centre: Float64Array;
  /** [n] */
  readonly linear: Float64Array;
  /** [n] */
  readonly lower: Float64Array;
  /** [n] */
  readonly upper: Float64Array;
  readonly rows: Rows;
  readonly kinks: readonly Kink[];
  readonly norms: readonly Norm[];
}

export interface Rows {
  /** m */
  readonly count: number;
  /** Coefficients, [m x n] row-major. */
  readonly coefficients: Float64Array;
  /** Lower bounds, [m], equal to `upper` for an equality. */
  readonly lower: Float64Array;
  /** [m] */
  readonly upper: Float64Array;
  /** Penalty per unit of violation, [m]. Infinity for a row that must hold. */
  readonly penalty: Float64Array;
}

/**
 * Sum of convex piecewise linear functions of single variables with one kink each. A turnover limit has slopes -1 and 1
 * around the old weights; the cost of violations of a bound has slopes 0 and its penalty.
 */
export interface Kink {
  /** [n] */
  readonly at: Float64Array;
  /** Slope below `at`, [n]; equal to `right` if the variable is not part of the kink. */
  readonly left: Float64Array;
  /** Slope above `at`, [n]. */
  readonly right: Float64Array;
  /** Upper limit of the sum; null adds the sum to the objective instead. */
  readonly limit: number | null;
  readonly penalty: number;
}

export interface Norm {
  /** Metric M: P, the identity or a separate metric. */
  readonly metric: 'metric' | 'identity' | Metric;
  /** [n] */
  readonly centre: Float64Array;
  readonly radius: number;
}

/** Point with its multipliers; the Lagrangian adds multiplier times (left-hand side - bound). */
export interface Point {
  /** [n] */
  readonly x: Float64Array;
  /** Multipliers of the rows, [m], positive if an upper bound binds, negative if a lower bound binds. */
  readonly rowMultipliers: Float64Array;
  /** Multipliers of the kink limits, [kinks], at least 0; 1 for a kink without a limit. */
  readonly kinkMultipliers: Float64Array;
  /** Multipliers of (|x - c|^2 - radius^2) / 2, [norms], at least 0. */
  readonly normMultipliers: Float64Array;
}

export const NO_ROWS: Rows = {
  count: 0,
  coefficients: new Float64Array(0),
  lower: new Float64Array(0),
  upper: new Float64Array(0),
  penalty: new Float64Array(0),
};

/**
 * Checks the arguments of every solver.
 *
 * @throws  KernelFault on a shape mismatch.
 * @cost    One comparison per array.
 * @source  Boyd & Vandenberghe (2004), Convex Optimization, section 4.4: quadratic and quadratically constrained
 *          programs.
 */
export function assertProgram(program: Program): void {
  const { n, metric, rows, kinks, norms } = program;
  assert(metric === null || metric.n === n, `metric: order ${metric?.n} for ${n} names`);
  for (const name of ['centre', 'linear', 'lower', 'upper'] as const) {
    assert(program[name].length === n, `${name}: ${program[name].length} values for ${n} names`);
  }
  assert(
    rows.coefficients.length === rows.count * n,
    `rows: ${rows.coefficients.length} coefficients for ${rows.count} x ${n}`,
  );
  for (const name of ['lower', 'upper', 'penalty'] as const) {
    assert(rows[name].length === rows.count, `rows.${name}: ${rows[name].length} values for ${rows.count} rows`);
  }
  for (const kink of kinks) {
    for (const name of ['at', 'left', 'right'] as const)
      assert(kink[name].length === n, `kink.${name}: ${kink[name].length} values for ${n} names`);
  }
  for (const norm of norms) {
    assert(norm.centre.length === n, `norm.centre: ${norm.centre.length} values for ${n} names`);
    assert(norm.metric !== 'metric' || metric !== null, 'norm: the program has no metric');
    if (typeof norm.metric !== 'string')
      assert(norm.metric.n === n, `norm.metric: order ${norm.metric.n} for ${n} names`);
  }
}

/** Returns the value of the sum of a kink. @cost n */
export function sumKinks({ at, left, right }: Kink, x: Float64Array): number {
  let total = 0;
  for (let i = 0; i < x.length; i++) {
    const step = x[i]! - at[i]!;
    total += (step > 0 ? right[i]! : left[i]!) * step;
  }
  return total;
}

/** Returns true if a row has no finite bound. */
export function isUnbounded({ lower, upper }: Rows, r: number): boolean {
  return lower[r] === Number.NEGATIVE_INFINITY && upper[r] === Number.POSITIVE_INFINITY;
}

/**
 * Returns true if every feasible point is optimal. The true multipliers are then zero, and an interior-point method
 * returns only rounding errors.
 */
export function isIndifferent({ curvature, ridge, linear, kinks }: Program): boolean {
  return (
    curvature === 0 && ridge === 0 && kinks.every(({ limit }) => limit !== null) && linear.every((value) => value === 0)
  );
}

/**
 * Returns M offset for the metric M of a norm. For the identity, this is `offset` itself; otherwise it is computed in
 * `product`.
 * @param offset [n]
 * @param product [n], scratch
 * @cost one pass over the metric
 */
export function computeNormForce(
  { metric: ownMetric }: Pick<Program, 'metric'>,
  { metric: kind }: Norm,
  offset: Float64Array,
  product: Float64Array,
): Float64Array {
  if (kind === 'identity') return offset;
  multiplyMetric(kind === 'metric' ? ownMetric! : kind, offset, product);
  return product;
}

/** Computes the distance of x from the centre of a norm, in its metric. @param x [n] @cost one pass over the metric */
export function computeNormLength(program: Program, norm: Norm, x: Float64Array): number {
  const offset = x.map((value, i) => value - norm.centre[i]!);
  const force = computeNormForce(program, norm, offset, new Float64Array(program.n));
  let square = 0;
  for (let i = 0; i < program.n; i++) square += offset[i]! * force[i]!;
  return Math.sqrt(Math.max(square, 0));
}

/** Curvature of the Lagrangian, scale P + ridge I. */
export interface LagrangianCurvature {
  readonly metric: Metric | null;
  readonly scale: number;
  readonly ridge: number;
}

/**
 * Returns the curvature of the Lagrangian. It is the curvature of the objective plus the metric of each norm times its
 * multiplier.
 * @param quadratic      Curvature of the objective.
 * @param weights  Weights of the metrics of the norms, [norms], at least 0.
 * @cost           None, or n^2 for a norm with a separate metric and a nonzero weight.
 * @source         Boyd & Vandenberghe (2004), Convex Optimization, section 5.5.3: norms as squares over two.
 */
export function createLagrangianCurvature(
  { metric, norms }: Program,
  quadratic: Pick<LagrangianCurvature, 'scale' | 'ridge'>,
  weights: ArrayLike<number>,
): LagrangianCurvature {
  let { scale, ridge } = quadratic;
  const parts: { metric: Metric; weight: number }[] = [];
  norms.forEach(({ metric: kind }, q) => {
    const weight = weights[q]!;
    if (kind === 'metric') scale += weight;
    else if (kind === 'identity') ridge += weight;
    else if (weight !== 0) parts.push({ metric: kind, weight });
  });
  if (parts.length === 0) return { metric, scale, ridge };
  if (metric !== null && scale !== 0) parts.unshift({ metric, weight: scale });
  return { metric: addMetrics(parts), scale: 1, ridge };
}

export function computeMeanSquare({ metric: ownMetric, n }: Program, { metric: kind }: Norm): number {
  if (kind === 'identity') return 1;
  return (
    computeMetricDiagonal(kind === 'metric' ? ownMetric! : kind).reduce((sum, value) => sum + value, 0) / Math.max(n, 1)
  );
}

export interface RowRange {
  readonly matrix: Float64Array;
  readonly width: number;
  /** First row, and one past the last row. */
  readonly from: number;
  readonly to: number;
}

/**
 * Computes out[r] = row r'x, summed in the order of the columns. Four rows are processed at a time, so that the
 * processor does not wait for each addition.
 */
export function computeRowValues({ matrix, width, from, to }: RowRange, x: Float64Array, out: Float64Array): void {
  let r = from;
  for (; r + 3 < to; r += 4) {
    let position = r * width;
    let [a, b, c, d] = [0, 0, 0, 0];
    for (let i = 0; i < width; i++, position++) {
      const value = x[i]!;
      a += matrix[position]! * value;
      b += matrix[position + width]! * value;
      c += matrix[position + 2 * width]! * value;
      d += matrix[position + 3 * width]! * value;
    }
    out[r] = a;
    out[r + 1] = b;
    out[r + 2] = c;
    out[r + 3] = d;
  }
  for (; r < to; r++) {
    let total = 0;
    for (let i = 0, position = r * width; i < width; i++, position++) total += matrix[position]! * x[i]!;
    out[r] = total;
  }
}

/** Computes out += sum of weights[r] row r, summed in the order of the rows; four rows per pass over `out`. */
export function addRows({ matrix, width, from, to }: RowRange, weights: Float64Array, out: Float64Array): void {
  let r = from;
  for (; r + 3 < to; r += 4) {
    const [a, b, c, d] = [weights[r]!, weights[r + 1]!, weights[r + 2]!, weights[r + 3]!];
    if (a === 0 && b === 0 && c === 0 && d === 0) continue;
    for (let i = 0, position = r * width; i < width; i++, position++)
      out[i] =
        out[i]! +
        a * matrix[position]! +
        b * matrix[position + width]! +
        c * matrix[position + 2 * width]! +
        d * matrix[position + 3 * width]!;
  }
  for (; r < to; r++) {
    const weight = weights[r]!;
    if (weight !== 0)
      for (let i = 0, position = r * width; i < width; i++, position++) out[i]! += weight * matrix[position]!;
  }
}

/** Computes out := (curvature P + ridge I) step, [n]. */
export function multiplyCurvature({ metric, curvature, ridge }: Program, step: Float64Array, out: Float64Array): void {
  if (metric === null || curvature === 0) out.fill(0);
  else multiplyMetric(metric, step, out);
  for (let i = 0; i < step.length; i++) out[i] = curvature * out[i]! + ridge * step[i]!;
}

/** Returns the gradient of the objective without its kinks, [n]. @cost n^2 */
export function computeSmoothGradient(program: Program, x: Float64Array): Float64Array {
  const gradient = new Float64Array(x.length);
  multiplyCurvature(
    program,
    x.map((value, i) => value - program.centre[i]!),
    gradient,
  );
  for (let i = 0; i < x.length; i++) gradient[i]! += program.linear[i]!;
  return gradient;
}
