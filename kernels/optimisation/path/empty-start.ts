import { createColdState, LOWER, type ActiveState } from '../active-set/active-state.js';
import { computeSlope } from '../active-set/equality-gradient.js';
import { computeMetricDiagonal } from '../program/metric.js';
import type { Program, Rows } from '../program/program.js';
import { computeSmoothGradient } from '../program/smooth-gradient.js';
import type { PathStart } from './follow-path.js';

/**
 * Margin between the starting point and the point at which the best security enters. It is a fraction of the largest
 * difference of gradients.
 */
const START_MARGIN = 1e-3;

/**
 * Weight of a single security at the steepest gradient. Above this weight, the optimum holds few securities, and block
 * pivoting converges slowly.
 */
const STEEP_WEIGHT = 0.3;

/**
 * Returns true if a strong linear term makes the optimum hold few variables. A start without variables is then closer
 * to the optimum than a start with all variables.
 */
export function isSteep({ n, metric, curvature, ridge, linear }: Program): boolean {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of linear) {
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  const variances = metric === null || curvature === 0 ? undefined : computeMetricDiagonal(metric);
  const meanCurvature = ridge + (curvature * (variances?.reduce((sum, value) => sum + value, 0) ?? 0)) / Math.max(n, 1);
  return meanCurvature > 0 && most - least > STEEP_WEIGHT * meanCurvature;
}

/**
 * Returns the point with every variable at its lower bound, as the optimum of a modified program. The equalities of
 * that program have their values at this point, the bounds of its other rows are extended to these values, and a charge
 * on all weights keeps the best variable at its bound. On the path to the original program, variables enter one by one.
 * @returns  Undefined if a variable has no lower bound, or the program has a limit on kinks or a norm.
 * @source   Ferreau, Bock & Diehl (2008), Int. J. Robust Nonlinear Control 18(8), section on the cold start.
 */
export function startEmpty(program: Program): PathStart | undefined {
  const { n, lower, upper, rows, kinks, norms } = program;
  if (norms.length > 0 || kinks.some(({ limit }) => limit !== null) || !lower.every(Number.isFinite)) return undefined;
  const x = lower.slice();
  const state = createColdState(program);
  state.names.fill(LOWER);
  kinks.forEach(({ at }, k) => {
    for (let i = 0; i < n; i++) state.sides[k * n + i] = x[i]! < at[i]! ? -1 : 1;
  });
  const charge = computeCharge(computeGradientAt(program, state, x), lower, upper);
  const startProgram: Program = {
    ...program,
    linear: program.linear.map((value) => value + charge),
    rows: extendRows(rows, x),
  };
  const point = {
    x,
    rowMultipliers: new Float64Array(rows.count),
    kinkMultipliers: new Float64Array(kinks.length).fill(1),
    normMultipliers: new Float64Array(0),
  };
  return { program: startProgram, point, state };
}

/**
 * Returns the smallest charge on all weights at which the empty point is optimal, plus a small margin; 0 if no charge
 * is needed.
 */
function computeCharge(gradient: Float64Array, lower: Float64Array, upper: Float64Array): number {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let i = 0; i < gradient.length; i++) {
    if (lower[i] === upper[i]) continue;
    least = Math.min(least, gradient[i]!);
    most = Math.max(most, gradient[i]!);
  }
  return least > 0 || most < least ? 0 : START_MARGIN * (most - least) - least;
}

function computeGradientAt(program: Program, state: ActiveState, x: Float64Array): Float64Array {
  const gradient = computeSmoothGradient(program, x);
  for (let i = 0; i < program.n; i++)
    for (let k = 0; k < program.kinks.length; k++) gradient[i]! += computeSlope(program, state, k, i);
  return gradient;
}

/** Returns the rows with bounds extended to their values at x. */
function extendRows(rows: Rows, x: Float64Array): Rows {
  const [lower, upper] = [rows.lower.slice(), rows.upper.slice()];
  for (let r = 0; r < rows.count; r++) {
    let value = 0;
    for (let i = 0; i < x.length; i++) value += rows.coefficients[r * x.length + i]! * x[i]!;
    if (lower[r] === upper[r]) lower[r] = upper[r] = value;
    else {
      lower[r] = Math.min(lower[r]!, value);
      upper[r] = Math.max(upper[r]!, value);
    }
  }
  return { ...rows, lower, upper };
}
