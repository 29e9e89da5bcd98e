import { INCLUDED, UNDECIDED, EXCLUDED } from '#kernels/optimisation/choices/decisions.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import type { DenseAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { computeMetricDiagonal } from '#kernels/optimisation/program/metric.js';
import { computeChoiceBound, createMoveCosts, type Moves } from './move-costs.js';
import type { NonConvexRow } from '../constraints/program-row.js';
import type { Assembly } from './assemble.js';
import { computeImprovementBound } from './improvement-bound.js';
import type { CertifiedBound } from './certified-bound.js';
import type { Problem } from './problem.js';
import { satisfiesRow, createRestriction, markShort, markHoldings, findThreshold } from './restriction.js';
import {
  branchNode,
  closeNode,
  selectConcentrations,
  restrictNode,
  takeLowestNode,
  createWarmStart,
  type NarrowedNode,
  type Node,
  type SearchRows,
} from './search-nodes.js';
import { solveConvex, type ConvexSolution } from './solve-convex.js';
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

export interface BranchOutcome {
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
  const openNodes: Node[] = [{ ...root, ...createWarmStart(relaxation) }];
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
  function visitNode(node: Node): void {
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
  function narrowNode(node: Node, solution: ConvexSolution, moves: Moves): NarrowedNode | undefined {
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
  function finishNode({ large, names }: Node, { weights, tail, planes }: ConvexSolution): ConvexSolution | undefined {
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
export function computeNodesMax({ rows }: Pick<Problem, 'rows'>): number {
  const isKinked = rows.some(({ row }) => row.form === 'distance' || row.form === 'norm' || row.form === 'tail');
  return isKinked ? NODES_KINKED_MAX : NODES_MAX;
}
