import type { Program } from '#kernels/optimisation/program/program.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import type { TailGoal } from '../../objectives/tail.js';
import { assembleProgram, type Assembly, type Restriction } from '../assemble.js';
import { computeExcess, isCurve } from '../curved-rows.js';
import type { Problem } from '../problem.js';
import { solveConvex, type ConvexSolution } from '../solve-convex.js';

/** Selection of rows, with changed parameters and linearised averages. */
type RowSelection = Pick<Assembly, 'includes' | 'changes' | 'views'>;

/** Result of a feasibility check of tail limits. */
export interface TailLimitState {
  /** Weights that satisfy the tail limits and all other rows. Undefined if none were found. */
  readonly weights: Float64Array | undefined;
  /**
   * True if further cutting planes may change the result. This is so for several tails, whose planes may intersect
   * anywhere.
   */
  readonly isOpen: boolean;
}

/**
 * Minimises each tail within the other rows without a penalty, until all tail limits hold at a minimum. If a minimum
 * exceeds its limit, adds the cutting plane that proves the minimum. One program with this plane then proves that the
 * limit is infeasible, whereas tangent planes approach the proof only slowly.
 */
export function checkTailLimits(solver: Solver, problem: Problem, rows: RowSelection): TailLimitState {
  const curvedLimits = problem.rows
    .filter(isCurve)
    .filter(({ row, origin }) => row.form === 'tail' && origin.soft === null && rows.includes?.(origin) !== false);
  const goals = [...new Set(curvedLimits.flatMap(({ row }) => (row.form === 'tail' ? [row.goal] : [])))];
  const { program } = assembleProgram(problem, { ...rows, withTracking: true });
  if (acceptsZeroWeights(program)) return { weights: new Float64Array(program.n), isOpen: false };
  const boundsRestriction = addBounds(program);
  for (const beside of goals.length > 1 ? (['none', 'others'] as const) : (['none'] as const)) {
    for (const goal of goals) {
      const least = minimiseTail(solver, problem, goal, { ...rows, beside, restriction: boundsRestriction });
      if (least === undefined) continue;
      const { weights, assembled } = least;
      const exceededLimits = curvedLimits.filter(
        (curvedLimit) => computeExcess(problem, curvedLimit, weights, rows) > 0,
      );
      if (exceededLimits.length === 0) return { weights, isOpen: false };
      problem.tails.hold({ goal, slopes: assembled.program.linear });
      if (exceededLimits.some(({ row }) => row.form === 'tail' && row.goal === goal))
        return { weights: undefined, isOpen: false };
    }
  }
  return { weights: undefined, isOpen: boundsRestriction === undefined };
}

/** Rows within which a tail is minimised. */
interface TailMinimisation extends RowSelection {
  /** Limits on other tails that the program includes. */
  readonly beside: 'none' | 'others';
  readonly restriction?: Restriction | undefined;
}

/**
 * Minimises a tail within the rows of other forms that have no penalty, and optionally within limits on other tails.
 */
export function minimiseTail(
  solver: Solver,
  problem: Problem,
  goal: TailGoal,
  { includes, changes, views, beside, restriction }: TailMinimisation,
): ConvexSolution | undefined {
  const rows = problem.rows.filter(
    ({ origin, row }) =>
      origin.soft === null &&
      includes?.(origin) !== false &&
      (row.form !== 'tail' || (beside === 'others' && row.goal !== goal)),
  );
  const problemWithoutCosts = { ...problem, goal, rows, costs: null, robustness: null };
  const isOpen = restriction !== undefined && goal.measure === 'loss' && goal.scenarios <= ALL_SCENARIOS_MAX;
  const all = { scenarios: Int32Array.from({ length: goal.scenarios }, (_, t) => t), peaks: new Int32Array(0) };
  const tail = isOpen ? { weights: problem.index, set: all } : undefined;
  return solveConvex(solver, problemWithoutCosts, { changes, views, restriction, tail });
}

/**
 * Maximum number of scenarios that are all used at once if weights are unbounded. Unbounded weights that suit some
 * scenarios lose in all others.
 */
const ALL_SCENARIOS_MAX = 2000;

/** Maximum absolute weight of a security without a lower bound. It is used in a search for any feasible weights. */
const WEIGHT_MAX = 10;

/**
 * Returns bounds for securities without a lower bound. With unlimited leverage, a tail has no minimum. Returns
 * undefined if there are no such securities.
 */
function addBounds({ lower }: Program): Restriction | undefined {
  if (!lower.includes(-Infinity)) return undefined;
  return {
    least: lower.map((bound) => (bound === -Infinity ? -WEIGHT_MAX : -Infinity)),
    most: lower.map((bound) => (bound === -Infinity ? WEIGHT_MAX : Infinity)),
    sums: [],
  };
}

/** Returns true if zero weights satisfy the rows. Their tail is zero, and cutting planes of tails pass through zero. */
function acceptsZeroWeights({ lower, upper, rows, kinks, norms }: Program): boolean {
  return (
    kinks.length === 0 &&
    norms.length === 0 &&
    lower.every((bound) => bound <= 0) &&
    upper.every((bound) => bound >= 0) &&
    rows.lower.every((bound, r) => bound <= 0 || Number.isFinite(rows.penalty[r]!)) &&
    rows.upper.every((bound, r) => bound >= 0 || Number.isFinite(rows.penalty[r]!))
  );
}
