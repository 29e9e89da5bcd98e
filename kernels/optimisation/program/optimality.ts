import type { ActiveState } from './active-state.js';
import { computeMetricTrace, multiplyMetric } from './metric.js';
import { computeNormForce, computeNormLength, type Kink, type Point, type Program, sumKinks } from './program.js';

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

export function findLargest(values: Float64Array, from: number, count: number): number {
  let largest = 0;
  for (let i = from; i < from + count; i++) largest = Math.max(largest, Math.abs(values[i]!));
  return largest;
}

/** Solution of a program, as returned by a solver. */
export interface ProgramResult {
  /**
   * `solved`: the optimality conditions hold. `infeasible`: multipliers, or only the bounds, prove that no point
   * satisfies the rows and norms. `failed`: neither could be shown.
   */
  readonly status: 'solved' | 'infeasible' | 'failed';
  readonly point: Point;
  readonly state: ActiveState;
  readonly kkt: KktReport;
  readonly iterations: number;
  /** Method that found the solution. */
  readonly route: 'centre' | 'active-set' | 'simplex' | 'interior-point' | 'interior-point-unpolished';
}

/** Multipliers that prove a program infeasible: see `measureInfeasibility`. */
export interface Certificate {
  /** Multipliers of the rows, [m], positive for upper bounds, negative for lower bounds. */
  readonly rows: Float64Array;
  /** Multipliers of the kink limits, [kinks], at least 0. */
  readonly kinks: Float64Array;
  /**
   * Multipliers of the norms, [norms], at least 0. They are the weights of the tangents of the norms at `around`, each
   * times the length of the norm there.
   */
  readonly norms: Float64Array;
  /** Point at which the norms are linearised, [n]. */
  readonly around: Float64Array;
}

/** Returns true if a kink has a limit without a penalty. */
export function isHard(kink: Kink): boolean {
  return kink.limit !== null && !Number.isFinite(kink.penalty);
}

/**
 * Computes the margin by which multipliers prove that a program is infeasible. The margin is the minimum, within the
 * bounds, of the weighted left-hand sides less the weighted right-hand sides. Norms are replaced by their tangents,
 * which are lower bounds. A positive margin proves infeasibility for any multipliers, because every feasible point has
 * a margin of at most zero.
 * @returns  Margin; -Infinity if it is unbounded below in a variable without a bound.
 * @cost     m n, and n^2 per norm.
 * @source   Farkas' lemma; Boyd & Vandenberghe (2004), Convex Optimization, section 5.8.
 */
export function measureInfeasibility(
  program: Program,
  { rows: y, kinks: prices, norms: weights, around }: Certificate,
): number {
  const { n, lower, upper, rows, kinks, norms } = program;
  const force = new Float64Array(n);
  let gap = 0;
  let size = 0;
  const add = (multiplier: number, coefficients: Float64Array, from: number) => {
    for (let i = 0; i < n; i++) {
      const term = multiplier * coefficients[from + i]!;
      force[i]! += term;
      size = Math.max(size, Math.abs(term));
    }
  };
  for (let r = 0; r < rows.count; r++) {
    const multiplier = y[r]!;
    const bound = multiplier > 0 ? rows.upper[r]! : rows.lower[r]!;
    if (multiplier === 0 || !Number.isFinite(bound) || Number.isFinite(rows.penalty[r]!)) continue;
    add(multiplier, rows.coefficients, r * n);
    gap -= multiplier * bound;
  }
  norms.forEach((norm, q) => {
    const weight = Math.max(weights[q]!, 0);
    if (weight === 0) return;
    const { centre, radius } = norm;
    const offset = around.map((value, i) => value - centre[i]!);
    const slope = computeNormForce(program, norm, offset, new Float64Array(n));
    let square = 0;
    let inner = 0;
    for (let i = 0; i < n; i++) {
      square += offset[i]! * slope[i]!;
      inner += slope[i]! * around[i]!;
    }
    if (!(square > 0)) return;
    // The tangent is that of the norm itself, with gradient slope / sqrt(square). It is linear in the radius and
    // tighter than the tangent of the square.
    add(weight, slope, 0);
    gap += weight * (square - Math.sqrt(square) * radius - inner);
  });
  kinks.forEach(({ limit }, k) => {
    gap -= Math.max(prices[k]!, 0) * (limit ?? 0);
    if (prices[k]! > size) size = prices[k]!;
  });
  for (let i = 0; i < n; i++)
    gap += findMinimumOver(program, prices, force[i]!, i, {
      low: lower[i]!,
      high: upper[i]!,
      negligible: NEGLIGIBLE_FORCE * size,
    });
  return gap;
}

/**
 * Minimum ratio to the largest force of a force in the direction of an infinite bound. A smaller force is a rounding
 * error.
 */
const NEGLIGIBLE_FORCE = 1e-9;

interface Range {
  readonly low: number;
  readonly high: number;
  readonly negligible: number;
}

/**
 * Returns the minimum within a range of force * x plus the weighted kinks of the variable. The function is convex and
 * piecewise linear, so the minimum is at an end of the range or at a kink.
 */
function findMinimumOver(
  { kinks }: Program,
  prices: Float64Array,
  force: number,
  i: number,
  { low, high, negligible }: Range,
): number {
  const computeValueAt = (x: number) => {
    let total = force * x;
    kinks.forEach(({ at, left, right }, k) => {
      const step = x - at[i]!;
      total += Math.max(prices[k]!, 0) * (step > 0 ? right[i]! : left[i]!) * step;
    });
    return total;
  };
  const sumEndSlopes = (side: 'left' | 'right') =>
    kinks.reduce((total, kink, k) => total + Math.max(prices[k]!, 0) * kink[side][i]!, force);
  let leastValue = Number.POSITIVE_INFINITY;
  if (low === Number.NEGATIVE_INFINITY && sumEndSlopes('left') > negligible) return Number.NEGATIVE_INFINITY;
  if (high === Number.POSITIVE_INFINITY && sumEndSlopes('right') < -negligible) return Number.NEGATIVE_INFINITY;
  const candidates = [low, high, ...kinks.map(({ at }) => at[i]!)].filter(
    (x) => Number.isFinite(x) && x >= low && x <= high,
  );
  for (const x of candidates.length === 0 ? [0] : candidates) leastValue = Math.min(leastValue, computeValueAt(x));
  return leastValue;
}

/**
 * One-sided derivatives of the Lagrangian in each variable, without bounds. The two derivatives differ if the variable
 * is at a kink.
 */
export interface Slopes {
  /** Derivative for a decrease of each variable, [n]. */
  readonly left: Float64Array;
  /** Derivative for an increase of each variable, [n]. */
  readonly right: Float64Array;
}

/**
 * Computes the one-sided derivatives of the Lagrangian, with the multipliers of rows, limits and norms as prices. For a
 * variable at a bound, the derivative is the change of the objective per unit of the bound.
 *
 * @cost    n^2 + m n.
 * @source  Boyd & Vandenberghe (2004), Convex Optimization, section 5.6: multipliers as prices.
 */
export function computeLagrangianSlopes(
  program: Program,
  { x, rowMultipliers, kinkMultipliers, normMultipliers }: Point,
): Slopes {
  const { n, metric, curvature, ridge, centre, linear, rows, kinks, norms } = program;
  const left = Float64Array.from(linear);
  const offset = new Float64Array(n);
  const product = new Float64Array(n);
  const add = (multiplier: number, values: Float64Array, from = 0) => {
    if (multiplier !== 0) for (let i = 0; i < n; i++) left[i]! += multiplier * values[from + i]!;
  };
  const setOffset = (from: Float64Array) => {
    for (let i = 0; i < n; i++) offset[i] = x[i]! - from[i]!;
  };
  setOffset(centre);
  if (metric !== null) multiplyMetric(metric, offset, product);
  add(curvature, product);
  add(ridge, offset);
  for (let r = 0; r < rows.count; r++) add(rowMultipliers[r]!, rows.coefficients, r * n);
  norms.forEach((norm, q) => {
    setOffset(norm.centre);
    add(normMultipliers[q]!, computeNormForce(program, norm, offset, product));
  });
  const right = left.slice();
  kinks.forEach(({ at, left: below, right: above }, k) => {
    for (let i = 0; i < n; i++) {
      left[i]! += kinkMultipliers[k]! * (x[i]! > at[i]! ? above[i]! : below[i]!);
      right[i]! += kinkMultipliers[k]! * (x[i]! < at[i]! ? below[i]! : above[i]!);
    }
  });
  return { left, right };
}

/**
 * Computes the difference of the Lagrangian and the objective. It is the sum of the multipliers times the residuals of
 * rows, limits and norms.
 * @cost    m n, and n^2 per norm.
 * @source  Boyd & Vandenberghe (2004), Convex Optimization, section 5.1.1.
 */
export function computeLagrangianExcess(program: Program, point: Point): number {
  const { n, rows, kinks, norms } = program;
  const { x, rowMultipliers, kinkMultipliers, normMultipliers } = point;
  let excess = 0;
  for (let r = 0; r < rows.count; r++) {
    const multiplier = rowMultipliers[r]!;
    if (multiplier === 0) continue;
    let value = 0;
    for (let i = 0; i < n; i++) value += rows.coefficients[r * n + i]! * x[i]!;
    excess += multiplier * (value - (multiplier > 0 ? rows.upper[r]! : rows.lower[r]!));
  }
  kinks.forEach((kink, k) => {
    if (kink.limit !== null && kinkMultipliers[k]! !== 0)
      excess += kinkMultipliers[k]! * (sumKinks(kink, x) - kink.limit);
  });
  norms.forEach((norm, q) => {
    if (normMultipliers[q]! !== 0)
      excess += (normMultipliers[q]! / 2) * (computeNormLength(program, norm, x) ** 2 - norm.radius ** 2);
  });
  return excess;
}
