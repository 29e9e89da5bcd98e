import type { Solvers } from './solvers.js';
import type { Problem } from './problem.js';
import { solveProblem, type SearchOptions, type SearchOutcome } from './search.js';
import { meterSolver } from './work-meter.js';

/**
 * Maximum number of multiplications of all trials of one problem. They take about a minute if tails make a solve a
 * hundred times as expensive as a variance. Work is counted instead of time, so that equal requests have equal
 * explanations.
 */
export const WORK_MAX = 2e10;

/** Feasibility tests of a problem with changed rows or parameters. They share a work limit. */
export interface FeasibilityTests {
  /** Solvers that count their work towards the limit. */
  readonly solvers: Solvers;
  /** Returns true if feasible weights are found. Once the work limit is reached, returns false without a search. */
  succeeds(options: Pick<SearchOptions, 'includes' | 'changes'>): boolean;
  /** Returns the result of a search: weights are found, infeasibility is proven, or neither. */
  standingWith(options: Pick<SearchOptions, 'includes' | 'changes'>): 'solved' | 'ruled-out' | 'open';
  /** Returns feasible weights; undefined if none are found. */
  weightsWith(options: Pick<SearchOptions, 'includes' | 'changes'>): Float64Array | undefined;
  /** Returns true if less than a fraction of the work limit is used. */
  isWithin(share: number): boolean;
  /** Returns true if the work limit, or a fraction of it that was passed to `isWithin`, was reached. */
  hasEnded(): boolean;
}

export function createFeasibilityTests(
  { solver: inner, algebra }: Solvers,
  problem: Problem,
  workMax = WORK_MAX,
): FeasibilityTests {
  const solver = meterSolver(inner);
  let isExhausted = false;
  const isWithin = (share: number) => {
    const isLeft = solver.spent() < share * workMax;
    isExhausted ||= !isLeft;
    return isLeft;
  };
  const solvers: Solvers = { solver, algebra };
  const solveWith = (options: SearchOptions): SearchOutcome =>
    isWithin(1)
      ? solveProblem(solvers, problem, { ...options, wanted: 'any' })
      : { kind: 'no-choice', isProven: false };
  const findFeasibleWeights: FeasibilityTests['weightsWith'] = (options) => {
    const outcome = solveWith(options);
    return outcome.kind === 'solved' ? outcome.solution.weights : undefined;
  };
  return {
    solvers,
    succeeds: (options) => findFeasibleWeights(options) !== undefined,
    standingWith(options) {
      const outcome = solveWith(options);
      if (outcome.kind === 'solved') return 'solved';
      return outcome.kind === 'no-choice' && outcome.isProven ? 'ruled-out' : 'open';
    },
    weightsWith: findFeasibleWeights,
    isWithin,
    hasEnded: () => isExhausted,
  };
}
