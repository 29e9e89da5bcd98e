import { createCurvature, type Curvature } from '#kernels/optimisation/factors/curvature.js';
import type { DenseAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { lagrangianCurvature } from '#kernels/optimisation/program/norms.js';
import { lagrangianSlopes } from '#kernels/optimisation/program/slopes.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import type { Restriction } from './assemble.js';
import { leastOfOne, leastOfTwo, type OneSided } from './least-of-two.js';
import type { Problem } from './problem.js';
import type { ConvexSolution } from './solve-convex.js';

/** An answer that others are compared with, and the restriction it was found under. */
export interface BoundInput {
  readonly problem: Problem;
  /** Bounds of the names without a restriction. */
  readonly base: Pick<Program, 'lower' | 'upper' | 'rows'>;
  readonly solution: ConvexSolution;
  readonly restriction: Restriction;
  /** Positions of names that may have a weight in any of the others, ascending. */
  readonly names: Int32Array;
}

/** Slopes of this share of the largest are none. */
const ROUNDING = 1e-10;

/** A name that has to move, or pays by it along the tangent. */
interface Moved {
  readonly name: number;
  readonly side: OneSided;
  /** Change along the tangent. */
  readonly least: number;
}

/** What a restriction near that of an answer changes its value by at least; -Infinity where nothing is known. */
export type NeighbourBound = (restriction: Restriction) => number;

/**
 * A bound on what other choices of names can gain, by the multipliers of an answer and the curvature: a convex function lies
 * above its tangent at the answer, and above that by the curvature along the names that have to move. Two of them
 * at most are looked at together, those that cannot stay first; the others are free to follow.
 *
 * @returns undefined for objectives that are not a quadratic of fixed terms, and where prices of soft curves are searched for
 * @cost    a factor of the names; h^2 for each name that moves first, h of them
 * @source  Boyd & Vandenberghe (2004), Convex Optimization, sections 3.1.3 and 5.1.3; the term in the curvature is that of
 *   Hassibi & Stork (1992), Second order derivatives for network pruning: optimal brain surgeon, NIPS 5.
 */
export function createNeighbourBound(algebra: DenseAlgebra, input: BoundInput): NeighbourBound | undefined {
  const { problem, base, solution, restriction: own, names } = input;
  const { program } = solution.assembled;
  if (!isFixedQuadratic(problem) || names.length === 0) return undefined;
  const { point } = solution.answer;
  const { left, right } = lagrangianSlopes(program, point);
  const rounding = ROUNDING * left.reduce((most, slope) => Math.max(most, Math.abs(slope)), 0);
  const withoutRounding = (slope: number) => (Math.abs(slope) <= rounding ? 0 : slope);
  const curvature = createCurvature(algebra);
  const at = lagrangianCurvature(program, { scale: program.curvature, ridge: program.ridge }, point.normMultipliers);
  const diagonal = new Float64Array(program.n).fill(at.ridge);
  if (!curvature.factor(at.metric, at.scale, diagonal, names, names.length)) return undefined;
  const response = responses(curvature, names, program.n);
  const prices = own.sums.map((_, k) => Math.max(0, point.rowMultipliers[base.rows.count + k]!));
  return (other) => {
    if (other.sums.length !== own.sums.length) return Number.NEGATIVE_INFINITY;
    let offset = 0;
    const moved: Moved[] = [];
    for (const name of names) {
      let shift = 0;
      prices.forEach((price, k) => {
        shift += price * (other.sums[k]!.coefficients[name]! - own.sums[k]!.coefficients[name]!);
      });
      const x = point.x[name]!;
      offset += shift * x;
      const side = {
        from: Math.max(base.lower[name]!, other.least[name]!) - x,
        to: Math.min(base.upper[name]!, other.most[name]!) - x,
        left: withoutRounding(left[name]! + shift),
        right: withoutRounding(right[name]! + shift),
      };
      const least = leastOfOne(side, 0);
      if (least !== 0 || isForced(side)) moved.push({ name, side, least });
    }
    const inTurn = moved.toSorted(
      (one, two) =>
        Number(isForced(two.side)) - Number(isForced(one.side)) ||
        Math.abs(two.least) - Math.abs(one.least) ||
        one.name - two.name,
    );
    const rest = inTurn.slice(2).reduce((sum, { least }) => sum + least, offset);
    return rest + leastOfFirst(inTurn, response);
  };
}

/** The least that the first two names of a list change by their slopes and the curvature. */
function leastOfFirst([a, b]: readonly Moved[], response: (a: number, b: number) => number): number {
  if (a === undefined) return 0;
  const one = response(a.name, a.name);
  if (b === undefined) return leastOfOne(a.side, 1 / one);
  const [two, both] = [response(b.name, b.name), response(a.name, b.name)];
  const size = one * two - both * both;
  return size > 0
    ? leastOfTwo(a.side, b.side, { aa: two / size, ab: -both / size, bb: one / size })
    : Number.NEGATIVE_INFINITY;
}

/** Whether a name cannot stay where it is. */
function isForced({ from, to }: OneSided): boolean {
  return from > 0 || to < 0;
}

/** Whether the programme of an answer is a quadratic that does not depend on it. */
function isFixedQuadratic({ goal, costs, robustness, rows }: Problem): boolean {
  return (
    goal.form === 'quadratic' &&
    goal.metric === 'covariance' &&
    (costs === null || costs.impact === 0) &&
    robustness === null &&
    !rows.some(({ origin, row }) => origin.soft !== null && (row.form === 'norm' || row.form === 'tail'))
  );
}

/** Entries of the inverse curvature on some names, whose columns are solved for when they are first asked for. */
function responses(curvature: Curvature, names: Int32Array, n: number): (a: number, b: number) => number {
  const places = new Int32Array(n);
  names.forEach((name, place) => (places[name] = place));
  const columns = new Map<number, Float64Array>();
  return (a, b) => {
    let column = columns.get(a);
    if (column === undefined) {
      column = new Float64Array(names.length);
      column[places[a]!] = 1;
      curvature.solve(column, 1);
      columns.set(a, column);
    }
    return column[places[b]!]!;
  };
}
