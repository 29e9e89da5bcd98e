import type { ActiveState } from '#kernels/optimisation/active-set/active-state.js';
import type { NonConvexRow } from '../constraints/program-row.js';
import { branchAndBound } from './branch-and-bound.js';
import { assembleProgram } from './assemble.js';
import type { Change } from './change.js';
import { type Origin, type Problem, nonConvexRows } from './problem.js';
import { holds, shortSide, supportOf } from './restriction.js';
import { type ConvexSolution, solveConvex } from './solve-convex.js';
import { type Solvers, createSearch, countHeld } from './name-search.js';

/** An answer to a problem with all its rows, convex or not. */
export interface Solution extends ConvexSolution {
  /** Feasible, and not proven to be the best. */
  readonly isHeuristic: boolean;
  /** Objective of the relaxation without the non-convex rows; equals the objective when those did not bind. */
  readonly bound: number;
}

export interface SearchOptions {
  readonly includes?: (origin: Origin) => boolean;
  readonly changes?: readonly Change[] | undefined;
  /** Active set of a similar problem. */
  readonly warm?: ActiveState | undefined;
  /**
   * `any` ends at the first choice of names that satisfies every row, and gives up early: whether there is one is all
   * that is asked.
   */
  readonly wanted?: 'best' | 'any';
}

export type SearchOutcome =
  | { readonly kind: 'solved'; readonly solution: Solution }
  /** The convex rows alone have no answer. */
  | { readonly kind: 'unsolved' }
  /** The convex rows hold together; no choice of names was found that satisfies the others. */
  | { readonly kind: 'no-choice'; readonly isProven: boolean };

/** Names up to which the search is followed by an exact one. */
export const EXACT_NAMES_MAX = 40;

/**
 * Solves a problem: the relaxation, then, where it violates a non-convex row, the best choice of names that a search by
 * saliency and swaps finds, and for few names the best there is.
 */
export function solveProblem(solvers: Solvers, problem: Problem, options: SearchOptions = {}): SearchOutcome {
  const rows = nonConvexRows(problem)
    .filter(({ origin }) => options.includes?.(origin) !== false)
    .map(({ origin, row }) => movedRow(row, origin, options.changes));
  const relaxed = solveConvex(solvers.solver, problem, options);
  if (relaxed === undefined) return { kind: 'unsolved' };
  if (rows.every((row) => holds(row, relaxed.weights)))
    return { kind: 'solved', solution: { ...relaxed, isHeuristic: false, bound: relaxed.bound } };
  const base = assembleProgram(problem, options);
  const restricted = { includes: options.includes, changes: options.changes, base };
  const search = createSearch(solvers, { problem, rows, options: restricted, short: shortSide(relaxed.weights) });
  const isAnyEnough = options.wanted === 'any';
  const found = search.from(startsOf(problem, rows, relaxed), isAnyEnough);
  if (isAnyEnough && found !== undefined)
    return { kind: 'solved', solution: { ...found, isHeuristic: true, bound: relaxed.bound } };
  const { lower, upper } = relaxed.assembled.program;
  const eligible = upper.reduce((count, bound, i) => count + (bound > 0 || lower[i]! < 0 ? 1 : 0), 0);
  if (eligible <= EXACT_NAMES_MAX) {
    const exact = branchAndBound({
      ...solvers,
      problem,
      rows,
      options: restricted,
      relaxed,
      incumbent: found,
      isAnyEnough,
    });
    if (exact.isComplete) {
      if (exact.best === undefined) return { kind: 'no-choice', isProven: true };
      return {
        kind: 'solved',
        solution: {
          ...exact.best,
          isHeuristic: false,
          bound: exact.best.objective,
          iterations: relaxed.iterations + search.iterations() + exact.iterations,
        },
      };
    }
    if (exact.best !== undefined)
      return {
        kind: 'solved',
        solution: { ...exact.best, isHeuristic: true, bound: Math.min(exact.bound, exact.best.objective) },
      };
  }
  if (found === undefined) return { kind: 'no-choice', isProven: false };
  return {
    kind: 'solved',
    solution: {
      ...found,
      isHeuristic: true,
      bound: relaxed.bound,
      iterations: relaxed.iterations + search.iterations(),
    },
  };
}

/** A non-convex row with its parameters moved: they carry the client's names. */
function movedRow(row: NonConvexRow, origin: Origin, changes: readonly Change[] = []): NonConvexRow {
  const own = changes.filter((change) => change.origin === origin);
  return own.length === 0 ? row : { ...row, ...Object.fromEntries(own.map(({ parameter, to }) => [parameter, to])) };
}

/** Where searches begin: what the relaxation holds, and what was held before. */
function startsOf(problem: Problem, rows: readonly NonConvexRow[], relaxed: ConvexSolution): Uint8Array[] {
  const starts = [supportOf(relaxed.weights)];
  if (problem.previous !== null) {
    const basket = supportOf(problem.previous.weights);
    if (basket.includes(1) && rows.every((row) => row.form !== 'count' || countHeld(row, basket) <= row.maximum))
      starts.push(basket);
  }
  return starts;
}
