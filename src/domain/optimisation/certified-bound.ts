import type { DenseAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { computeMetricDiagonal, createMetricMatrix, type Metric } from '#kernels/optimisation/program/metric.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import type { CountRow, NonConvexRow } from '../constraints/program-row.js';
import { computeGoalValue } from './goals/goal-value.js';
import { computeSplitShare } from './move-costs.js';
import type { Solvers } from './solvers.js';
import { isFixedQuadratic } from './neighbour-bound.js';
import type { Problem } from './problem.js';
import { proveBound, THOROUGH_PROOF, type BestChoice, type ProofTerms } from './proof-tree.js';
import { findThreshold } from './restriction.js';
import { computeEvenShares, relaxShares, type CardinalityProgram, type ShareSolution } from './share-relaxation.js';
import type { ConvexSolution } from './solve-convex.js';

/** Choice problem, with the optimum of its convex relaxation. */
export interface BoundedChoice {
  readonly problem: Problem;
  readonly rows: readonly NonConvexRow[];
  readonly relaxation: ConvexSolution;
}

/** Lower bounds on the objective over choices of securities. */
export interface CertifiedBound {
  /** Bound over all choices. */
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
