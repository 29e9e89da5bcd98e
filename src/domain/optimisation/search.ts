import type { ActiveState } from '#kernels/optimisation/active-set/active-state.js';
import type { NonConvexRow } from '../constraints/program-row.js';
import { branchAndBound } from './branch-and-bound.js';
import type { Change } from './change.js';
import { type Origin, type Problem, nonConvexRows } from './problem.js';
import { holds, supportOf } from './restriction.js';
import { type ConvexSolution, solveConvex, wholeProgram } from './solve-convex.js';
import { type SearchInput, type Solvers, createSearch, countHeld } from './name-search.js';

/** An answer to a problem with all its rows, convex or not. */
export interface Solution extends ConvexSolution {
  /** Feasible, and not proven to be the best. */
  readonly isHeuristic: boolean;
  /** Objective of the relaxation without the non-convex rows; equals the objective when those did not bind. */
  readonly bound: number;
}

export interface SearchOptions {
  readonly includes?: ((origin: Origin) => boolean) | undefined;
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
  const base = wholeProgram(problem, { includes: options.includes, changes: options.changes });
  const restricted = { includes: options.includes, changes: options.changes, base };
  const isAnyEnough = options.wanted === 'any';
  const search = createSearch(solvers, { problem, rows, options: restricted, relaxed, isAnyEnough });
  const found =
    search.from(startsOf(problem, rows, relaxed)) ??
    search.from(largestOf(problem, rows)) ??
    fromLeastTail(solvers, problem, rows, options);
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

/** A choice among the names of the least tail that a row limits, where others exceed the limit. */
function fromLeastTail(
  solvers: Solvers,
  problem: Problem,
  rows: readonly NonConvexRow[],
  { includes, changes, wanted }: SearchOptions,
): ConvexSolution | undefined {
  const isAnyEnough = wanted === 'any';
  for (const { origin, row } of problem.rows) {
    if (row.form !== 'tail' || origin.soft !== null || includes?.(origin) === false) continue;
    const others = problem.rows.filter(({ row: { form } }) => form !== 'tail');
    const calm: Problem = { ...problem, goal: row.goal, costs: null, robustness: null, rows: others };
    const least = chosen(solvers, { problem: calm, rows, options: { includes, changes }, isAnyEnough });
    const found =
      least === undefined
        ? undefined
        : chosen(solvers, { problem, rows, options: { includes, changes }, isAnyEnough }, supportOf(least.weights));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The choice that a search finds from some names, those of the relaxation unless given. */
function chosen(
  { solver, algebra }: Solvers,
  input: Omit<SearchInput, 'relaxed' | 'options'> & { readonly options: Pick<SearchOptions, 'includes' | 'changes'> },
  start?: Uint8Array,
): ConvexSolution | undefined {
  const { problem, options } = input;
  const relaxed = solveConvex(solver, problem, options);
  if (relaxed === undefined) return undefined;
  const restricted = { ...options, base: wholeProgram(problem, options) };
  const search = createSearch({ solver, algebra }, { ...input, options: restricted, relaxed });
  return search.from([start ?? supportOf(relaxed.weights)]);
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

/** Where searches go on that found nothing: the largest names of the weights from which distances are limited. */
function largestOf(problem: Problem, rows: readonly NonConvexRow[]): Uint8Array[] {
  const counts = rows.filter((row) => row.form === 'count');
  return problem.rows.flatMap(({ row }) => {
    if (row.form !== 'distance') return [];
    const { reference } = row;
    const basket = supportOf(reference);
    const smallestFirst = Array.from(reference.keys()).toSorted((a, b) => reference[a]! - reference[b]! || b - a);
    for (const { members, maximum } of counts) {
      const own = new Set(members);
      const heldOnes = smallestFirst.filter((i) => basket[i] === 1 && own.has(i));
      for (const i of heldOnes.slice(0, Math.max(0, heldOnes.length - maximum))) basket[i] = 0;
    }
    return [basket];
  });
}
