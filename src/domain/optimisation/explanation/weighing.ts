import type { Solver } from '#kernels/optimisation/solve-program.js';
import type { Solvers } from '../name-search.js';
import type { Problem } from '../problem.js';
import { hasTails, metered } from '../work-meter.js';

/**
 * Multiplications after which nothing further is solved again, about ten seconds where tails make a solve a hundred
 * times as dear as a variance. Counted, not timed, so that the same request has the same explanation.
 */
const WORK_MAX = 1e10;

/** What stands for a result that the work did not suffice for. */
export const SPENT = Symbol('the work is spent');

/** Solves of one explanation, within one amount of work. */
export interface Weighing {
  /** What a function finds with the solvers that it is given; SPENT where the work ends before it does. */
  find<T>(solveAgain: (solvers: Solvers) => T): T | typeof SPENT;
}

/** Ends a solve in its midst: its programmes are many where a tail has curved costs. */
class WorkSpent extends Error {}

/** @param workMax Multiplications of all solves together; only those of tails have a limit unless given. */
export function createWeighing(
  { solver: inner, algebra }: Solvers,
  problem: Problem,
  workMax = hasTails(problem) ? WORK_MAX : Infinity,
): Weighing {
  const meter = metered(inner);
  const assertWithin = () => {
    if (meter.spent() >= workMax) throw new WorkSpent();
  };
  const solver: Solver = {
    solve(program, options) {
      assertWithin();
      return meter.solve(program, options);
    },
    nearly(program) {
      assertWithin();
      return meter.nearly(program);
    },
  };
  return {
    find(solveAgain) {
      try {
        assertWithin();
        return solveAgain({ solver, algebra });
      } catch (thrown) {
        if (thrown instanceof WorkSpent) return SPENT;
        throw thrown;
      }
    },
  };
}
