import { oneSidedPrices } from '#domain/optimisation/explanation/one-sided-prices.js';
import { rowCostsOf } from '#domain/optimisation/explanation/row-costs.js';
import { sensitivitiesOf } from '#domain/optimisation/explanation/sensitivities.js';
import { frontierOf } from '#domain/optimisation/frontier.js';
import { keptChoice, objectiveFrontier } from '#domain/optimisation/objective-frontier.js';
import type { Problem } from '#domain/optimisation/problem.js';
import { rowSides } from '#domain/optimisation/report.js';
import { solveProblem } from '#domain/optimisation/search.js';
import { refusalOf } from '#domain/optimisation/unsolved.js';
import type { Engine } from '#kernels/engines/engine.js';
import { checkKkt, isOptimal } from '#kernels/optimisation/program/kkt.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import { processMs } from '../../../thread-time.js';

/** The cost of a problem in an optimisation run. */
export interface Cost {
  /** Milliseconds of processor of the solve, of both frontiers, and of prices, sensitivities and costs of rows, or of a conflict. */
  readonly solve: number;
  readonly frontier: number;
  readonly explained: number;
  readonly state: 'solved' | 'not converged' | 'infeasible';
  /** Classes a row of which binds at the optimum. */
  readonly binding: readonly string[];
}

/** Of the solve and its frontiers: what is held to the parts of a combination. */
export function solvedMs({ solve, frontier }: Cost): number {
  return solve + frontier;
}

export function costOf(engine: Engine, problem: Problem, means: Float64Array): Cost {
  const solvers = { solver: createSolver(engine), algebra: engine };
  return engine.scope((): Cost => {
    const begun = processMs();
    const outcome = solveProblem(solvers, problem);
    const solved = processMs();
    const solve = solved - begun;
    if (outcome.kind !== 'solved') {
      refusalOf(solvers, { problem, outcome });
      return { solve, frontier: 0, explained: processMs() - solved, state: 'infeasible', binding: [] };
    }
    const { solution } = outcome;
    const traced = { solver: solvers.solver, problem, means, restriction: keptChoice(problem, solution.weights) };
    const frontier = frontierOf({ ...traced, riskFreeRate: 0 });
    if (frontier !== null) objectiveFrontier({ ...traced, most: frontier.most, solution });
    const drawn = processMs();
    const sides = rowSides(problem, solution);
    const explained = { problem, solution, sides };
    const { dependent } = oneSidedPrices(solvers, explained);
    sensitivitiesOf(solvers, explained, { dependent });
    rowCostsOf(solvers, explained);
    const bound = sides.filter(({ isBinding, placed }) => isBinding && placed.origin.index !== null);
    return {
      solve,
      frontier: drawn - solved,
      explained: processMs() - drawn,
      state: isOptimal(checkKkt(solution.assembled.program, solution.answer.point)) ? 'solved' : 'not converged',
      binding: [...new Set(bound.map(({ placed }) => placed.origin.type))],
    };
  });
}
