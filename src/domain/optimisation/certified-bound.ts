import { EXCLUDED, INCLUDED, type SplitState, UNDECIDED } from '#kernels/optimisation/choices/split-covariance.js';
import type { DenseAlgebra } from '#kernels/optimisation/factors/algebra.js';
import type { ActiveState } from '#kernels/optimisation/program/active-state.js';
import { computeMetricDiagonal, createMetricMatrix, type Metric } from '#kernels/optimisation/program/metric.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import type { CountRow, NonConvexRow } from '../definition/constraint-class.js';
import type { Restriction } from './assembly.js';
import type { ConvexSolution } from './convex-solve.js';
import { computeGoalValue } from './goals.js';
import { isFixedQuadratic } from './neighbour-bound.js';
import type { Problem, Solvers } from './problem.js';
import { findThreshold, HELD_MIN, satisfiesRow } from './restriction.js';
import {
  type CardinalityProgram,
  computeEvenShares,
  computeSplitShare,
  createPairSplitter,
  relaxShares,
  SHARE_MIN as SHARE_RELAXATION_SHARE_MIN,
  type ShareSolution,
} from './share-relaxation.js';

/**
 * Node of the search tree. It decides for some securities if they are held or dropped, and for some held securities if
 * they exceed a trigger.
 */
export interface BoundNode {
  /** [N] */
  readonly names: Uint8Array;
  /**
   * Choice of each security in the certified bound of the parent node, from 0 to 1, [N]. The bound of this node starts
   * from it.
   */
  readonly shares: Float64Array | undefined;
  /** Decisions on exceeding the trigger, [N] for each concentration row, in order. */
  readonly large: readonly Uint8Array[];
  readonly bound: number;
  /** Active set, worst scenarios and cutting planes of the parent node. */
  readonly warm: ActiveState;
  readonly tail: ConvexSolution['tail'];
  readonly planes: ConvexSolution['planes'];
}

/** Node with lower bounds on the objective for holding and for dropping each security, [N] each. */
export interface NarrowedNode extends BoundNode {
  readonly held: Float64Array;
  readonly dropped: Float64Array;
}

/** Inputs of a search that all nodes share. */
export interface SearchRows {
  readonly rows: readonly NonConvexRow[];
  /** 1 for a security that is sold short, [N]. */
  readonly short: Uint8Array;
  /** [N] */
  readonly variances: Float64Array;
}

export const selectConcentrations = (rows: readonly NonConvexRow[]) =>
  rows.filter((row) => row.form === 'concentration');

/**
 * Applies the decisions that count rows force.
 * @returns undefined if a count row cannot be satisfied
 */
export function closeNode(node: BoundNode, rows: readonly NonConvexRow[]): BoundNode | undefined {
  const names = excludeSecurities(
    node.names,
    rows.filter((row) => row.form === 'count'),
  );
  return names && { ...node, names };
}

/**
 * Applies the decisions that count rows force to a copy of the decisions. Returns undefined if a count row cannot
 * be satisfied.
 */
function excludeSecurities(decided: Uint8Array, counts: readonly CountRow[]): Uint8Array | undefined {
  const names = decided.slice();
  for (const { members, minimum, maximum } of counts) {
    let heldCount = 0;
    let possibleCount = 0;
    for (const i of members) {
      if (names[i] === INCLUDED) heldCount++;
      if (names[i] !== EXCLUDED) possibleCount++;
    }
    if (heldCount > maximum || possibleCount < minimum) return undefined;
    if (heldCount === maximum) for (const i of members) if (names[i] === UNDECIDED) names[i] = EXCLUDED;
    if (possibleCount === minimum) for (const i of members) if (names[i] === UNDECIDED) names[i] = INCLUDED;
  }
  return names;
}

export function takeLowestNode<Branch extends { readonly bound: number }>(open: Branch[]): Branch {
  let least = 0;
  for (let k = 1; k < open.length; k++) if (open[k]!.bound < open[least]!.bound) least = k;
  const branch = open[least]!;
  open[least] = open.at(-1)!;
  open.pop();
  return branch;
}

/** Returns the weight bounds that hold for every choice below a node. */
export function restrictNode({ names, large }: BoundNode, { rows, short }: SearchRows): Restriction {
  const n = names.length;
  const concentrations = selectConcentrations(rows);
  const least = new Float64Array(n).fill(-Infinity);
  const upperBounds = new Float64Array(n).fill(Infinity);
  const sums: { coefficients: Float64Array; upper: number }[] = [];
  for (const row of rows) {
    if (row.form === 'threshold')
      names.forEach(
        (decided, i) => decided === INCLUDED && short[i] === 0 && (least[i] = Math.max(least[i]!, row.threshold)),
      );
    if (row.form !== 'concentration') continue;
    const largeSet = large[concentrations.indexOf(row)]!;
    const coefficients = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      upperBounds[i] = Math.min(upperBounds[i]!, largeSet[i] === EXCLUDED ? row.trigger : row.single);
      coefficients[i] = largeSet[i] === INCLUDED ? 1 : 0;
    }
    if (largeSet.includes(INCLUDED)) sums.push({ coefficients, upper: row.aggregate });
  }
  names.forEach((decided, i) => {
    if (decided !== EXCLUDED) return;
    least[i] = Math.max(least[i]!, 0);
    upperBounds[i] = Math.min(upperBounds[i]!, 0);
  });
  return { least, most: upperBounds, sums };
}

/**
 * Returns two child nodes that differ in the decision on one security of a violated row. If no decision is open,
 * returns the node itself while its weights contradict an exclusion, otherwise an empty list.
 */
export function branchNode(
  { held, dropped, ...node }: NarrowedNode,
  { weights }: ConvexSolution,
  { rows, variances }: SearchRows,
): BoundNode[] {
  const findHeaviestPosition = (test: (i: number) => boolean) => findHeaviestSecurity(weights, variances, test);
  for (const [c, row] of selectConcentrations(rows).entries()) {
    if (satisfiesRow(row, weights)) continue;
    const i = findHeaviestPosition((name) => node.large[c]![name] === UNDECIDED && weights[name]! > row.trigger);
    if (i < 0) continue;
    return [INCLUDED, EXCLUDED].map((decided) => ({
      ...node,
      large: node.large.map((set, q) => (q === c ? setValue(set, i, decided) : set)),
    }));
  }
  const involvedFlags = new Uint8Array(weights.length);
  for (const row of rows) {
    if (satisfiesRow(row, weights)) continue;
    if (row.form === 'count') for (const i of row.members) involvedFlags[i] = 1;
    if (row.form === 'threshold')
      weights.forEach((weight, i) => weight > HELD_MIN && weight < row.threshold && (involvedFlags[i] = 1));
  }
  const isOpen = (name: number) => node.names[name] === UNDECIDED && involvedFlags[name] === 1;
  let i = node.shares === undefined ? -1 : findMostDecisive(node.bound, { held, dropped }, isOpen);
  if (i < 0) i = findHeaviestPosition((name) => isOpen(name) && Math.abs(weights[name]!) > HELD_MIN);
  if (i < 0) i = findHeaviestPosition(isOpen);
  // If no open decision affects a violated row, the program is solved again with the forced decisions.
  if (i < 0) return hasChanged(node, weights) ? [node] : [];
  return [INCLUDED, EXCLUDED].map((decided) => ({
    ...node,
    bound: Math.max(node.bound, (decided === INCLUDED ? held : dropped)[i]!),
    names: setValue(node.names, i, decided),
  }));
}

/** Returns the start for the solves below a node. */
export function createWarmStart({ answer, tail, planes }: ConvexSolution): Pick<BoundNode, 'warm' | 'tail' | 'planes'> {
  return { warm: answer.state, tail, planes };
}

function hasChanged({ names }: BoundNode, weights: Float64Array): boolean {
  return names.some((decided, i) => decided === EXCLUDED && Math.abs(weights[i]!) > HELD_MIN);
}

/**
 * Returns the security with the largest w^2 times variance among those that pass a test. Of several equal ones, returns
 * the first. Returns -1 if there is none.
 */
function findHeaviestSecurity(weights: Float64Array, variances: Float64Array, test: (i: number) => boolean): number {
  let result = -1;
  let largestPosition = -1;
  for (let i = 0; i < weights.length; i++) {
    const size = weights[i]! * weights[i]! * variances[i]!;
    if (size > largestPosition && test(i)) {
      result = i;
      largestPosition = size;
    }
  }
  return result;
}

/**
 * Returns the security with the largest product of two increases of the bound: by holding it and by dropping it.
 * Returns -1 if no security has both.
 */
function findMostDecisive(
  bound: number,
  { held, dropped }: Pick<NarrowedNode, 'held' | 'dropped'>,
  test: (i: number) => boolean,
): number {
  let result = -1;
  let largestValue = 0;
  for (let i = 0; i < held.length; i++) {
    const rise = (held[i]! - bound) * (dropped[i]! - bound);
    if (rise > largestValue && test(i)) {
      result = i;
      largestValue = rise;
    }
  }
  return result;
}

function setValue(values: Uint8Array, position: number, value: number): Uint8Array {
  const nextValues = values.slice();
  nextValues[position] = value;
  return nextValues;
}

/** Branch of the proof: all choices of securities that agree with some decisions. */
interface Branch {
  /** [N] */
  readonly names: Uint8Array;
  /** Lower bound of the objective over the choices of the branch. */
  readonly bound: number;
  /** [N] */
  readonly shares: Float64Array;
  readonly state: SplitState;
}

/** Best choice found so far. */
export interface BestChoice {
  readonly value: number;
  /** Searches for a better choice, starting from a set of securities, [N]. */
  readonly improve: (heldFlags: Uint8Array) => ImprovedChoice;
}

export interface ImprovedChoice {
  /** Objective of the best choice found so far. */
  readonly value: number;
  /** True if no choice among the starting securities has a lower objective. */
  readonly isExact: boolean;
}

/** Work and precision of a proof. Work is counted instead of time, so that equal requests have equal answers. */
export interface ProofEffort {
  /** Maximum work of all iterations; see `countWork`. */
  readonly workMax: number;
  /** Number of iterations of the split before the first decision, and after each decision. */
  readonly rootIterations: number;
  readonly branchIterations: number;
}

/** Effort of about one minute on one processor. */
export const THOROUGH_PROOF: ProofEffort = { workMax: 3e11, rootIterations: 800, branchIterations: 100 };

/** Fraction of the work before the first decision. */
const ROOT_SHARE = 0.6;

/** Relative difference below which a bound equals an objective: the accuracy of the bounds. */
export const PROOF_TOLERANCE = 1e-7;

/** Number of iterations of the shares, starting from the shares of the split. */
const ROOT_SHARE_ITERATIONS = 4;
const BRANCH_SHARE_ITERATIONS = 2;

/**
 * Maximum number of branches, and minimum number. If fewer are affordable, deciding securities would not raise the
 * bound.
 */
const BRANCHES_MAX = 2000;
const BRANCHES_MIN = 10;

interface ProofTerms {
  /** Known lower bound. */
  readonly least: number;
  readonly known: BestChoice;
  readonly effort: ProofEffort;
}

/**
 * Raises the bound over all choices of securities. Splits pairs of securities off the covariance. Then repeatedly takes
 * the branch with the lowest bound, decides its least certain security, and computes a new split.
 * @returns the bound, which equals the objective of the best choice up to rounding if no choice is better; undefined if
 * pairs cannot be split off
 * @cost hundreds of decompositions into eigenpairs
 */
function proveBound(
  { solver, algebra }: Solvers,
  counted: CardinalityProgram,
  { least, known: { value: bestValue, improve }, effort }: ProofTerms,
): number | undefined {
  const { counts } = counted;
  const splitPairs = createPairSplitter(algebra, counted);
  if (splitPairs === undefined) return undefined;
  const { n } = counted.program;
  let value = bestValue;
  let work = 0;
  let lowestBound = Infinity;
  const { workMax, rootIterations, branchIterations } = effort;
  const iterationCount = Math.min(rootIterations, Math.ceil((ROOT_SHARE * workMax) / countWork(n)));
  const root = boundBranch({ names: new Uint8Array(n), bound: least }, iterationCount, ROOT_SHARE_ITERATIONS);
  if (root === undefined) return undefined;
  ({ value } = improve(selectLargestShares(root)));
  const isDeep = workMax - work >= 2 * BRANCHES_MIN * branchIterations * countWork(n);
  const openBranches: Branch[] = [root];
  for (let count = 0; openBranches.length > 0; count++) {
    const branch = takeLowestNode(openBranches);
    if (!isOpen(branch.bound)) break;
    if (!isDeep || work >= workMax || count >= BRANCHES_MAX) return Math.min(lowestBound, branch.bound);
    const name = findLeastCertain(branch);
    if (name === undefined) {
      const improvedChoice = improve(selectLargestShares(branch));
      ({ value } = improvedChoice);
      if (!improvedChoice.isExact)
        lowestBound = Math.min(lowestBound, Math.max(branch.bound, boundChoice(branch.names)));
      continue;
    }
    for (const decision of [INCLUDED, EXCLUDED]) {
      const names = excludeSecurities(branch.names.with(name, decision), counts);
      if (names === undefined) continue;
      const next = boundBranch({ ...branch, names }, branchIterations, BRANCH_SHARE_ITERATIONS);
      if (next === undefined) return Math.min(lowestBound, branch.bound);
      if (isOpen(next.bound)) openBranches.push(next);
    }
  }
  return Math.min(lowestBound, value);

  function isOpen(bound: number): boolean {
    return bound < value - PROOF_TOLERANCE * Math.abs(value);
  }

  /**
   * Improves the split and the bound of a branch. Decides securities for which the other alternative is worse than
   * `value`.
   */
  function boundBranch(
    { names, bound, state }: Pick<Branch, 'names' | 'bound'> & { readonly state?: SplitState },
    count: number,
    turnsMax: number,
  ): Branch | undefined {
    const pairs = splitPairs!(names, count, state);
    if (pairs === undefined) return undefined;
    work += count * countWork(pairs.state.open.length);
    const start = { names, shares: pairs.shares, shareMin: SHARE_RELAXATION_SHARE_MIN, turnsMax };
    const relaxedShares = relaxShares(solver, pairs.counted, pairs.split, start);
    if (relaxedShares === undefined) return { names, bound, shares: pairs.shares, state: pairs.state };
    const decidedNames = names.map((decision, i) => {
      if (decision !== UNDECIDED) return decision;
      return relaxedShares.dropped[i]! >= value ? INCLUDED : relaxedShares.held[i]! >= value ? EXCLUDED : UNDECIDED;
    });
    return {
      names: decidedNames,
      bound: Math.max(bound, relaxedShares.bound),
      shares: relaxedShares.shares,
      state: pairs.state,
    };
  }

  /** Returns the bound of a single choice, which is its objective up to rounding. */
  function boundChoice(names: Uint8Array): number {
    const [none, shares] = [new Float64Array(n), new Float64Array(n).fill(1)];
    const start = { names, shares, shareMin: SHARE_RELAXATION_SHARE_MIN, turnsMax: 1 };
    return relaxShares(solver, counted, none, start)?.bound ?? Number.NEGATIVE_INFINITY;
  }

  /**
   * Returns the securities with the largest shares, as many as count rows allow, and all securities in no count row.
   */
  function selectLargestShares({ names, shares }: Branch): Uint8Array {
    const heldFlags = new Uint8Array(n).fill(1);
    for (const { members, maximum } of counts) {
      const computeRank = (i: number) => (names[i] === INCLUDED ? 2 : names[i] === EXCLUDED ? -1 : shares[i]!);
      for (const i of members.toSorted((a, b) => computeRank(b) - computeRank(a) || a - b).subarray(maximum))
        heldFlags[i] = 0;
    }
    return heldFlags;
  }

  /** Returns the undecided security with the share nearest to one half. */
  function findLeastCertain({ names, shares: parts }: Branch): number | undefined {
    let branchIndex: number | undefined;
    for (const { members } of counts) {
      for (const i of members) {
        const isNearer = branchIndex === undefined || Math.abs(parts[i]! - 0.5) < Math.abs(parts[branchIndex]! - 0.5);
        if (names[i] === UNDECIDED && isNearer) branchIndex = i;
      }
    }
    return branchIndex;
  }
}

/**
 * Returns the work of an iteration: the cube of the order for the eigenpairs, and a multiple of its square for passes
 * over the matrices.
 */
function countWork(order: number): number {
  return order * order * (order + 400);
}

/** Choice problem, with the optimum of its convex relaxation. */
export interface BoundedChoice {
  readonly problem: Problem;
  readonly rows: readonly NonConvexRow[];
  readonly relaxation: ConvexSolution;
}

/** Lower bounds on the objective over choices of securities. */
export interface CertifiedBound {
  readonly bound: number;
  /**
   * Returns a bound over the choices that agree with given decisions. The iteration starts from the shares of similar
   * decisions.
   */
  readonly over: (names: Uint8Array, shares: Float64Array) => ShareSolution | undefined;
  /** [N] */
  readonly shares: Float64Array;
  /** Raises the bound by a longer search; see `proveBound`. */
  readonly prove: (bestChoice: BestChoice) => number | undefined;
}

/** Maximum iterations of the share relaxation: at first, after a step of the split, and after a branching decision. */
const ITERATIONS_FIRST = 24;
const ITERATIONS_STEP = 12;
const ITERATIONS_NODE = 5;

/**
 * Minimum share of an undecided security. With a smaller share, a security that the relaxation dropped would not return
 * within a few iterations.
 */
const SHARE_MIN = 0.01;

/** Maximum number of Newton steps for the split. After a dozen steps the bound rises by less than one per cent. */
const SPLIT_STEPS = 12;

/**
 * Maximum number of securities for which the split is optimised. Each step takes a dozen factorisations, two seconds in
 * total.
 */
const SPLIT_SECURITIES_MAX = 600;

/** Maximum number of securities for which a bound is computed: about five seconds with a proportional split. */
const SECURITIES_MAX = 1500;

/** Maximum number of step lengths that are tried. Each is a third of the previous length. */
const STEP_TRIALS = 5;

/** Initial fraction of the largest proportional split. The barrier is finite at this fraction. */
const START_FRACTION = 0.95;

/**
 * Weight of the barrier in the first step, as a fraction of the bound, and the factor by which the weight decreases in
 * each step.
 */
const BARRIER_FIRST = 0.1;
const BARRIER_DECREASE = 0.8;

/**
 * Weight of the diagonal of the curvature of the bound. The diagonal is the increase of the bound per unit of a part,
 * divided by the part.
 */
const DAMPING = 0.2;

/** Minimum fraction of a part that remains after a step. */
const PART_MIN = 0.1;

/**
 * Bounds the objective over all choices of a number of securities: see `relaxShares`.
 * @returns undefined for objectives that are not a fixed quadratic, for soft rows, without a count row, and for more
 *   than `SECURITIES_MAX` securities
 * @cost a dozen to a hundred factorisations a step
 */
export function createCertifiedBound(solvers: Solvers, choice: BoundedChoice): CertifiedBound | undefined {
  const countedProgram = createCountedProgram(choice);
  const best = countedProgram && findBestSplit(solvers, countedProgram);
  if (countedProgram === undefined || best === undefined) return undefined;
  const { split, answer } = best;
  return {
    bound: Math.max(choice.relaxation.bound, answer.bound),
    shares: answer.shares,
    over: (decided, shares) =>
      relaxShares(solvers.solver, countedProgram, split, {
        names: decided,
        shares,
        shareMin: SHARE_MIN,
        turnsMax: ITERATIONS_NODE,
      }),
    prove: (bestChoice) =>
      proveBound(solvers, countedProgram, { least: answer.bound, known: bestChoice, effort: THOROUGH_PROOF }),
  };
}

/** Returns the bound of `proveBound`. Returns undefined if the problem has none. */
export function proveChoice(solvers: Solvers, choice: BoundedChoice, terms: ProofTerms): number | undefined {
  const countedProgram = createCountedProgram(choice);
  return countedProgram && proveBound(solvers, countedProgram, terms);
}

/** Part of each variance that is split off, with the bound that results from it. */
interface BoundingSplit {
  readonly split: Float64Array;
  readonly answer: ShareSolution;
}

/**
 * Finds, by Newton's method, the split of the variances that gives the best bound. The barrier is the logarithm of the
 * determinant of the covariance without the split part.
 * @source Zheng, Sun & Li (2014), INFORMS J. Computing 26(4), for the best split, found there by semidefinite
 * programming.
 */
function findBestSplit({ solver, algebra }: Solvers, counted: CardinalityProgram): BoundingSplit | undefined {
  const { n } = counted.program;
  const metric = counted.program.metric!; // a counted program has a metric
  const names = new Uint8Array(n);
  const relaxSplit = (split: Float64Array, shares: Float64Array, turnsMax: number) =>
    relaxShares(solver, counted, split, { names, shares, shareMin: SHARE_MIN, turnsMax });
  const variances = computeMetricDiagonal(metric);
  const wholeShare = computeSplitShare(algebra, metric, variances);
  const proportional = variances.map((variance) => wholeShare * variance);
  const first = relaxSplit(proportional, computeEvenShares(counted.counts, names), ITERATIONS_FIRST);
  if (first === undefined) return undefined;
  let best = { split: proportional, answer: first };
  let split = proportional.map((part) => START_FRACTION * part);
  const steps = n <= SPLIT_SECURITIES_MAX ? SPLIT_STEPS : 0;
  let remainingSplitRemainder = steps === 0 ? undefined : factorRemainder(algebra, metric, split);
  let answer = remainingSplitRemainder && relaxSplit(split, first.shares, ITERATIONS_STEP);
  let length = 1;
  let barrier = BARRIER_FIRST;
  for (
    let step = 0;
    step < steps && remainingSplitRemainder !== undefined && answer !== undefined;
    step++, barrier *= BARRIER_DECREASE
  ) {
    const weight = (barrier * Math.abs(answer.bound)) / n;
    const direction = computeNewtonStep(algebra, { answer, split, rest: remainingSplitRemainder, weight });
    const value = answer.bound + weight * remainingSplitRemainder.logDeterminant;
    let improvedSplit: typeof best | undefined;
    length = Math.min(1, 3 * length);
    for (let trial = 0; trial < STEP_TRIALS && improvedSplit === undefined; trial++, length /= 3) {
      const trialSplit = split.map((part, i) => Math.max(part + length * direction[i]!, PART_MIN * part));
      const trialRemainder = factorRemainder(algebra, metric, trialSplit);
      const next = trialRemainder && relaxSplit(trialSplit, answer.shares, ITERATIONS_STEP);
      if (next === undefined || !(next.bound + weight * trialRemainder!.logDeterminant > value)) continue;
      improvedSplit = { split: trialSplit, answer: next };
      remainingSplitRemainder = trialRemainder;
    }
    if (improvedSplit === undefined) break;
    length *= 3;
    ({ split, answer } = improvedSplit);
    if (answer.bound > best.answer.bound) best = improvedSplit;
  }
  return best;
}

/** Returns the program and count rows for the relaxation. Returns undefined if the relaxation gives no bound. */
function createCountedProgram({ problem, rows, relaxation }: BoundedChoice): CardinalityProgram | undefined {
  const counts = rows.filter((row): row is CountRow => row.form === 'count');
  const { program } = relaxation.assembled;
  if (counts.length === 0 || program.n > SECURITIES_MAX || !isFixedQuadratic(problem)) return undefined;
  if (program.metric === null || !(program.curvature > 0) || isSoft(program)) return undefined;
  return { valueAt: (weights) => computeGoalValue(problem, weights), program, counts, threshold: findThreshold(rows) };
}

/** Returns true if a linear row or a limit on a sum of kinks may be violated at a penalty. */
export function isSoft({ rows, kinks }: Pick<Program, 'rows' | 'kinks'>): boolean {
  return (
    rows.penalty.some(Number.isFinite) || kinks.some(({ limit, penalty }) => limit !== null && Number.isFinite(penalty))
  );
}

/** Covariance without the split part, in factored form. */
interface SplitRemainder {
  /** [N x N] */
  readonly inverse: Float64Array;
  readonly logDeterminant: number;
}

/**
 * Factors the covariance without the split part. Returns undefined if it is not positive definite.
 * @cost n^3
 */
function factorRemainder(algebra: DenseAlgebra, metric: Metric, split: Float64Array): SplitRemainder | undefined {
  const { n } = metric;
  return algebra.scope(() => {
    const factor = algebra.room(n * n);
    factor.set(createMetricMatrix(metric));
    for (let i = 0; i < n; i++) factor[i * n + i]! -= split[i]!;
    if (algebra.cholesky(factor, n) < n) return undefined;
    let logDeterminant = 0;
    for (let i = 0; i < n; i++) logDeterminant += 2 * Math.log(factor[i * n + i]!);
    const half = algebra.room(n * n).fill(0);
    for (let i = 0; i < n; i++) half[i * n + i] = 1;
    algebra.solveLower(factor, n, half);
    const inverse = new Float64Array(n * n);
    algebra.symmetricRankK(half, n, inverse);
    return { inverse, logDeterminant };
  });
}

interface SplitAscent {
  readonly answer: ShareSolution;
  readonly split: Float64Array;
  readonly rest: SplitRemainder;
  /** Weight of the barrier. */
  readonly weight: number;
}

/** Returns the Newton direction that raises the sum of bound and barrier, [N]. */
function computeNewtonStep(
  algebra: DenseAlgebra,
  { answer, split, rest: { inverse }, weight }: SplitAscent,
): Float64Array {
  const n = split.length;
  const { weights, shares } = answer;
  const rises = weights.map((x, i) => (x * x) / shares[i]! - x * x);
  const mean = rises.reduce((sum, rise, i) => sum + rise * split[i]!, 0) / n;
  const direction = rises.map((rise, i) => rise - weight * inverse[i * n + i]!);
  algebra.scope(() => {
    const curvature = algebra.room(n * n);
    for (let e = 0; e < n * n; e++) curvature[e] = weight * inverse[e]! ** 2;
    for (let i = 0; i < n; i++)
      curvature[i * n + i]! += (DAMPING * Math.max(rises[i]!, (1e-3 * mean) / split[i]!)) / split[i]!;
    if (algebra.cholesky(curvature, n) < n) return void direction.fill(0);
    algebra.solveLower(curvature, n, direction);
    algebra.solveLowerTransposed(curvature, n, direction);
  });
  return direction;
}
