import { multiplyMetric, computeMetricTrace } from './metric.js';
import { computeNormForce, computeNormLength } from './norms.js';
import { sumKinks, type Point, type Program } from './program.js';

/** Residuals of the Karush-Kuhn-Tucker conditions, computed only from the program and the point. */
export interface KktReport {
  /** Largest violation of a bound, of a norm, or of a row or limit without a penalty, each relative to 1 + |bound|. */
  readonly primal: number;
  /**
   * Largest distance of a gradient entry from a range, relative to `scale`. The entries are those of the gradient of
   * the Lagrangian; the bounds and kinks of the variable can balance any value within the range.
   */
  readonly stationarity: number;
  /**
   * Largest force of a faulty multiplier, relative to `scale`. A multiplier is faulty if it has the wrong sign, exceeds
   * its penalty, belongs to a constraint that does not bind, or is below the penalty of a violated constraint.
   */
  readonly multipliers: number;
  /** Largest single force on a variable, the reference for rounding errors. */
  readonly scale: number;
}

/** Distance, relative to 1 + |bound|, within which a variable counts as at a bound or kink and a row as binding. */
const CONTACT_TOLERANCE = 1e-9;

/**
 * Size of a step below which its forces count as zero. Together with DUAL_MAX, it corresponds to an error of 1e-14 in a
 * weight.
 */
const STEP_MIN = 1e-6;

/** Maximum violation at which a point counts as feasible. */
export const PRIMAL_MAX = 1e-9;
const DUAL_MAX = 1e-8;

/**
 * Checks the Karush-Kuhn-Tucker conditions. For a convex program they are sufficient for a minimum.
 *
 * @cost    n^2 + m n.
 * @source  Boyd & Vandenberghe (2004), Convex Optimization, section 5.5.3.
 */
export function checkKkt(program: Program, point: Point): KktReport {
  const { gradient, scale } = computeLagrangianGradient(program, point);
  return {
    primal: measurePrimalViolation(program, point.x),
    stationarity: measureStationarity(program, point, gradient) / scale,
    multipliers: measureMultiplierFaults(program, point) / scale,
    scale,
  };
}

export function isOptimal({ primal, stationarity, multipliers }: KktReport): boolean {
  return primal <= PRIMAL_MAX && stationarity <= DUAL_MAX && multipliers <= DUAL_MAX;
}

/**
 * Returns the mean force that a unit step exerts on its variable. It is a reference for forces near an unconstrained
 * minimum, where all other forces vanish.
 */
function computeBoundForce({ n, metric, curvature, ridge }: Program): number {
  if (metric === null) return ridge;
  return ridge + (curvature * computeMetricTrace(metric)) / Math.max(n, 1);
}

/** Computes the gradient of all smooth terms, [n], and the largest force contributing to it. */
function computeLagrangianGradient(program: Program, point: Point): { gradient: Float64Array; scale: number } {
  const { n, metric, curvature, ridge, centre, linear, rows, norms } = program;
  const gradient = Float64Array.from(linear);
  let scale = Math.max(STEP_MIN * computeBoundForce(program), Number.MIN_VALUE);
  const add = (multiplier: number, force: Float64Array, from = 0) => {
    if (multiplier !== 0) scale = addForce(gradient, { multiplier, force, from }, scale);
  };
  for (let i = 0; i < n; i++) scale = Math.max(scale, Math.abs(linear[i]!));
  const subtractFrom = (from: Float64Array) => point.x.map((value, i) => value - from[i]!);
  const product = new Float64Array(n);
  const computeForce = (offset: Float64Array) => {
    multiplyMetric(metric!, offset, product);
    return product;
  };
  if (metric !== null && curvature !== 0) add(curvature, computeForce(subtractFrom(centre)));
  add(ridge, subtractFrom(centre));
  for (let r = 0; r < rows.count; r++) add(point.rowMultipliers[r]!, rows.coefficients, r * n);
  norms.forEach((norm, q) => {
    const offset = subtractFrom(norm.centre);
    add(point.normMultipliers[q]!, computeNormForce(program, norm, offset, product));
  });
  return { gradient, scale };
}

interface Force {
  readonly multiplier: number;
  readonly force: Float64Array;
  /** Position of the force on the first variable. */
  readonly from: number;
}

/** Adds a force to a gradient. @returns the largest component so far */
function addForce(gradient: Float64Array, { multiplier, force, from }: Force, before: number): number {
  let scale = before;
  for (let i = 0; i < gradient.length; i++) {
    const term = multiplier * force[from + i]!;
    gradient[i]! += term;
    if (Math.abs(term) > scale) scale = Math.abs(term);
  }
  return scale;
}

/** Returns the largest violation at a point, as `primal` of `checkKkt`. @cost m n */
export function measurePrimalViolation(program: Program, x: Float64Array): number {
  const { n, lower, upper, rows, kinks, norms } = program;
  let largestViolation = 0;
  for (let i = 0; i < n; i++) {
    largestViolation = maximiseViolation(largestViolation, x[i]!, upper[i]!);
    largestViolation = maximiseViolation(largestViolation, -x[i]!, -lower[i]!);
  }
  for (let r = 0; r < rows.count; r++) {
    if (Number.isFinite(rows.penalty[r]!)) continue;
    const value = computeValue(rows.coefficients, r * n, x);
    largestViolation = maximiseViolation(largestViolation, value, rows.upper[r]!);
    largestViolation = maximiseViolation(largestViolation, -value, -rows.lower[r]!);
  }
  for (const kink of kinks)
    if (kink.limit !== null && !Number.isFinite(kink.penalty))
      largestViolation = maximiseViolation(largestViolation, sumKinks(kink, x), kink.limit);
  for (const norm of norms)
    largestViolation = maximiseViolation(largestViolation, computeNormLength(program, norm, x), norm.radius);
  return largestViolation;
}

/**
 * Returns the larger of `worst` and the violation of a bound by a value. Returns infinity if the value is not a number.
 */
function maximiseViolation(worst: number, value: number, bound: number): number {
  if (Number.isNaN(value)) return Number.POSITIVE_INFINITY;
  return Number.isFinite(bound) ? Math.max(worst, (value - bound) / (1 + Math.abs(bound))) : worst;
}

/**
 * Lists the variables that would improve the objective by leaving their bound or kink. If there are none, the optimum
 * among the other variables is the optimum among all variables.
 *
 * @cost  cost of `checkKkt`
 */
export function listPulledVariables(program: Program, point: Point): Int32Array {
  const { gradient, scale } = computeLagrangianGradient(program, point);
  return Int32Array.from(gradient.keys()).filter((i) => measurePull(program, point, gradient, i) > DUAL_MAX * scale);
}

function measureStationarity(program: Program, point: Point, gradient: Float64Array): number {
  let largestResidual = 0;
  for (let i = 0; i < program.n; i++)
    largestResidual = Math.max(largestResidual, measurePull(program, point, gradient, i));
  return largestResidual;
}

/**
 * Returns the part of the gradient of a variable that its bounds and kinks do not balance. It is zero or less if they
 * balance all of it.
 */
function measurePull(
  { lower, upper, kinks }: Program,
  { x, kinkMultipliers }: Point,
  gradient: Float64Array,
  i: number,
) {
  const value = x[i]!;
  let leastSlope = gradient[i]!;
  let mostSlope = gradient[i]!;
  for (let k = 0; k < kinks.length; k++) {
    const { at, left, right } = kinks[k]!;
    const isAtKink = isTouching(Math.abs(value - at[i]!), at[i]!);
    leastSlope += kinkMultipliers[k]! * (value < at[i]! || isAtKink ? left[i]! : right[i]!);
    mostSlope += kinkMultipliers[k]! * (value > at[i]! || isAtKink ? right[i]! : left[i]!);
  }
  if (isTouching(value - lower[i]!, lower[i]!)) leastSlope = Number.NEGATIVE_INFINITY;
  if (isTouching(upper[i]! - value, upper[i]!)) mostSlope = Number.POSITIVE_INFINITY;
  return Math.max(leastSlope, -mostSlope);
}

function isTouching(distance: number, bound: number): boolean {
  return Number.isFinite(bound) && distance <= CONTACT_TOLERANCE * (1 + Math.abs(bound));
}

function measureMultiplierFaults(program: Program, point: Point): number {
  const { n, rows, kinks, norms } = program;
  const { x, rowMultipliers, kinkMultipliers, normMultipliers } = point;
  let largestFault = 0;
  for (let r = 0; r < rows.count; r++) {
    const value = computeValue(rows.coefficients, r * n, x);
    const y = rowMultipliers[r]!;
    const upper = measureSideFault({
      multiplier: Math.max(y, 0),
      excess: value - rows.upper[r]!,
      bound: rows.upper[r]!,
      penalty: rows.penalty[r]!,
    });
    const lower = measureSideFault({
      multiplier: Math.max(-y, 0),
      excess: rows.lower[r]! - value,
      bound: rows.lower[r]!,
      penalty: rows.penalty[r]!,
    });
    largestFault = Math.max(largestFault, Math.max(upper, lower) * findLargest(rows.coefficients, r * n, n));
  }
  kinks.forEach((kink, k) => {
    const multiplier = kinkMultipliers[k]!;
    const strength = Math.max(findLargest(kink.left, 0, n), findLargest(kink.right, 0, n));
    if (kink.limit === null) largestFault = Math.max(largestFault, Math.abs(multiplier - 1) * strength);
    else
      largestFault = Math.max(
        largestFault,
        measureSideFault({
          multiplier,
          excess: sumKinks(kink, x) - kink.limit,
          bound: kink.limit,
          penalty: kink.penalty,
        }) * strength,
      );
  });
  norms.forEach((norm, q) => {
    const { centre, radius } = norm;
    const offset = x.map((value, i) => value - centre[i]!);
    const force = computeNormForce(program, norm, offset, new Float64Array(n));
    const length = Math.sqrt(Math.max(computeValue(force, 0, offset), 0));
    const fault = measureSideFault({
      multiplier: normMultipliers[q]!,
      excess: length - radius,
      bound: radius,
      penalty: Infinity,
    });
    largestFault = Math.max(largestFault, fault * findLargest(force, 0, n));
  });
  return largestFault;
}

interface Side {
  readonly multiplier: number;
  /** Left-hand side less bound. */
  readonly excess: number;
  readonly bound: number;
  readonly penalty: number;
}

/**
 * Returns the error of a multiplier. The error is its magnitude if it is negative or the row is not binding, its excess
 * above the penalty, or its shortfall below the penalty at a violated row.
 */
function measureSideFault({ multiplier, excess, bound, penalty }: Side): number {
  const tolerance = Number.isFinite(bound) ? CONTACT_TOLERANCE * (1 + Math.abs(bound)) : 0;
  let fault = Math.max(-multiplier, multiplier - penalty, 0);
  if (!(excess >= -tolerance)) fault = Math.max(fault, Math.abs(multiplier));
  if (excess > tolerance && Number.isFinite(penalty)) fault = Math.max(fault, penalty - multiplier);
  return fault;
}

function computeValue(coefficients: Float64Array, from: number, x: Float64Array): number {
  let total = 0;
  for (let i = 0; i < x.length; i++) total += coefficients[from + i]! * x[i]!;
  return total;
}

function findLargest(values: Float64Array, from: number, count: number): number {
  let largest = 0;
  for (let i = from; i < from + count; i++) largest = Math.max(largest, Math.abs(values[i]!));
  return largest;
}
