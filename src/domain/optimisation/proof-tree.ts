import { INCLUDED, UNDECIDED, EXCLUDED } from '#kernels/optimisation/choices/decisions.js';
import type { SplitState } from '#kernels/optimisation/choices/split-covariance.js';
import { excludeSecurities, takeLowestNode } from './search-nodes.js';
import type { Solvers } from './solvers.js';
import { createPairSplitter, SHARE_MIN } from './pair-split.js';
import { relaxShares, type CardinalityProgram } from './share-relaxation.js';

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
  /** Objective of the choice. */
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

export interface ProofTerms {
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
export function proveBound(
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
    const start = { names, shares: pairs.shares, shareMin: SHARE_MIN, turnsMax };
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
    const start = { names, shares, shareMin: SHARE_MIN, turnsMax: 1 };
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
