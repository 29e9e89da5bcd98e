import { type OptionProblem, priceOptions } from '#kernels/optimisation/choices/price-options.js';
import { EXCLUDED, INCLUDED, UNDECIDED } from '#kernels/optimisation/choices/split-covariance.js';
import { searchSwaps } from '#kernels/optimisation/choices/swap-search.js';
import type { DenseAlgebra } from '#kernels/optimisation/factors/algebra.js';
import type { ActiveState } from '#kernels/optimisation/program/active-state.js';
import { computeMetricDiagonal, createMetricMatrix, multiplyMetric } from '#kernels/optimisation/program/metric.js';
import { isUnbounded, type Program, sumKinks } from '#kernels/optimisation/program/program.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import { computeDotProduct } from '../base/numbers.js';
import type { CountRow, NonConvexRow } from '../definition/constraint-class.js';
import type { Assembly } from './assembly.js';
import {
  type BestChoice,
  branchNode,
  type CertifiedBound,
  closeNode,
  createCertifiedBound,
  createWarmStart,
  isSoft,
  type NarrowedNode,
  type BoundNode,
  PROOF_TOLERANCE,
  type ProofEffort,
  proveChoice,
  restrictNode,
  type SearchRows,
  selectConcentrations,
  takeLowestNode,
  THOROUGH_PROOF,
} from './certified-bound.js';
import { type ConvexSolution, createFullProgram, solveConvex } from './convex-solve.js';
import {
  attainsLowerBound,
  createMeasureProblem,
  isRuledOut,
  type MeasureProblem,
  type RowOptions,
} from './measure-problem.js';
import { createSearch, type SecuritySearch } from './name-search.js';
import { computeImprovementBound, isFixedQuadratic } from './neighbour-bound.js';
import { listNonConvexRows, type Origin, type Problem, type RowParameterChange, type Solvers } from './problem.js';
import {
  countHoldings,
  createRestriction,
  findThreshold,
  markHoldings,
  markRequiredSecurities,
  markShort,
  satisfiesRow,
  type SearchInput,
} from './restriction.js';
import { computeChoiceBound, computeFixedSum, createMoveCosts, type Moves } from './share-relaxation.js';
import { hasTails, meterSolver } from './work-meter.js';

export interface BranchInput {
  readonly solver: Solver;
  readonly algebra: DenseAlgebra;
  readonly problem: Problem;
  readonly rows: readonly NonConvexRow[];
  readonly options: Pick<Assembly, 'base' | 'includes' | 'changes'>;
  readonly relaxation: ConvexSolution;
  /** Best solution known so far. */
  readonly incumbent: ConvexSolution | undefined;
  /** Additional bound for each node. Default: none. */
  readonly certified?: CertifiedBound | undefined;
  /** True to stop at the first solution, or after fewer nodes (`NODES_ANY_MAX`) without a solution. */
  readonly isAnyEnough: boolean;
  /** Maximum number of nodes. Default: `computeNodesMax` of the problem. */
  readonly nodesMax?: number | undefined;
}

interface BranchOutcome {
  readonly best: ConvexSolution | undefined;
  /** True if every choice of securities was visited or excluded by a bound. */
  readonly isComplete: boolean;
  /** Lower bound of the objective over all choices of securities. 0 if the search stopped at the first solution. */
  readonly bound: number;
  readonly iterations: number;
}

/**
 * Maximum number of nodes of one search: about two seconds for forty securities. The search counts nodes instead of
 * time, so that equal requests have equal results.
 */
const NODES_MAX = 12_000;

/**
 * Maximum number of nodes of one search if limits on trades, norms or tails make each node several times as expensive.
 */
const NODES_KINKED_MAX = 4000;

/** Maximum number of nodes if any solution suffices; a longer search is abandoned. */
const NODES_ANY_MAX = 200;

/**
 * Maximum number of multiplications of one search. They take about half a minute if tails make each node a hundred
 * times as expensive.
 */
const WORK_MAX = 2e10;

/** Minimum relative improvement over the best solution known. */
const GAIN_MIN = 1e-12;

/**
 * Finds the best choice of securities by a best-first search. Each branch decides on a security of a violated row: the
 * one with the largest risk or, if a certified bound is given, the one whose decision raises the bounds most. A node is
 * bounded by the relaxation of its open decisions and by the cost of every further decision.
 * @cost one small solve per node: hundreds of nodes at forty securities.
 */
export function branchAndBound({
  solver: inner,
  algebra,
  problem,
  rows,
  options,
  relaxation,
  incumbent,
  certified,
  isAnyEnough,
  nodesMax = isAnyEnough ? NODES_ANY_MAX : computeNodesMax(problem),
}: BranchInput): BranchOutcome {
  const n = problem.index.length;
  const shortFlags = markShort(relaxation.weights);
  const searchRows: SearchRows = { rows, short: shortFlags, variances: computeMetricDiagonal(problem.metric) };
  const costs = createMoveCosts(algebra, problem);
  const threshold = findThreshold(rows);
  const workMax = hasTails(problem) ? (isAnyEnough ? WORK_MAX / 10 : WORK_MAX) : Infinity;
  const solver = meterSolver(inner);
  let best = incumbent;
  let iterations = 0;
  const large = selectConcentrations(rows).map(() => new Uint8Array(n));
  const root = { names: new Uint8Array(n), shares: certified?.shares, large, bound: relaxation.value };
  const openNodes: BoundNode[] = [{ ...root, ...createWarmStart(relaxation) }];
  for (let nodeCount = 0; openNodes.length > 0; nodeCount++) {
    if (isAnyEnough && best !== undefined) return { best, isComplete: false, bound: 0, iterations };
    const node = takeLowestNode(openNodes);
    if (best !== undefined && !isBetter(node.bound)) return { best, isComplete: true, bound: best.value, iterations };
    if (nodeCount >= nodesMax || solver.spent() > workMax)
      return { best, isComplete: false, bound: node.bound, iterations };
    visitNode(node);
  }
  return { best, isComplete: true, bound: best?.value ?? Infinity, iterations };

  /** Bounds a node by its relaxation, and adds the branches that may contain a better solution. */
  function visitNode(node: BoundNode): void {
    const closedNode = closeNode(node, rows);
    if (closedNode === undefined) return;
    const restriction = restrictNode(closedNode, searchRows);
    const { warm, tail, planes } = node;
    const solution = solveConvex(solver, problem, { ...options, restriction, effort: 'quick', warm, tail, planes });
    iterations += solution?.iterations ?? 0;
    if (solution === undefined || !isBetter(solution.value)) return;
    if (rows.every((row) => satisfiesRow(row, solution.weights))) {
      best = solution;
      return;
    }
    const nodeResult = finishNode(closedNode, solution);
    if (nodeResult !== undefined && isBetter(nodeResult.value)) best = nodeResult;
    const narrowedNode = narrowNode(closedNode, solution, costs.at(solution, threshold));
    if (narrowedNode !== undefined)
      openNodes.push(...branchNode(narrowedNode, solution, searchRows).filter(({ bound }) => isBetter(bound)));
  }

  function isBetter(value: number): boolean {
    return best === undefined || value < computeImprovementBound(best.value, GAIN_MIN);
  }

  /**
   * Fixes the decisions on securities for which only one alternative can lead to a better solution. Returns undefined
   * if the node cannot contain a better one.
   */
  function narrowNode(node: BoundNode, solution: ConvexSolution, moves: Moves): NarrowedNode | undefined {
    const { value } = solution;
    const heldCosts = moves.hold.map((cost) => value + cost);
    const droppedCosts = moves.drop.map((cost) => value + cost);
    const provenBound = certified?.over(node.names, node.shares!);
    let bound = Math.max(node.bound, value, provenBound?.bound ?? value);
    provenBound?.held.forEach((least, i) => (heldCosts[i] = Math.max(heldCosts[i]!, least)));
    provenBound?.dropped.forEach((least, i) => (droppedCosts[i] = Math.max(droppedCosts[i]!, least)));
    for (const row of rows) {
      if (row.form !== 'count') continue;
      const undecidedMembers = row.members.filter((i) => node.names[i] === UNDECIDED);
      const heldCount = row.members.reduce((count, i) => count + (node.names[i] === INCLUDED ? 1 : 0), 0);
      const choice = computeChoiceBound(moves, undecidedMembers, row.minimum - heldCount, row.maximum - heldCount);
      bound = Math.max(bound, value + choice.least);
      undecidedMembers.forEach((i, place) => {
        heldCosts[i] = Math.max(heldCosts[i]!, value + choice.ifHeld[place]!);
        droppedCosts[i] = Math.max(droppedCosts[i]!, value + choice.ifDropped[place]!);
      });
    }
    if (!isBetter(bound)) return undefined;
    const names = node.names.slice();
    for (let i = 0; i < n; i++) {
      if (names[i] !== UNDECIDED) continue;
      if (!isBetter(droppedCosts[i]!)) names[i] = INCLUDED;
      else if (!isBetter(heldCosts[i]!)) names[i] = EXCLUDED;
    }
    return {
      ...node,
      names,
      shares: provenBound?.shares ?? node.shares,
      bound,
      held: heldCosts,
      dropped: droppedCosts,
      ...createWarmStart(solution),
    };
  }

  /** Solves the node with its present holdings fixed. Returns the solution if it satisfies every row. */
  function finishNode(
    { large, names }: BoundNode,
    { weights, tail, planes }: ConvexSolution,
  ): ConvexSolution | undefined {
    const flags = markHoldings(weights).map((isHeld, i) => (names[i] === INCLUDED ? 1 : isHeld));
    if (rows.some((row) => row.form === 'count' && row.members.reduce((sum, i) => sum + flags[i]!, 0) > row.maximum))
      return undefined;
    const choice = {
      held: flags,
      short: shortFlags,
      large: large.map((set) => set.map((decided) => (decided === INCLUDED ? 1 : 0))),
      isFinal: true,
    };
    const solution = solveConvex(solver, problem, {
      ...options,
      restriction: createRestriction(rows, choice),
      effort: 'quick',
      tail,
      planes,
    });
    return solution !== undefined && rows.every((row) => satisfiesRow(row, solution.weights)) ? solution : undefined;
  }
}

/** Returns the default maximum number of nodes for a problem. */
function computeNodesMax({ rows }: Pick<Problem, 'rows'>): number {
  const isKinked = rows.some(({ row }) => row.form === 'distance' || row.form === 'norm' || row.form === 'tail');
  return isKinked ? NODES_KINKED_MAX : NODES_MAX;
}

/** Bound on a linear objective over all choices of securities, with starts for a search near it. */
export interface PricedChoice {
  readonly bound: number;
  /** Choices of securities from which a search starts, [N] each. */
  readonly starts: readonly Uint8Array[];
}

/** Maximum number of limits; the work increases with its square. */
const LIMITS_MAX = 8;

/**
 * Factor on the maximum numbers of securities in the second start. It is larger than 1, because the first start may be
 * infeasible.
 */
const WIDENING = 1.15;

/** Loss from holding a security that counts as rounding of the prices. It is a fraction of the largest gain. */
const ROUNDING = 1e-5;

/**
 * Prices every limit of a linear objective, so that each security is either held with its best weight or not held. At
 * the optimal prices, hardly more securities are split between alternatives than there are limits. The bound is
 * therefore close. Of the non-convex rows, only counts of securities and minimum holdings are considered.
 * @returns undefined for objectives that are not linear, for soft rows, short positions or unbounded weights, without a
 *   count row, and for fewer than two or more than `LIMITS_MAX` limits
 * @cost less than a tenth of a second for 500 securities
 */
export function priceChoice({
  problem,
  rows,
  relaxation,
}: Pick<SearchInput, 'problem' | 'rows' | 'relaxation'>): PricedChoice | undefined {
  const { program } = relaxation.assembled;
  const counts = rows.filter((row): row is CountRow => row.form === 'count');
  if (counts.length === 0 || program.curvature !== 0 || !isFixedQuadratic(problem) || isSoft(program)) return undefined;
  if (program.lower.some((bound) => bound < 0) || program.upper.includes(Infinity)) return undefined;
  const limits = listLimits(program, counts);
  if (limits.length < 2 || limits.length > LIMITS_MAX) return undefined;
  const options = listOptions(program, limits, findThreshold(rows));
  if (options === undefined) return undefined;
  const { bound, priced } = priceOptions(options);
  const constant = relaxation.objective - computeCost(program, relaxation.weights);
  return { bound: bound + constant, starts: createStarts(counts, computeGains(program, options, priced)) };
}

/** Weight of a security as one alternative. It may be zero although the security is held. */
interface SecurityOption {
  readonly i: number;
  readonly weight: number;
  readonly isHeld: boolean;
}

/** Lower and upper bound of a sum of parts, one part for each security. */
interface PricedLimit {
  readonly partOf: (option: SecurityOption) => number;
  readonly lower: number;
  readonly upper: number;
}

function listLimits({ n, rows, kinks }: Program, counts: readonly CountRow[]): PricedLimit[] {
  const limits: PricedLimit[] = [];
  for (let r = 0; r < rows.count; r++) {
    if (isUnbounded(rows, r)) continue;
    const computePart = ({ i, weight }: SecurityOption) => rows.coefficients[r * n + i]! * weight;
    limits.push({ partOf: computePart, lower: rows.lower[r]!, upper: rows.upper[r]! });
  }
  for (const { at, left, right, limit } of kinks) {
    if (limit === null) continue;
    const computePart = ({ i, weight }: SecurityOption) => (weight > at[i]! ? right[i]! : left[i]!) * (weight - at[i]!);
    limits.push({ partOf: computePart, lower: Number.NEGATIVE_INFINITY, upper: limit });
  }
  for (const { members, maximum } of counts) {
    const isMember = new Uint8Array(n);
    for (const i of members) isMember[i] = 1;
    limits.push({
      partOf: ({ i, isHeld }) => (isHeld ? isMember[i]! : 0),
      lower: Number.NEGATIVE_INFINITY,
      upper: maximum,
    });
  }
  return limits;
}

/**
 * Returns the alternative weights of each security. At any prices, one of them is optimal. The first is zero, unless
 * the security must be held; the others are the least and largest held weight and the kinks between them. Returns
 * undefined if a security has no alternative.
 */
function listOptions(program: Program, limits: readonly PricedLimit[], threshold: number): OptionProblem | undefined {
  const { n, linear, kinks } = program;
  const pricedKinks = kinks.filter(({ limit }) => limit === null);
  const starts = [0];
  const costs: number[] = [];
  const amounts: number[] = [];
  const addOption = (option: SecurityOption) => {
    const { i, weight } = option;
    const charges = pricedKinks.map(
      ({ at, left, right }) => (weight > at[i]! ? right[i]! : left[i]!) * (weight - at[i]!),
    );
    costs.push(charges.reduce((sum, charge) => sum + charge, linear[i]! * weight));
    for (const { partOf } of limits) amounts.push(partOf(option));
  };
  for (let i = 0; i < n; i++) {
    const [least, most] = [Math.max(program.lower[i]!, threshold), program.upper[i]!];
    if (program.lower[i] === 0) addOption({ i, weight: 0, isHeld: false });
    if (least <= most) {
      const innerKinks = kinks.map(({ at }) => at[i]!).filter((weight) => weight > least && weight < most);
      for (const weight of new Set([least, most, ...innerKinks])) addOption({ i, weight, isHeld: true });
    }
    if (costs.length === starts.at(-1)) return undefined;
    starts.push(costs.length);
  }
  return {
    starts: Int32Array.from(starts),
    costs: Float64Array.from(costs),
    amounts: Float64Array.from(amounts),
    lower: Float64Array.from(limits, ({ lower }) => lower),
    upper: Float64Array.from(limits, ({ upper }) => upper),
  };
}

/** Returns the gain from holding each security at the prices, [N]. It is Infinity if the security must be held. */
function computeGains({ lower }: Program, { starts }: OptionProblem, priced: Float64Array): Float64Array {
  return lower.map((bound, i) => {
    if (bound > 0) return Infinity;
    const [none, ...held] = priced.subarray(starts[i]!, starts[i + 1]!);
    return none! - Math.min(...held);
  });
}

/**
 * Returns two choices of securities in order of gain. The first holds as many as the count rows allow, the second
 * somewhat more.
 */
function createStarts(counts: readonly CountRow[], gains: Float64Array): Uint8Array[] {
  const order = Array.from(gains.keys()).toSorted((a, b) => gains[b]! - gains[a]! || a - b);
  const largest = gains.reduce((most, gain) => (Number.isFinite(gain) ? Math.max(most, Math.abs(gain)) : most), 0);
  return [
    { least: -ROUNDING * largest, share: 1 },
    { least: Number.NEGATIVE_INFINITY, share: WIDENING },
  ].map(({ least, share }) => {
    const heldFlags = Uint8Array.from(gains, (gain) => (gain > Number.NEGATIVE_INFINITY && gain >= least ? 1 : 0));
    for (const { members, maximum } of counts) {
      const memberFlags = new Uint8Array(heldFlags.length);
      for (const i of members) memberFlags[i] = heldFlags[i]!;
      for (const i of order.filter((security) => memberFlags[security] === 1).slice(Math.ceil(share * maximum)))
        heldFlags[i] = 0;
    }
    return heldFlags;
  });
}

/** Returns the linear terms of a program's objective at some weights, including kinks without a limit. */
function computeCost({ linear, kinks }: Program, weights: Float64Array): number {
  return kinks.reduce(
    (sum, kink) => (kink.limit === null ? sum + sumKinks(kink, weights) : sum),
    computeDotProduct(linear, weights),
  );
}

/** Maximum number of securities. The search reads the whole covariance. */
const SECURITIES_MAX = 1500;

/**
 * Returns the choice with the best optimum that swaps of securities find. Considers only the count rows, the bounds and
 * a fixed sum of the weights. Searches start at the largest weights of the relaxation, and at the largest weights
 * relative to the risk of a security.
 * @param workMax maximum number of multiplications
 * @returns undefined for objectives that are not a fixed quadratic, for more than `SECURITIES_MAX` securities, and if a
 *   security is in no count row
 */
function findSwapStart(
  { algebra }: Solvers,
  { problem, rows, relaxation }: Pick<SearchInput, 'problem' | 'rows' | 'relaxation'>,
  workMax: number,
): Uint8Array | undefined {
  const { weights, assembled } = relaxation;
  const { n, metric, curvature, centre, linear, lower, upper, rows: linearRows } = assembled.program;
  const counts = rows.filter((row): row is CountRow => row.form === 'count');
  const isCounted = new Uint8Array(n);
  for (const { members } of counts) for (const i of members) isCounted[i] = 1;
  if (n > SECURITIES_MAX || metric === null || !(curvature > 0) || isCounted.includes(0) || !isFixedQuadratic(problem))
    return undefined;
  const slopes = new Float64Array(n);
  multiplyMetric(metric, centre, slopes);
  const threshold = findThreshold(rows);
  const requiredFlags = markRequiredSecurities(assembled.program);
  const quadratic = {
    n,
    matrix: createMetricMatrix(metric),
    linear: slopes.map((slope, i) => slope - linear[i]! / curvature),
    sum: computeFixedSum(linearRows, n),
    // A security that can only have weight zero is never held.
    lower: lower.map((bound, i) => (bound < 0 ? bound : upper[i]! > 0 ? Math.max(bound, threshold) : Infinity)),
    upper,
    needed: requiredFlags,
    counts,
  };
  const deviations = computeMetricDiagonal(metric).map(Math.sqrt);
  const orders = [weights.map(Math.abs), weights.map((weight, i) => Math.abs(weight) / deviations[i]!)].map((sizes) =>
    Array.from(sizes.keys()).toSorted((a, b) => sizes[b]! - sizes[a]! || a - b),
  );
  return searchSwaps(algebra, quadratic, orders, workMax)?.chosen;
}

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
export type ProofDepth = 'brief' | 'quick' | 'thorough';

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
  readonly proof?: ProofDepth | undefined;
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
const SWAP_WORK_MAX: Readonly<Record<ProofDepth, number>> = { brief: 1e8, quick: 1e9, thorough: 5e9 };

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
