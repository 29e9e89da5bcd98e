import type { ActiveState } from '#kernels/optimisation/active-set/active-state.js';
import type { NonConvexRow } from '../constraints/program-row.js';
import { branchAndBound, type BranchOutcome } from './branch-and-bound.js';
import { certifiedBound, type CertifiedBound } from './certified-bound.js';
import type { Change } from './change.js';
import { isLeast, isRuledOut, leastProblem, type LeastProblem, type RowOptions } from './least-problem.js';
import { type Origin, type Problem, nonConvexRows } from './problem.js';
import { holds, restrictionOf, shortSide, supportOf } from './restriction.js';
import { type ConvexSolution, solveConvex, wholeProgram } from './solve-convex.js';
import { countHeld } from './dropped-names.js';
import { createSearch } from './name-search.js';
import type { SearchInput } from './restricted-solves.js';
import type { Solvers } from './solvers.js';

/** Solution of a problem with all its rows, convex or not. */
export interface Solution extends ConvexSolution {
  /** Feasible, but not proven to be optimal. */
  readonly isHeuristic: boolean;
  /**
   * Lower bound of the objective, from the relaxation without non-convex rows or certified over all choices of
   * securities. Equals the objective if the solution is proven optimal.
   */
  readonly bound: number;
}

/** Effort for the proof of a choice of securities. */
export type Proof = 'quick' | 'thorough';

export interface SearchOptions {
  readonly includes?: ((origin: Origin) => boolean) | undefined;
  readonly changes?: readonly Change[] | undefined;
  /** Active set of a similar problem. */
  readonly warm?: ActiveState | undefined;
  /**
   * `any` ends at the first choice of securities that satisfies every row, and gives up early: only feasibility
   * matters.
   */
  readonly wanted?: 'best' | 'any';
  /** Lower bound of a row's measure over all choices, if the measure is minimised. */
  readonly floor?: number;
  /**
   * Bounds the objective over all choices and searches for the optimal one: within a number of nodes, or `thorough`, which
   * may take a minute. Default: no bound over choices.
   */
  readonly proof?: Proof | undefined;
}

export type SearchOutcome =
  | { readonly kind: 'solved'; readonly solution: Solution }
  /** The convex rows alone have no solution. */
  | { readonly kind: 'unsolved' }
  /** The convex rows are feasible, but no choice of securities was found that satisfies the others. */
  | { readonly kind: 'no-choice'; readonly isProven: boolean };

/** Maximum number of nodes in a search for the minimum of a measure: a second at forty securities. */
const NODES_LEAST_MAX = 400;

/** Maximum number of securities for which the search is followed by an exact one. */
export const EXACT_NAMES_MAX = 40;

/**
 * Maximum number of nodes of an exact search with certified bounds among more securities, and that times their number:
 * a few seconds.
 */
const NODES_CERTIFIED_MAX = 400;
const NODES_TIMES_NAMES_MAX = 80_000;

/** Gap of the certified bound, as a share of the objective, above which a search would not close most of it. */
const GAP_MAX = 0.04;

/**
 * Solves a problem. First solves the relaxation; if that violates a non-convex row, finds the best choice of securities
 * by saliency and swaps, or, for few securities, the optimal choice.
 */
export function solveProblem(solvers: Solvers, problem: Problem, options: SearchOptions = {}): SearchOutcome {
  const rows = nonConvexRows(problem)
    .filter(({ origin }) => options.includes?.(origin) !== false)
    .map(({ origin, row }) => movedRow(row, origin, options.changes));
  const relaxed = solveConvex(solvers.solver, problem, options);
  if (relaxed === undefined) return { kind: 'unsolved' };
  if (rows.every((row) => holds(row, relaxed.weights)))
    return { kind: 'solved', solution: { ...relaxed, isHeuristic: false, bound: relaxed.bound } };
  if (isRuledOut(problem, options)) return { kind: 'no-choice', isProven: true };
  const base = wholeProgram(problem, { includes: options.includes, changes: options.changes });
  const restricted = { includes: options.includes, changes: options.changes, base };
  const isAnyEnough = options.wanted === 'any';
  const { floor } = options;
  const search = createSearch(solvers, { problem, rows, options: restricted, relaxed, isAnyEnough, floor });
  const result =
    search.from(startsOf(problem, rows, relaxed)) ??
    search.from(largestOf(problem, rows)) ??
    fromLeast(solvers, problem, rows, options) ??
    fromRoomiest(search, solvers, { problem, rows, options: restricted, relaxed });
  if (isAnyEnough && result !== undefined)
    return { kind: 'solved', solution: { ...result, isHeuristic: true, bound: relaxed.bound } };
  if (result !== undefined && isLeast(problem, result, floor))
    return { kind: 'solved', solution: { ...result, isHeuristic: false, bound: result.objective } };
  if (isSmall(relaxed)) {
    const exact = branchAndBound({
      ...solvers,
      problem,
      rows,
      options: restricted,
      relaxed,
      incumbent: result,
      isAnyEnough,
      nodesMax: floor === undefined ? undefined : NODES_LEAST_MAX,
    });
    const outcome = outcomeOf(exact, relaxed.iterations + search.iterations());
    if (outcome !== undefined) return outcome;
  }
  if (result === undefined) return { kind: 'no-choice', isProven: false };
  const iterations = relaxed.iterations + search.iterations();
  const certified = options.proof === undefined ? undefined : certifiedBound(solvers, { problem, rows, relaxed });
  const bound = Math.max(relaxed.bound, certified?.bound ?? relaxed.bound);
  const proven = options.proof === 'thorough' ? certified && proveResult(certified, search, result) : undefined;
  if (proven !== undefined)
    return { kind: 'solved', solution: { ...proven, iterations: relaxed.iterations + search.iterations() } };
  if (certified === undefined || result.value - bound > GAP_MAX * Math.abs(result.value))
    return { kind: 'solved', solution: { ...result, isHeuristic: true, bound, iterations } };
  const exact = branchAndBound({
    ...solvers,
    problem,
    rows,
    options: restricted,
    relaxed: { ...relaxed, value: bound },
    incumbent: result,
    certified,
    isAnyEnough,
    nodesMax: Math.min(NODES_CERTIFIED_MAX, Math.ceil(NODES_TIMES_NAMES_MAX / problem.index.length)),
  });
  return outcomeOf(exact, iterations)!; // There is a solution.
}

/** Returns the best choice that a thorough proof finds, with its bound; undefined if there is no such proof. */
function proveResult(
  certified: CertifiedBound,
  search: ReturnType<typeof createSearch>,
  result: ConvexSolution,
): Solution | undefined {
  let best = result;
  const improve = (held: Uint8Array) => {
    const found = search.from([held]);
    if (found !== undefined && found.value < best.value) best = found;
    return best.value;
  };
  const bound = certified.prove({ value: result.value, improve });
  if (bound === undefined) return undefined;
  const isHeuristic = bound < best.value;
  return { ...best, isHeuristic, bound: isHeuristic ? Math.max(certified.bound, bound) : best.objective };
}

/** Returns true if so few securities may be held that an exact search follows. */
function isSmall({ assembled: { program } }: ConvexSolution): boolean {
  const { lower, upper } = program;
  return upper.reduce((count, bound, i) => count + (bound > 0 || lower[i]! < 0 ? 1 : 0), 0) <= EXACT_NAMES_MAX;
}

/** Returns the result of an exact search; undefined if it ended with neither a solution nor a proof. */
function outcomeOf({ best, bound, isComplete, iterations }: BranchOutcome, before: number): SearchOutcome | undefined {
  if (best === undefined) return isComplete ? { kind: 'no-choice', isProven: true } : undefined;
  const solution: Solution = isComplete
    ? { ...best, isHeuristic: false, bound: best.objective, iterations: before + iterations }
    : { ...best, isHeuristic: true, bound: Math.min(bound, best.objective) };
  return { kind: 'solved', solution };
}

/** Returns a choice among the securities that minimise the measure of a hard row, if others exceed its limit. */
function fromLeast(
  solvers: Solvers,
  problem: Problem,
  rows: readonly NonConvexRow[],
  { includes, changes, wanted, floor }: SearchOptions,
): ConvexSolution | undefined {
  if (floor !== undefined) return undefined;
  const isAnyEnough = wanted === 'any';
  for (const placed of problem.rows) {
    if (placed.origin.soft !== null || includes?.(placed.origin) === false) continue;
    const calm = leastProblem(problem, placed, { includes, changes });
    if (calm === null) continue;
    const least =
      calm.limit === null
        ? chosen(solvers, { problem: calm.problem, rows, options: { includes, changes }, isAnyEnough })
        : leastChoice(solvers, isAnyEnough ? { ...calm, floor: calm.limit } : calm, { includes, changes });
    if (least === undefined || (calm.limit !== null && !isLeast(calm.problem, least, calm.limit))) continue;
    const options = { includes, changes };
    const result = chosen(solvers, { problem, rows, options, isAnyEnough }, supportOf(least.weights));
    if (result !== undefined) return result;
  }
  return undefined;
}

/**
 * Returns a choice among the securities with the largest possible weights, and all uncounted ones, if other choices do
 * not reach the budget.
 * @cost a solve if these do not reach it either
 */
function fromRoomiest(
  search: ReturnType<typeof createSearch>,
  { solver }: Solvers,
  { problem, rows, options, relaxed }: Omit<SearchInput, 'isAnyEnough' | 'floor'>,
): ConvexSolution | undefined {
  const counts = rows.filter((row) => row.form === 'count');
  if (counts.length === 0) return undefined;
  const { weights, assembled } = relaxed;
  const { upper } = assembled.program;
  const held = new Uint8Array(problem.index.length).fill(1);
  for (const { members, maximum } of counts) {
    const roomiest = members.toSorted((a, b) => upper[b]! - upper[a]! || weights[b]! - weights[a]! || a - b);
    for (const i of roomiest.subarray(maximum)) held[i] = 0;
  }
  const large = rows.filter((row) => row.form === 'concentration').map(() => new Uint8Array(held.length).fill(1));
  const restriction = restrictionOf(rows, { held, short: shortSide(weights), large, isFinal: false });
  const isHeld = solveConvex(solver, problem, { ...options, restriction: { ...restriction, sums: [] } }) !== undefined;
  return isHeld ? search.from([held]) : undefined;
}

/** Solves the problem of minimising the measure of a row. */
export function leastChoice(
  solvers: Solvers,
  { problem, floor }: LeastProblem,
  { includes, changes }: RowOptions = {},
): Solution | undefined {
  const outcome = solveProblem(solvers, problem, { includes, changes, floor });
  return outcome.kind === 'solved' ? outcome.solution : undefined;
}

/** Returns the choice that a search finds from some securities. Default: the securities of the relaxation. */
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

/** Moves the parameters of a non-convex row, which have the client's names. */
function movedRow(row: NonConvexRow, origin: Origin, changes: readonly Change[] = []): NonConvexRow {
  const own = changes.filter((change) => change.origin === origin);
  return own.length === 0 ? row : { ...row, ...Object.fromEntries(own.map(({ parameter, to }) => [parameter, to])) };
}

/** Returns the starts of searches: the securities of the relaxation, and those held before. */
function startsOf(problem: Problem, rows: readonly NonConvexRow[], relaxed: ConvexSolution): Uint8Array[] {
  const starts = [supportOf(relaxed.weights)];
  if (problem.previous !== null) {
    const basket = supportOf(problem.previous.weights);
    if (basket.includes(1) && rows.every((row) => row.form !== 'count' || countHeld(row, basket) <= row.maximum))
      starts.push(basket);
  }
  return starts;
}

/** Returns further starts for failed searches: the largest securities of the reference weights of distances. */
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
