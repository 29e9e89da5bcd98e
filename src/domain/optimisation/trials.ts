import type { Solvers } from './name-search.js';
import type { Problem } from './problem.js';
import { solveProblem, type SearchOptions, type SearchOutcome } from './search.js';
import { metered } from './work-meter.js';

/**
 * Multiplications of all trials of one problem together: about a minute where tails make a solve a hundred times as dear
 * as a variance. Counted, not timed, so that the same request has the same explanation.
 */
export const WORK_MAX = 2e10;

/** Whether a problem would have an answer with some rows or parameters changed, tried until the work for it is spent. */
export interface Trials {
  /** Solvers whose work counts. */
  readonly solvers: Solvers;
  /** Whether any weights are found; false without a search once the work is spent. */
  succeeds(options: Pick<SearchOptions, 'includes' | 'changes'>): boolean;
  /** The same, told from what is proven to have no answer. */
  standingWith(options: Pick<SearchOptions, 'includes' | 'changes'>): 'solved' | 'ruled-out' | 'open';
  /** Weights with which it succeeds. */
  weightsWith(options: Pick<SearchOptions, 'includes' | 'changes'>): Float64Array | undefined;
  /** Whether less than a share of the work is spent: what asks ends where it is not. */
  isWithin(share: number): boolean;
  /** Whether anything has ended for that. */
  hasEnded(): boolean;
}

export function createTrials({ solver: inner, algebra }: Solvers, problem: Problem, workMax = WORK_MAX): Trials {
  const solver = metered(inner);
  let ended = false;
  const isWithin = (share: number) => {
    const isLeft = solver.spent() < share * workMax;
    ended ||= !isLeft;
    return isLeft;
  };
  const solvers: Solvers = { solver, algebra };
  const outcomeWith = (options: SearchOptions): SearchOutcome =>
    isWithin(1)
      ? solveProblem(solvers, problem, { ...options, wanted: 'any' })
      : { kind: 'no-choice', isProven: false };
  const weightsWith: Trials['weightsWith'] = (options) => {
    const outcome = outcomeWith(options);
    return outcome.kind === 'solved' ? outcome.solution.weights : undefined;
  };
  return {
    solvers,
    succeeds: (options) => weightsWith(options) !== undefined,
    standingWith(options) {
      const outcome = outcomeWith(options);
      if (outcome.kind === 'solved') return 'solved';
      return outcome.kind === 'no-choice' && outcome.isProven ? 'ruled-out' : 'open';
    },
    weightsWith,
    isWithin,
    hasEnded: () => ended,
  };
}
