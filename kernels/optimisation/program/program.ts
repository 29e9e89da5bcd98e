import { assert } from '../../assert.js';
import type { Metric } from './metric.js';

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
