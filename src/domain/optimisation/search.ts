import type { ActiveState } from '#kernels/optimisation/active-set/active-state.js';
import type { NonConvexRow } from '../constraints/program-row.js';
import { branchAndBound, computeNodesMax, type BranchOutcome } from './branch-and-bound.js';
import { createCertifiedBound, proveChoice, type CertifiedBound } from './certified-bound.js';
import type { RowParameterChange } from './relaxation/parameter-change.js';
import {
  attainsLowerBound,
  isRuledOut,
  createMeasureProblem,
  type MeasureProblem,
  type RowOptions,
} from './measure-problem.js';
import { priceChoice } from './priced-choice.js';
import { type Origin, type Problem, listNonConvexRows } from './problem.js';
import { PROOF_TOLERANCE, THOROUGH_PROOF, type BestChoice, type ProofEffort } from './proof-tree.js';
import { satisfiesRow, createRestriction, markShort, markHoldings } from './restriction.js';
import { type ConvexSolution, solveConvex, createFullProgram } from './solve-convex.js';
import { countHoldings } from './drop-securities.js';
import { createSearch, type SecuritySearch } from './name-search.js';
import { isFixedQuadratic } from './neighbour-bound.js';
import type { SearchInput } from './restricted-solves.js';
import type { Solvers } from './solvers.js';
import { findSwapStart } from './swap-starts.js';

/** Solution of a problem that satisfies all rows, convex or not. */
export interface Solution extends ConvexSolution {
  /** True if the solution is feasible, but not proven to be optimal. */
  readonly isHeuristic: boolean;
  /**
   * Lower bound of the objective. It comes from the relaxation without non-convex rows, or is proven over all choices
   * of securities. It equals the objective if the solution is proven optimal.
   */
  readonly bound: number;
}

/** Effort for the proof of a choice of securities. `brief` is for one of many rebalances. */
export type Proof = 'brief' | 'quick' | 'thorough';

export interface SearchOptions {
  readonly includes?: ((origin: Origin) => boolean) | undefined;
  readonly changes?: readonly RowParameterChange[] | undefined;
  /** Active set of a solution to a similar problem. */
  readonly warm?: ActiveState | undefined;
  /**
   * Aim of the search. `any` ends at the first choice of securities that satisfies every row and has a smaller work
   * limit; it is used for tests of feasibility.
   */
  readonly wanted?: 'best' | 'any';
  /** Lower bound of the minimised measure over all choices. Absent if the objective is not a measure. */
  readonly floor?: number;
  /**
   * Effort to bound the objective over all choices and to find the optimal one. It is a number of nodes, or up to a
   * minute for `thorough`. `brief` takes a third of a second, and bounds only choices among a few securities. Default:
   * a quick proof for few securities, no bound over choices for more.
   */
  readonly proof?: Proof | undefined;
}

export type SearchOutcome =
  | { readonly kind: 'solved'; readonly solution: Solution }
  /** The convex rows have no solution. */
  | { readonly kind: 'unsolved' }
  /** The convex rows are feasible, but the search found no choice of securities that satisfies the non-convex rows. */
  | { readonly kind: 'no-choice'; readonly isProven: boolean };

/** Maximum number of nodes in a search for the minimum of a measure: one second for forty securities. */
const NODES_LEAST_MAX = 400;

/** Maximum number of securities for an exact search after the heuristic search. */
export const EXACT_SECURITIES_MAX = 40;

/**
 * Maximum number of nodes of an exact search that precedes a proof by a split of pairs. Exact searches that succeed
 * rarely need more nodes.
 */
const NODES_FIRST_MAX = 400;

/** Fraction of the nodes of an exact search for a brief proof. */
const BRIEF_SHARE = 0.1;

/** Effort of proofs for few securities: up to three seconds (quick), and up to a third of a second (brief). */
const QUICK_EFFORT: ProofEffort = { workMax: 4e9, rootIterations: 300, branchIterations: 30 };
const BRIEF_EFFORT: ProofEffort = { ...QUICK_EFFORT, workMax: 4e8 };
const THOROUGH_EFFORT: ProofEffort = { ...QUICK_EFFORT, workMax: THOROUGH_PROOF.workMax };

/**
 * Limits of an exact search with proven bounds among more securities: number of nodes, and product of nodes and
 * securities. They take a few seconds.
 */
const NODES_CERTIFIED_MAX = 400;
const NODES_TIMES_SECURITIES_MAX = 80_000;

/** Maximum number of multiplications of the swap search: a tenth of a second, one second, and some seconds. */
const SWAP_WORK_MAX: Readonly<Record<Proof, number>> = { brief: 1e8, quick: 1e9, thorough: 5e9 };

/** Gap of the proven bound, as a fraction of the objective. Above it, a search would not close most of the gap. */
const GAP_MAX = 0.04;

/**
 * Solves a problem. Solves the relaxation first. If its solution violates a non-convex row, finds a good choice of
 * securities by dropping and swapping them, or the optimal choice among few securities.
 */
export function solveProblem(solvers: Solvers, problem: Problem, options: SearchOptions = {}): SearchOutcome {
  const rows = listNonConvexRows(problem)
    .filter(({ origin }) => options.includes?.(origin) !== false)
    .map(({ origin, row }) => moveRow(row, origin, options.changes));
  const relaxation = solveConvex(solvers.solver, problem, options);
  if (relaxation === undefined) return { kind: 'unsolved' };
  if (rows.every((row) => satisfiesRow(row, relaxation.weights)))
    return { kind: 'solved', solution: { ...relaxation, isHeuristic: false, bound: relaxation.bound } };
  if (isRuledOut(problem, options)) return { kind: 'no-choice', isProven: true };
  const base = createFullProgram(problem, { includes: options.includes, changes: options.changes });
  const searchOptions = { includes: options.includes, changes: options.changes, base };
  const isAnyEnough = options.wanted === 'any';
  const { floor } = options;
  const search = createSearch(solvers, { problem, rows, options: searchOptions, relaxation, isAnyEnough, floor });
  const isSought = !isAnyEnough && floor === undefined && !isSmall(relaxation);
  const swapStart = isSought
    ? findSwapStart(solvers, { problem, rows, relaxation }, SWAP_WORK_MAX[options.proof ?? 'quick'])
    : undefined;
  const pricedChoice = isSought ? priceChoice({ problem, rows, relaxation }) : undefined;
  const furtherStarts = [...(swapStart === undefined ? [] : [swapStart]), ...(pricedChoice?.starts ?? [])];
  const result =
    search.from([...listStarts(problem, rows, relaxation), ...furtherStarts]) ??
    search.from(listReferenceStarts(problem, rows)) ??
    startFromMinimum(solvers, problem, rows, options) ??
    startFromWidestBounds(search, solvers, { problem, rows, options: searchOptions, relaxation });
  if (isAnyEnough && result !== undefined)
    return { kind: 'solved', solution: { ...result, isHeuristic: true, bound: relaxation.bound } };
  if (result !== undefined && attainsLowerBound(problem, result, floor))
    return { kind: 'solved', solution: { ...result, isHeuristic: false, bound: result.objective } };
  const request = { problem, rows, options: searchOptions, relaxation };
  if (isSmall(relaxation)) {
    const outcome = solveAmongFew(solvers, { ...request, search, incumbent: result }, options);
    if (outcome !== undefined) return outcome;
  }
  if (result === undefined) return { kind: 'no-choice', isProven: false };
  const iterations = relaxation.iterations + search.iterations();
  const isBounded = options.proof === 'quick' || options.proof === 'thorough';
  const certifiedBound = isBounded ? createCertifiedBound(solvers, { problem, rows, relaxation }) : undefined;
  const bounds = [relaxation, certifiedBound, pricedChoice].map((each) => each?.bound ?? Number.NEGATIVE_INFINITY);
  const bound = Math.min(Math.max(...bounds), result.value);
  const provenSolution =
    options.proof === 'thorough' && certifiedBound
      ? proveResult(certifiedBound.prove, bound, { search, rows, result })
      : undefined;
  if (provenSolution !== undefined)
    return { kind: 'solved', solution: { ...provenSolution, iterations: relaxation.iterations + search.iterations() } };
  if (certifiedBound === undefined || result.value - bound > GAP_MAX * Math.abs(result.value))
    return { kind: 'solved', solution: { ...result, isHeuristic: true, bound, iterations } };
  const exact = branchAndBound({
    ...solvers,
    ...request,
    relaxation: { ...relaxation, value: bound },
    incumbent: result,
    certified: certifiedBound,
    isAnyEnough,
    nodesMax: Math.min(NODES_CERTIFIED_MAX, Math.ceil(NODES_TIMES_SECURITIES_MAX / problem.index.length)),
  });
  return toOutcome(exact, iterations)!; // `result` is a solution, so the outcome is defined
}

interface SmallSearchInput extends Omit<SearchInput, 'isAnyEnough' | 'floor'> {
  readonly search: SecuritySearch;
  /** Best solution found so far. */
  readonly incumbent: ConvexSolution | undefined;
}

/**
 * Searches for the optimal choice among few securities. If only count rows limit the choice and a short exact search
 * does not finish, bounds come from a split of pairs instead of further nodes.
 * @returns undefined if the search ends with neither a solution nor a proof
 */
function solveAmongFew(
  solvers: Solvers,
  { search, incumbent, ...asked }: SmallSearchInput,
  { wanted, floor, proof }: SearchOptions,
): SearchOutcome | undefined {
  const { problem, rows, relaxation } = asked;
  const isAnyEnough = wanted === 'any';
  const searchBranches = (nodesMax: number | undefined) =>
    branchAndBound({ ...solvers, ...asked, incumbent, isAnyEnough, nodesMax });
  const countIterations = () => relaxation.iterations + search.iterations();
  if (isAnyEnough) return toOutcome(searchBranches(undefined), countIterations());
  if (floor !== undefined) return toOutcome(searchBranches(NODES_LEAST_MAX), countIterations());
  const nodesMax = Math.ceil(computeNodesMax(problem) * (proof === 'brief' ? BRIEF_SHARE : 1));
  if (!isFixedQuadratic(problem) || rows.some((row) => row.form !== 'count'))
    return toOutcome(searchBranches(nodesMax), countIterations());
  const first = searchBranches(Math.min(NODES_FIRST_MAX, nodesMax));
  if (first.isComplete) return toOutcome(first, countIterations());
  const effort = proof === 'thorough' ? THOROUGH_EFFORT : proof === 'brief' ? BRIEF_EFFORT : QUICK_EFFORT;
  const least = Math.max(relaxation.bound, first.bound);
  const proveBestChoice = (bestChoice: BestChoice) =>
    proveChoice(solvers, { problem, rows, relaxation }, { least, known: bestChoice, effort });
  const provenSolution = first.best && proveResult(proveBestChoice, least, { search, rows, result: first.best });
  if (provenSolution === undefined) return toOutcome(searchBranches(nodesMax), countIterations());
  return { kind: 'solved', solution: { ...provenSolution, iterations: countIterations() + first.iterations } };
}

/** Returns the best choice that a proof finds, with its bound. Returns undefined if no proof is possible. */
function proveResult(
  prove: CertifiedBound['prove'],
  least: number,
  {
    search,
    rows,
    result,
  }: Pick<SearchInput, 'rows'> & { readonly search: SecuritySearch; readonly result: ConvexSolution },
): Solution | undefined {
  let best = result;
  // If only as many securities are considered as the rows allow, the search starts from the exact optimum.
  const isExact = rows.every((row) => row.form === 'count' && row.minimum <= 1);
  const improveFrom = (heldFlags: Uint8Array) => {
    const convexSolution = search.from([heldFlags]);
    if (convexSolution !== undefined && convexSolution.value < best.value) best = convexSolution;
    return { value: best.value, isExact: isExact && convexSolution !== undefined };
  };
  const bound = prove({ value: result.value, improve: improveFrom });
  if (bound === undefined) return undefined;
  const isHeuristic = bound < best.value - PROOF_TOLERANCE * Math.abs(best.value);
  return { ...best, isHeuristic, bound: isHeuristic ? Math.max(least, bound) : best.objective };
}

/** Returns true if so few securities may be held that an exact search is fast enough. */
function isSmall({ assembled: { program } }: ConvexSolution): boolean {
  const { lower, upper } = program;
  return upper.reduce((count, bound, i) => count + (bound > 0 || lower[i]! < 0 ? 1 : 0), 0) <= EXACT_SECURITIES_MAX;
}

/** Returns the outcome of an exact search; undefined if the search ended with neither a solution nor a proof. */
function toOutcome({ best, bound, isComplete, iterations }: BranchOutcome, before: number): SearchOutcome | undefined {
  if (best === undefined) return isComplete ? { kind: 'no-choice', isProven: true } : undefined;
  const solution: Solution = isComplete
    ? { ...best, isHeuristic: false, bound: best.objective, iterations: before + iterations }
    : { ...best, isHeuristic: true, bound: Math.min(bound, best.objective) };
  return { kind: 'solved', solution };
}

/**
 * Returns a choice among the securities that minimise the measure of a row without a penalty. It is used if other
 * choices exceed the limit of that row.
 */
function startFromMinimum(
  solvers: Solvers,
  problem: Problem,
  rows: readonly NonConvexRow[],
  { includes, changes, wanted, floor }: SearchOptions,
): ConvexSolution | undefined {
  if (floor !== undefined) return undefined;
  const isAnyEnough = wanted === 'any';
  for (const rowWithOrigin of problem.rows) {
    if (rowWithOrigin.origin.soft !== null || includes?.(rowWithOrigin.origin) === false) continue;
    const calm = createMeasureProblem(problem, rowWithOrigin, { includes, changes });
    if (calm === null) continue;
    const least =
      calm.limit === null
        ? solveChoice(solvers, { problem: calm.problem, rows, options: { includes, changes }, isAnyEnough })
        : minimiseMeasure(solvers, isAnyEnough ? { ...calm, floor: calm.limit } : calm, { includes, changes });
    if (least === undefined || (calm.limit !== null && !attainsLowerBound(calm.problem, least, calm.limit))) continue;
    const options = { includes, changes };
    const result = solveChoice(solvers, { problem, rows, options, isAnyEnough }, markHoldings(least.weights));
    if (result !== undefined) return result;
  }
  return undefined;
}

/**
 * Returns a choice among the securities with the largest maximum weights and all securities that no row counts. It is
 * used if other choices do not reach the budget.
 * @cost a solve if these securities do not reach the budget either
 */
function startFromWidestBounds(
  search: ReturnType<typeof createSearch>,
  { solver }: Solvers,
  { problem, rows, options, relaxation }: Omit<SearchInput, 'isAnyEnough' | 'floor'>,
): ConvexSolution | undefined {
  const counts = rows.filter((row) => row.form === 'count');
  if (counts.length === 0) return undefined;
  const { weights, assembled } = relaxation;
  const { upper } = assembled.program;
  const heldFlags = new Uint8Array(problem.index.length).fill(1);
  for (const { members, maximum } of counts) {
    const membersByCapacity = members.toSorted((a, b) => upper[b]! - upper[a]! || weights[b]! - weights[a]! || a - b);
    for (const i of membersByCapacity.subarray(maximum)) heldFlags[i] = 0;
  }
  const large = rows.filter((row) => row.form === 'concentration').map(() => new Uint8Array(heldFlags.length).fill(1));
  const restriction = createRestriction(rows, { held: heldFlags, short: markShort(weights), large, isFinal: false });
  const isHeld = solveConvex(solver, problem, { ...options, restriction: { ...restriction, sums: [] } }) !== undefined;
  return isHeld ? search.from([heldFlags]) : undefined;
}

/** Solves the problem of minimising the measure of a row. */
export function minimiseMeasure(
  solvers: Solvers,
  { problem, floor }: MeasureProblem,
  { includes, changes }: RowOptions = {},
): Solution | undefined {
  const outcome = solveProblem(solvers, problem, { includes, changes, floor });
  return outcome.kind === 'solved' ? outcome.solution : undefined;
}

/** Returns the choice that a search finds from a start. Default: the securities of the relaxation. */
function solveChoice(
  { solver, algebra }: Solvers,
  input: Omit<SearchInput, 'relaxation' | 'options'> & { options: Pick<SearchOptions, 'includes' | 'changes'> },
  start?: Uint8Array,
): ConvexSolution | undefined {
  const { problem, options } = input;
  const relaxation = solveConvex(solver, problem, options);
  if (relaxation === undefined) return undefined;
  const searchOptions = { ...options, base: createFullProgram(problem, options) };
  const search = createSearch({ solver, algebra }, { ...input, options: searchOptions, relaxation });
  return search.from([start ?? markHoldings(relaxation.weights)]);
}

/** Applies parameter changes to a non-convex row. The fields of such a row have the names of the parameters. */
function moveRow(row: NonConvexRow, origin: Origin, changes: readonly RowParameterChange[] = []): NonConvexRow {
  const rowChanges = changes.filter((change) => change.origin === origin);
  return rowChanges.length === 0
    ? row
    : { ...row, ...Object.fromEntries(rowChanges.map(({ parameter, to }) => [parameter, to])) };
}

/** Returns the starts of a search: the securities of the relaxation, and those of the previous solution. */
function listStarts(problem: Problem, rows: readonly NonConvexRow[], relaxation: ConvexSolution): Uint8Array[] {
  const starts = [markHoldings(relaxation.weights)];
  if (problem.previous !== null) {
    const basket = markHoldings(problem.previous.weights);
    if (basket.includes(1) && rows.every((row) => row.form !== 'count' || countHoldings(row, basket) <= row.maximum))
      starts.push(basket);
  }
  return starts;
}

/** Returns starts for a search in which all other starts failed: the largest reference weights of distance rows. */
function listReferenceStarts(problem: Problem, rows: readonly NonConvexRow[]): Uint8Array[] {
  const counts = rows.filter((row) => row.form === 'count');
  return problem.rows.flatMap(({ row }) => {
    if (row.form !== 'distance') return [];
    const { reference } = row;
    const basket = markHoldings(reference);
    const smallestFirst = Array.from(reference.keys()).toSorted((a, b) => reference[a]! - reference[b]! || b - a);
    for (const { members, maximum } of counts) {
      const memberSet = new Set(members);
      const heldMembers = smallestFirst.filter((i) => basket[i] === 1 && memberSet.has(i));
      for (const i of heldMembers.slice(0, Math.max(0, heldMembers.length - maximum))) basket[i] = 0;
    }
    return basket.includes(1) ? [basket] : [];
  });
}
