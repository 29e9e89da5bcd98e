import type { Solver } from '#kernels/optimisation/solve-program.js';
import type { Solvers } from '../solvers.js';
import type { Problem } from '../problem.js';
import { hasTails, meterSolver } from '../work-meter.js';

/**
 * Maximum number of multiplications for repeated solves. They take about ten seconds if tails make a solve a hundred
 * times as expensive as a variance. Work is counted instead of time, so that equal requests have equal explanations.
 */
const WORK_MAX = 1e10;

/** Result of `find` if the work limit was reached. */
export const WORK_LIMIT_REACHED = Symbol('the work limit was reached');

/** Repeated solves of one explanation within a shared work limit. */
export interface Weighing {
  /** Runs a function with solvers that count work. Returns `WORK_LIMIT_REACHED` if the work limit is reached. */
  find<T>(solveAgain: (solvers: Solvers) => T): T | typeof WORK_LIMIT_REACHED;
}

/** Error that ends a solve at the work limit. A tail with curved costs may need many programs. */
class WorkSpentError extends Error {}

/**
 * Creates repeated solves with a work limit.
 * @param workMax maximum number of multiplications of all solves together. Default: a limit only for tails.
 */
export function createWeighing(
  { solver: inner, algebra }: Solvers,
  problem: Problem,
  workMax = hasTails(problem) ? WORK_MAX : Infinity,
): Weighing {
  const meter = meterSolver(inner);
  const assertWorkLeft = () => {
    if (meter.spent() >= workMax) throw new WorkSpentError();
  };
  const solver: Solver = {
    solve(program, options) {
      assertWorkLeft();
      return meter.solve(program, options);
    },
    nearly(program) {
      assertWorkLeft();
      return meter.nearly(program);
    },
  };
  return {
    find(solveAgain) {
      try {
        assertWorkLeft();
        return solveAgain({ solver, algebra });
      } catch (error) {
        if (error instanceof WorkSpentError) return WORK_LIMIT_REACHED;
        throw error;
      }
    },
  };
}
