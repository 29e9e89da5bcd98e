import type { Program } from '#kernels/optimisation/program/program.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import type { TailGoal } from '../objectives/tail.js';
import { assembleProgram, type Assembly, type Restriction } from './assemble.js';
import { excessOf, isCurve } from './curved-rows.js';
import type { Problem } from './problem.js';
import { solveConvex, type ConvexSolution } from './solve-convex.js';

/** The rows that take part, and their parameters. */
type Rows = Pick<Assembly, 'includes' | 'changes' | 'views'>;

/** What is known of the limits on tails. */
export interface TailStand {
  /** Weights that hold them, and the other rows; undefined where none were found. */
  readonly weights: Float64Array | undefined;
  /** Whether further planes may tell more than those that are known now: of several tails, whose planes meet anywhere. */
  readonly isOpen: boolean;
}

/**
 * Weights of the least of a tail within the other hard rows, where these hold every limit on tails. Where they do not,
 * the plane that proves the least is known from then on: one programme with it rules the limit out, where planes that
 * touch the tail at single weights approach it by many.
 *
 * @cost the least average of each tail, as of the objectives `min_cvar` and `min_cdar`.
 */
export function leastTailStand(solver: Solver, problem: Problem, rows: Rows): TailStand {
  const limited = problem.rows
    .filter(isCurve)
    .filter(({ row, origin }) => row.form === 'tail' && origin.soft === null && rows.includes?.(origin) !== false);
  const goals = [...new Set(limited.flatMap(({ row }) => (row.form === 'tail' ? [row.goal] : [])))];
  const { program } = assembleProgram(problem, { ...rows, withTracking: true });
  if (holdsNothing(program)) return { weights: new Float64Array(program.n), isOpen: false };
  const box = boxOf(program);
  for (const beside of goals.length > 1 ? (['none', 'others'] as const) : (['none'] as const)) {
    for (const goal of goals) {
      const least = leastTail(solver, problem, goal, { ...rows, beside, restriction: box });
      if (least === undefined) continue;
      const { weights, assembled } = least;
      const exceeded = limited.filter((placed) => excessOf(problem, placed, weights, rows) > 0);
      if (exceeded.length === 0) return { weights, isOpen: false };
      problem.tails.hold({ goal, slopes: assembled.program.linear });
      if (exceeded.some(({ row }) => row.form === 'tail' && row.goal === goal))
        return { weights: undefined, isOpen: false };
    }
  }
  return { weights: undefined, isOpen: box === undefined };
}

/** Rows of the least of a tail. */
interface LeastTail extends Rows {
  /** Which limits on tails take part: of the same tail none ever does. */
  readonly beside: 'none' | 'others';
  readonly restriction?: Restriction | undefined;
}

/** The least of a tail within the hard rows of other forms, and of other tails where these are asked for. */
export function leastTail(
  solver: Solver,
  problem: Problem,
  goal: TailGoal,
  { includes, changes, views, beside, restriction }: LeastTail,
): ConvexSolution | undefined {
  const rows = problem.rows.filter(
    ({ origin, row }) =>
      origin.soft === null &&
      includes?.(origin) !== false &&
      (row.form !== 'tail' || (beside === 'others' && row.goal !== goal)),
  );
  const alone = { ...problem, goal, rows, costs: null, robustness: null };
  const isOpen = restriction !== undefined && goal.measure === 'loss' && goal.scenarios <= ALL_MAX;
  const all = { scenarios: Int32Array.from({ length: goal.scenarios }, (_, t) => t), peaks: new Int32Array(0) };
  const tail = isOpen ? { weights: problem.index, set: all } : undefined;
  return solveConvex(solver, alone, { changes, views, restriction, tail });
}

/** Scenarios that take part at once among names without bounds: weights that fit some of them lose in all others. */
const ALL_MAX = 2000;

/** Weight of a name without a lower bound at most, either way, where some weights are looked for. */
const BOX = 10;

/** Bounds for names that have none: the least tail of any leverage is none. */
function boxOf({ lower }: Program): Restriction | undefined {
  if (!lower.includes(-Infinity)) return undefined;
  return {
    least: lower.map((bound) => (bound === -Infinity ? -BOX : -Infinity)),
    most: lower.map((bound) => (bound === -Infinity ? BOX : Infinity)),
    sums: [],
  };
}

/** Whether no weights at all are within the rows: these have no tail. Planes below tails pass through them. */
function holdsNothing({ lower, upper, rows, kinks, norms }: Program): boolean {
  return (
    kinks.length === 0 &&
    norms.length === 0 &&
    lower.every((bound) => bound <= 0) &&
    upper.every((bound) => bound >= 0) &&
    rows.lower.every((bound, r) => bound <= 0 || Number.isFinite(rows.penalty[r]!)) &&
    rows.upper.every((bound, r) => bound >= 0 || Number.isFinite(rows.penalty[r]!))
  );
}
