import type { DenseAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { createCurvature, type Curvature } from '#kernels/optimisation/factors/curvature.js';
import { computeLagrangianSlopes } from '#kernels/optimisation/program/optimality.js';
import { createLagrangianCurvature, type Program } from '#kernels/optimisation/program/program.js';
import type { Restriction } from './assembly.js';
import type { ConvexSolution } from './convex-solve.js';
import type { Problem } from './problem.js';

/** Returns the value below which a minimised value improves on `value` by a relative amount. */
export function computeImprovementBound(value: number, share: number): number {
  return value * (value < 0 ? 1 + share : 1 - share);
}

/** Bounded step of one variable, with separate slopes for a decrease and an increase. */
interface BoundedStep {
  readonly from: number;
  readonly to: number;
  /** Slope for a decrease. */
  readonly left: number;
  /** Slope for an increase; at least `left`. */
  readonly right: number;
}

/** Symmetric positive definite 2 x 2 matrix. */
export interface TwoByTwoMatrix {
  readonly aa: number;
  readonly ab: number;
  readonly bb: number;
}

/**
 * Minimises slope times d + curvature d^2 / 2 over a bounded step. Returns Infinity if the bounds exclude every step.
 */
export function minimiseStep({ from, to, left, right }: BoundedStep, curvature: number): number {
  const minimiseOnSide = (slope: number, low: number, high: number) => {
    if (low > high) return Number.POSITIVE_INFINITY;
    if (curvature === 0) return slope === 0 ? 0 : slope * (slope > 0 ? low : high);
    const step = clampInside(-slope / curvature, low, high);
    return (slope + (curvature * step) / 2) * step;
  };
  return Math.min(minimiseOnSide(left, from, Math.min(to, 0)), minimiseOnSide(right, Math.max(from, 0), to));
}

/**
 * Minimises the slopes times (d, e) + (d, e) K (d, e)' / 2. For each combination of signs, the minimum is at the
 * stationary point if that is within the bounds, otherwise on an edge.
 * @cost at most four minimisations, one for each combination of signs
 */
function minimiseTwoSteps(a: BoundedStep, b: BoundedStep, k: TwoByTwoMatrix): number {
  let least = Number.POSITIVE_INFINITY;
  for (const side of listSides(a)) for (const two of listSides(b)) least = Math.min(least, minimiseInBox(side, two, k));
  return least;
}

interface Side {
  readonly low: number;
  readonly high: number;
  readonly slope: number;
}

function listSides({ from, to, left, right }: BoundedStep): Side[] {
  return [
    { low: from, high: Math.min(to, 0), slope: left },
    { low: Math.max(from, 0), high: to, slope: right },
  ].filter(({ low, high }) => low <= high);
}

function minimiseInBox(a: Side, b: Side, { aa, ab, bb }: TwoByTwoMatrix): number {
  const computeValueAt = (d: number, e: number) =>
    a.slope * d + b.slope * e + (aa * d * d) / 2 + ab * d * e + (bb * e * e) / 2;
  const size = aa * bb - ab * ab;
  const [d, e] = [(ab * b.slope - bb * a.slope) / size, (ab * a.slope - aa * b.slope) / size];
  if (d >= a.low && d <= a.high && e >= b.low && e <= b.high) return computeValueAt(d, e);
  let least = Number.POSITIVE_INFINITY;
  for (const edge of [a.low, a.high])
    if (Number.isFinite(edge))
      least = Math.min(least, computeValueAt(edge, clampInside(-(b.slope + ab * edge) / bb, b.low, b.high)));
  for (const edge of [b.low, b.high])
    if (Number.isFinite(edge))
      least = Math.min(least, computeValueAt(clampInside(-(a.slope + ab * edge) / aa, a.low, a.high), edge));
  return least;
}

function clampInside(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high);
}

export interface BoundInput {
  readonly problem: Problem;
  /** Weight bounds and rows of the program without a restriction. */
  readonly base: Pick<Program, 'lower' | 'upper' | 'rows'>;
  readonly solution: ConvexSolution;
  readonly restriction: Restriction;
  /** Positions of the securities that may have a weight in any neighbouring choice, ascending. */
  readonly names: Int32Array;
}

/** Fraction of the largest slope below which a slope counts as zero. */
const ROUNDING = 1e-10;

/** Security that must move, or whose move along the tangent improves the objective. */
interface MovedSecurity {
  readonly name: number;
  readonly side: BoundedStep;
  /** Least change of the objective along the tangent. */
  readonly least: number;
}

/** Returns a lower bound on the change of value by a neighbouring restriction. Returns -Infinity if unknown. */
export type NeighbourBound = (restriction: Restriction) => number;

/**
 * Creates a bound on the gain of neighbouring choices of securities, from the multipliers and the curvature at a
 * solution. A convex function is above its tangent at the solution. Along the securities that must move, the curvature
 * raises it further. At most two securities are considered together, first those that cannot keep their weight; all
 * others are unrestricted.
 * @returns undefined for objectives that are not a fixed quadratic, and if prices of soft curves must be found
 * @cost a factorisation over the securities; h^2 for each of the h securities that move first
 * @source Boyd & Vandenberghe (2004), Convex Optimization, sections 3.1.3 and 5.1.3; the term in the curvature is that
 * of Hassibi & Stork (1992), Second order derivatives for network pruning: optimal brain surgeon, NIPS 5.
 */
export function createNeighbourBound(algebra: DenseAlgebra, input: BoundInput): NeighbourBound | undefined {
  const { problem, base, solution, restriction: ownRestriction, names } = input;
  const { program } = solution.assembled;
  if (!isFixedQuadratic(problem) || names.length === 0) return undefined;
  const { point } = solution.answer;
  const { left, right } = computeLagrangianSlopes(program, point);
  const rounding = ROUNDING * left.reduce((most, slope) => Math.max(most, Math.abs(slope)), 0);
  const removeRounding = (slope: number) => (Math.abs(slope) <= rounding ? 0 : slope);
  const curvature = createCurvature(algebra);
  const lagrangianCurvature = createLagrangianCurvature(
    program,
    { scale: program.curvature, ridge: program.ridge },
    point.normMultipliers,
  );
  const diagonal = new Float64Array(program.n).fill(lagrangianCurvature.ridge);
  if (!curvature.factor(lagrangianCurvature.metric, lagrangianCurvature.scale, diagonal, names, names.length))
    return undefined;
  const computeResponse = createResponses(curvature, names, program.n);
  const prices = ownRestriction.sums.map((_, k) => Math.max(0, point.rowMultipliers[base.rows.count + k]!));
  return (otherRestriction) => {
    if (otherRestriction.sums.length !== ownRestriction.sums.length) return Number.NEGATIVE_INFINITY;
    let offset = 0;
    const movedSecurities: MovedSecurity[] = [];
    for (const name of names) {
      let shift = 0;
      prices.forEach((price, k) => {
        shift += price * (otherRestriction.sums[k]!.coefficients[name]! - ownRestriction.sums[k]!.coefficients[name]!);
      });
      const x = point.x[name]!;
      offset += shift * x;
      const side = {
        from: Math.max(base.lower[name]!, otherRestriction.least[name]!) - x,
        to: Math.min(base.upper[name]!, otherRestriction.most[name]!) - x,
        left: removeRounding(left[name]! + shift),
        right: removeRounding(right[name]! + shift),
      };
      const least = minimiseStep(side, 0);
      if (least !== 0 || mustMove(side)) movedSecurities.push({ name, side, least });
    }
    const inTurn = movedSecurities.toSorted(
      (movedSecurity, two) =>
        Number(mustMove(two.side)) - Number(mustMove(movedSecurity.side)) ||
        Math.abs(two.least) - Math.abs(movedSecurity.least) ||
        movedSecurity.name - two.name,
    );
    const remainder = inTurn.slice(2).reduce((sum, { least }) => sum + least, offset);
    return remainder + minimiseFirstTwo(inTurn, computeResponse);
  };
}

/**
 * Returns the least change of the objective if only the first two securities of a list move. Uses their slopes and the
 * curvature.
 */
function minimiseFirstTwo([a, b]: readonly MovedSecurity[], response: (a: number, b: number) => number): number {
  if (a === undefined) return 0;
  const ownResponse = response(a.name, a.name);
  if (b === undefined) return minimiseStep(a.side, 1 / ownResponse);
  const [two, both] = [response(b.name, b.name), response(a.name, b.name)];
  const size = ownResponse * two - both * both;
  return size > 0
    ? minimiseTwoSteps(a.side, b.side, { aa: two / size, ab: -both / size, bb: ownResponse / size })
    : Number.NEGATIVE_INFINITY;
}

/** Returns true if the bounds force a security to change its weight. */
function mustMove({ from, to }: BoundedStep): boolean {
  return from > 0 || to < 0;
}

/** Returns true if the objective in the program is a quadratic that does not depend on the solution. */
export function isFixedQuadratic({ goal, costs, robustness, rows }: Problem): boolean {
  return (
    goal.form === 'quadratic' &&
    (costs === null || costs.impact === 0) &&
    robustness === null &&
    !rows.some(({ origin, row }) => origin.soft !== null && (row.form === 'norm' || row.form === 'tail'))
  );
}

/**
 * Returns a function that returns entries of the inverse curvature of some securities. Columns are solved when they are
 * first needed.
 */
function createResponses(curvature: Curvature, names: Int32Array, n: number): (a: number, b: number) => number {
  const positionByName = new Int32Array(n);
  names.forEach((name, place) => (positionByName[name] = place));
  const columns = new Map<number, Float64Array>();
  return (a, b) => {
    let column = columns.get(a);
    if (column === undefined) {
      column = new Float64Array(names.length);
      column[positionByName[a]!] = 1;
      curvature.solve(column, 1);
      columns.set(a, column);
    }
    return column[positionByName[b]!]!;
  };
}
