import {
  type Count,
  EXCLUDED,
  INCLUDED,
  splitCovariance,
  type SplitState,
  UNDECIDED,
} from '#kernels/optimisation/choices/split-covariance.js';
import type { DenseAlgebra } from '#kernels/optimisation/factors/algebra.js';
import type { ActiveState } from '#kernels/optimisation/program/active-state.js';
import {
  addDiagonal,
  computeMetricDiagonal,
  createDenseMetric,
  createMetricMatrix,
  type Metric,
  multiplyMetric,
} from '#kernels/optimisation/program/metric.js';
import { computeLagrangianExcess, computeLagrangianSlopes } from '#kernels/optimisation/program/optimality.js';
import type { Point, Program, Rows } from '#kernels/optimisation/program/program.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import type { CountRow } from '../definition/constraint-class.js';
import type { ConvexSolution } from './convex-solve.js';
import { minimiseStep } from './neighbour-bound.js';
import type { Problem } from './problem.js';

/** Lower bounds on how much the value of a relaxation increases through a decision on a security, [N] each. */
export interface Moves {
  /** Increase from dropping a security. */
  readonly drop: Float64Array;
  /** Increase from holding a security with at least the minimum weight. */
  readonly hold: Float64Array;
  /** Parts of `drop` and `hold` that may be summed over securities. */
  readonly dropPart: Float64Array;
  readonly holdPart: Float64Array;
}

export interface MoveCosts {
  at(solution: ConvexSolution, leastWeight: number): Moves;
}

type GoalOfMoves = Pick<Problem, 'goal' | 'metric'>;

/**
 * Fraction of the mean variance that makes a singular metric regular. It equals the factor of the small term that makes
 * the solution of a problem unique.
 */
const RIDGE = 1e-10;

/** Fraction below which the remainder of a projection counts as rounding. */
const ROUNDING = 1e-12;

/** Number of bisection steps in the search for the fraction of the variances that can be split off. */
const BISECTION_STEPS = 30;

/**
 * Creates lower bounds for decisions on securities from the optimum x of a relaxation. Every feasible move d from x
 * adds at least half the curvature times d' Sigma d plus the slopes of the Lagrangian. For a given d_i, the least d'
 * Sigma d is d_i^2 over the i-th diagonal entry of the inverse of Sigma. For several securities together, the variances
 * are split: Sigma - t diag(Sigma) stays positive semi-definite. Then d' Sigma d is at least t times the sum of the
 * variances times d_i^2.
 * @cost n^3 once, n^2 for each relaxation.
 * @source Frangioni & Gentile (2007), SDP diagonalizations and perspective cuts, Operations Research Letters 35(2), for
 * the split.
 */
export function createMoveCosts(algebra: DenseAlgebra, { goal, metric }: GoalOfMoves): MoveCosts {
  if (goal.form !== 'quadratic') return { at: ({ weights }) => createEmptyBounds(weights.length) };
  const { n } = metric;
  const half = goal.curvature / 2;
  const variances = computeMetricDiagonal(metric);
  const share = computeSplitShare(algebra, metric, variances);
  let entries: Float64Array | undefined;
  return {
    at({ weights, assembled, answer }, leastWeight) {
      entries ??= computeInverseDiagonal(algebra, metric, computeFixedSum(assembled.program.rows, n) !== undefined);
      const { left, right } = computeLagrangianSlopes(assembled.program, answer.point);
      const moves: Moves = {
        drop: new Float64Array(n),
        hold: new Float64Array(n),
        dropPart: new Float64Array(n),
        holdPart: new Float64Array(n),
      };
      for (let i = 0; i < n; i++) {
        const fall = weights[i]! * weights[i]!;
        // At a kink or an upper bound, a force holds the weight. A decrease must overcome this force.
        const force = Math.abs(weights[i]!) * Math.max(weights[i]! < 0 ? right[i]! : -left[i]!, 0);
        moves.drop[i] = force + (half * fall) / entries[i]!;
        moves.dropPart[i] = force + half * share * variances[i]! * fall;
        const rise = leastWeight - weights[i]!;
        // short positions keep their weight
        if (!(rise > 0) || weights[i]! < 0) continue;
        const slope = Math.max(right[i]!, 0) * rise;
        moves.hold[i] = slope + (half * rise * rise) / entries[i]!;
        moves.holdPart[i] = slope + half * share * variances[i]! * rise * rise;
      }
      return moves;
    },
  };
}

/**
 * Returns bounds of zero. They apply if the goal is a ratio or a tail: it is not quadratic, and a move may cost
 * nothing.
 */
function createEmptyBounds(n: number): Moves {
  const zeros = new Float64Array(n);
  return { drop: zeros, hold: zeros, dropPart: zeros, holdPart: zeros };
}

/**
 * Lower bound on the cost of a permitted number of holdings in a group. There is one bound overall, and one for each
 * security if it is held or dropped.
 */
export interface ChoiceBound {
  readonly least: number;
  /** Bound if the security is held, by position in `names`. */
  readonly ifHeld: Float64Array;
  readonly ifDropped: Float64Array;
}

/**
 * Returns the least sum of parts over all choices of `minimum` to `maximum` securities. The best choice holds the
 * securities that are cheapest to hold relative to dropping them. Returns Infinity if there is no choice.
 */
export function computeChoiceBound(
  { dropPart, holdPart }: Pick<Moves, 'dropPart' | 'holdPart'>,
  names: Int32Array,
  minimum: number,
  maximum: number,
): ChoiceBound {
  const count = names.length;
  const ifHeld = new Float64Array(count);
  const droppedCosts = new Float64Array(count);
  const [from, to] = [Math.max(minimum, 0), Math.min(maximum, count)];
  if (from > to) return { least: Number.POSITIVE_INFINITY, ifHeld, ifDropped: droppedCosts };
  const differences = Float64Array.from(names, (i) => holdPart[i]! - dropPart[i]!);
  const order = Array.from(names.keys()).toSorted((a, b) => differences[a]! - differences[b]! || a - b);
  let least = names.reduce((sum, i) => sum + dropPart[i]!, 0);
  let heldCount = 0;
  while (heldCount < to && (heldCount < from || differences[order[heldCount]!]! < 0))
    least += differences[order[heldCount++]!]!;
  const dearestCost = heldCount > 0 ? differences[order[heldCount - 1]!]! : Number.NEGATIVE_INFINITY;
  const next = heldCount < count ? differences[order[heldCount]!]! : Number.POSITIVE_INFINITY;
  order.forEach((place, rank) => {
    // A further security is added or replaces the most expensive holding. A dropped one is replaced by the next
    // security or not replaced.
    const extraCost = Math.min(
      heldCount < to ? 0 : Number.POSITIVE_INFINITY,
      heldCount > 0 ? -dearestCost : Number.POSITIVE_INFINITY,
    );
    const savedCost = Math.min(heldCount > from ? 0 : Number.POSITIVE_INFINITY, next);
    ifHeld[place] = rank < heldCount ? least : least + differences[place]! + extraCost;
    droppedCosts[place] = rank >= heldCount ? least : least - differences[place]! + savedCost;
  });
  return { least, ifHeld, ifDropped: droppedCosts };
}

/**
 * Returns the sum of the weights if a row without a penalty fixes it; moves of the weights then sum to zero. Otherwise
 * returns undefined.
 */
export function computeFixedSum({ count, coefficients, lower, upper, penalty }: Rows, n: number): number | undefined {
  for (let r = 0; r < count; r++) {
    if (
      lower[r] === upper[r] &&
      penalty[r] === Infinity &&
      coefficients.subarray(r * n, r * n + n).every((value) => value === 1)
    )
      return upper[r];
  }
  return undefined;
}

/**
 * Returns the diagonal of the inverse metric. If the budget is fixed, the inverse is projected on moves with sum zero.
 * An unknown entry is Infinity.
 */
function computeInverseDiagonal(algebra: DenseAlgebra, metric: Metric, isBudgeted: boolean): Float64Array {
  const { n } = metric;
  const factor = createMetricMatrix(metric).slice();
  const ridge = RIDGE * computeMetricDiagonal(metric).reduce((sum, value) => sum + value / n, 0);
  for (let i = 0; i < n; i++) factor[i * n + i]! += ridge;
  if (algebra.cholesky(factor, n) < n) return new Float64Array(n).fill(Infinity);
  const inverse = new Float64Array(n * n);
  for (let i = 0; i < n; i++) inverse[i * n + i] = 1;
  algebra.solveLower(factor, n, inverse);
  const diagonal = new Float64Array(n);
  const inverseRowSums = new Float64Array(n);
  let total = 0;
  for (let k = 0; k < n; k++) {
    let sum = 0;
    for (let i = 0; i <= k; i++) sum += inverse[k * n + i]!;
    for (let i = 0; i <= k; i++) {
      diagonal[i]! += inverse[k * n + i]! ** 2;
      inverseRowSums[i]! += inverse[k * n + i]! * sum;
    }
    total += sum * sum;
  }
  return isBudgeted
    ? diagonal.map((value, i) => Math.max(value - inverseRowSums[i]! ** 2 / total, ROUNDING * value))
    : diagonal;
}

/**
 * Returns the largest fraction of the variances that can be subtracted while the remainder stays positive definite. The
 * fraction is slightly reduced for rounding. It is zero for a singular metric.
 */
export function computeSplitShare(algebra: DenseAlgebra, metric: Metric, variances: Float64Array): number {
  const { n } = metric;
  const matrix = createMetricMatrix(metric);
  const leavesPositiveDefinite = (share: number) => {
    const restMatrix = matrix.slice();
    for (let i = 0; i < n; i++) restMatrix[i * n + i]! -= share * variances[i]!;
    return algebra.cholesky(restMatrix, n) === n;
  };
  return findLargestShare(leavesPositiveDefinite, BISECTION_STEPS) * (1 - 1e-9);
}

/**
 * Returns by bisection the largest fraction for which a condition is met. The condition must be met for all smaller
 * fractions.
 */
function findLargestShare(isMet: (share: number) => boolean, halvings: number): number {
  let low = 0;
  let high = 1;
  for (let step = 0; step < halvings; step++) {
    const middle = (low + high) / 2;
    if (isMet(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** Convex program with count rows, and with the minimum weight of held securities. */
export interface CardinalityProgram {
  /** Computes the objective of the program, including its constant. */
  readonly valueAt: (weights: Float64Array) => number;
  readonly program: Program;
  readonly counts: readonly CountRow[];
  readonly threshold: number;
}

/** Decisions on securities, and initial shares of the iteration. */
export interface ShareStart {
  /** [N] */
  readonly names: Uint8Array;
  /** [N] */
  readonly shares: Float64Array;
  /** Minimum share of an undecided security. */
  readonly shareMin: number;
  readonly turnsMax: number;
}

/** Lower bounds of the objective over choices of securities. */
interface ShareBounds {
  readonly bound: number;
  /** Bounds over the choices that hold a security (`held`) or do not (`dropped`), [N]. */
  readonly held: Float64Array;
  readonly dropped: Float64Array;
}

export interface ShareSolution extends ShareBounds {
  /** [N] */
  readonly shares: Float64Array;
  /** [N] */
  readonly weights: Float64Array;
}

/**
 * Number of iterations before the increase of the bound is first tested, and relative increase below which the
 * iteration ends.
 */
const ITERATIONS_MIN = 3;
const RISE_MIN = 1e-4;

/**
 * Bounds the objective over all choices of securities. Each security is charged D_i w_i^2 / z_i for a split-off part
 * D_i of its variance, where z_i is its share. The shares sum to at most the number of securities. The iteration
 * alternates between optimal weights for given shares and optimal shares for given weights, and converges to the
 * optimum. The multipliers of every iteration prove a bound, whether near the optimum or not. The remaining covariance
 * is above its tangent. The other terms are a sum over securities, whose minimum over all choices is computed exactly.
 * @param split D, [N], such that the covariance without D stays positive semi-definite
 * @returns undefined if an iteration has no solution
 * @cost one to three factorisations an iteration
 * @source Frangioni & Gentile (2006), Perspective cuts for a class of convex 0-1 mixed integer programs, Mathematical
 * Programming 106.
 */
export function relaxShares(
  solver: Solver,
  counted: CardinalityProgram,
  split: Float64Array,
  { names, shares: start, shareMin, turnsMax }: ShareStart,
): ShareSolution | undefined {
  const { counts } = counted;
  const program = removeDroppedSecurities(counted.program, names);
  let shares = start;
  let best: ShareSolution | undefined;
  let warm: ActiveState | undefined;
  for (let turn = 0; turn < turnsMax; turn++) {
    const { status, point, state } = solver.solve(createShareProgram(program, split, shares), {
      warm,
      effort: 'quick',
    });
    if (status !== 'solved') return best;
    const provenSolution = {
      ...proveBounds({ ...counted, program }, { split, names }, point),
      shares,
      weights: point.x,
    };
    const before = best?.bound ?? Number.NEGATIVE_INFINITY;
    if (provenSolution.bound > before) best = provenSolution;
    if (turn >= ITERATIONS_MIN && provenSolution.bound < before + RISE_MIN * Math.abs(before)) return best;
    shares = computeBestShares(counts, { split, names, shareMin }, point.x);
    warm = state;
  }
  return best;
}

/** Returns equal shares for the undecided securities of each row. */
export function computeEvenShares(counts: readonly CountRow[], names: Uint8Array): Float64Array {
  const evenSplit = new Float64Array(names.length).fill(1);
  return computeBestShares(counts, { split: evenSplit, names, shareMin: 0 }, evenSplit);
}

/** Returns the program in which securities that are decided to be dropped have weight zero. */
function removeDroppedSecurities(program: Program, names: Uint8Array): Program {
  const setDroppedToZero = (bounds: Float64Array) => bounds.map((bound, i) => (names[i] === EXCLUDED ? 0 : bound));
  return names.includes(EXCLUDED)
    ? { ...program, lower: setDroppedToZero(program.lower), upper: setDroppedToZero(program.upper) }
    : program;
}

/** Returns the program for fixed shares, without the constant. */
function createShareProgram(program: Program, split: Float64Array, shares: Float64Array): Program {
  const { curvature, centre, linear, norms } = program;
  const metric = program.metric!; // a fixed quadratic has a metric
  const differences = split.map((own, i) => own * (1 / shares[i]! - 1));
  return {
    ...program,
    metric: addDiagonal(metric, differences),
    norms: norms.map((norm) => (norm.metric === 'metric' ? { ...norm, metric } : norm)),
    linear: linear.map((slope, i) => slope + curvature * differences[i]! * centre[i]!),
  };
}

interface ShareDecisions {
  readonly split: Float64Array;
  readonly names: Uint8Array;
}

interface ShareTerms extends ShareDecisions {
  readonly shareMin: number;
}

/**
 * Returns the best shares for given weights. They are in proportion to the risk of each security, at most 1, and have
 * the sum that each row allows. Rows with common securities adjust their proportions in turn.
 */
function computeBestShares(
  counts: readonly CountRow[],
  { split, names, shareMin }: ShareTerms,
  weights: Float64Array,
): Float64Array {
  const sizes = weights.map((x, i) => Math.sqrt(split[i]!) * Math.abs(x));
  const scales = new Float64Array(counts.length).fill(Infinity);
  const computeShare = (i: number, scale: number) => (sizes[i]! > 0 ? Math.min(1, sizes[i]! * scale) : 0);
  const leastScales = new Float64Array(weights.length);
  for (let round = 0; round < (counts.length > 1 ? PRICE_ROUNDS : 1); round++) {
    counts.forEach(({ members, maximum }, r) => {
      leastScales.fill(Infinity);
      counts.forEach((otherCountRow, s) => {
        if (s !== r) for (const i of otherCountRow.members) leastScales[i] = Math.min(leastScales[i]!, scales[s]!);
      });
      const undecidedMembers = members.filter((i) => names[i] === UNDECIDED);
      const remainingCount = maximum - members.reduce((count, i) => count + (names[i] === INCLUDED ? 1 : 0), 0);
      const readSize = (place: number) => sizes[undecidedMembers[place]!]!;
      scales[r] = findScaleWithin(undecidedMembers.length, remainingCount, readSize, (place) =>
        computeShare(undecidedMembers[place]!, leastScales[undecidedMembers[place]!]!),
      );
    });
  }
  const shares = new Float64Array(weights.length).fill(1);
  counts.forEach(({ members }, r) => {
    for (const i of members)
      if (names[i] === UNDECIDED) shares[i] = Math.min(shares[i]!, Math.max(shareMin, computeShare(i, scales[r]!)));
  });
  return shares;
}

/**
 * Returns the scale at which the sizes, each capped at its limit, sum to the available number. Returns Infinity if the
 * limits do not exceed it.
 */
function findScaleWithin(
  count: number,
  room: number,
  sizeOf: (place: number) => number,
  limitOf: (place: number) => number,
): number {
  const sizes = Float64Array.from({ length: count }, (_, place) => sizeOf(place));
  const limits = sizes.map((_, place) => limitOf(place));
  const order = Array.from(sizes.keys())
    .filter((place) => limits[place]! > 0)
    .toSorted((a, b) => limits[a]! / sizes[a]! - limits[b]! / sizes[b]! || a - b);
  let remainder = order.reduce((sum, place) => sum + sizes[place]!, 0);
  let left = room;
  // A growing scale reaches the limits of the sizes one after the other. Sizes are capped in this order.
  for (const position of order) {
    if (limits[position]! * remainder > left * sizes[position]!) return Math.max(0, left) / remainder;
    left -= limits[position]!;
    remainder -= sizes[position]!;
  }
  return Infinity;
}

function proveBounds(
  { valueAt, program, counts, threshold }: CardinalityProgram,
  { split, names }: ShareDecisions,
  point: Point,
): ShareBounds {
  const { n, lower, upper, curvature } = program;
  const { left, right } = computeLagrangianSlopes({ ...program, ridge: 0 }, point);
  const heldCosts = new Float64Array(n);
  const droppedCosts = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    const x = point.x[i]!;
    const step = { left: left[i]!, right: right[i]!, from: lower[i]! - x, to: upper[i]! - x };
    const splitCurvature = curvature * split[i]!;
    const longCost = minimiseStep({ ...step, from: Math.max(step.from, threshold - x) }, splitCurvature);
    const shortCost =
      lower[i]! < 0 ? minimiseStep({ ...step, to: Math.min(step.to, -x) }, splitCurvature) : Number.POSITIVE_INFINITY;
    const canRest = names[i] !== INCLUDED && lower[i]! <= 0 && upper[i]! >= 0;
    heldCosts[i] = names[i] === EXCLUDED ? Number.POSITIVE_INFINITY : Math.min(longCost, shortCost);
    droppedCosts[i] = canRest ? minimiseStep({ ...step, from: -x, to: -x }, splitCurvature) : Number.POSITIVE_INFINITY;
  }
  return minimiseOverChoices(
    counts,
    { held: heldCosts, dropped: droppedCosts },
    valueAt(point.x) + computeLagrangianExcess(program, point),
  );
}

/** Costs of holding and of dropping each security, [N] each; Infinity if impossible. */
type HoldingCosts = Pick<ShareSolution, 'held' | 'dropped'>;

/** Number of rounds in which rows with common securities set their prices. */
const PRICE_ROUNDS = 4;

/**
 * Returns the minimum sum over all choices, and for each security over the choices that hold it or drop it. Each row
 * charges the other rows what one more security would save it. They then respect its limit.
 */
function minimiseOverChoices(counts: readonly CountRow[], costs: HoldingCosts, value: number): ShareBounds {
  const prices = new Float64Array(counts.length);
  for (let round = 0; round < (counts.length > 1 ? PRICE_ROUNDS : 0); round++)
    counts.forEach((row, r) => (prices[r] = computeRowPrice(row, addRowPrices(counts, prices, r, costs))));
  const least = counts.map((row, r) => minimiseWithinRow(row, addRowPrices(counts, prices, r, costs)));
  const offers = counts.map((_, r) =>
    counts.reduce((sum, { maximum }, other) => (other === r ? sum : sum - prices[other]! * maximum), value),
  );
  const bounds: ShareBounds = {
    bound: Math.max(...least.map(({ bound }, r) => offers[r]! + bound)),
    held: costs.held.slice(),
    dropped: costs.dropped.slice(),
  };
  for (const side of ['held', 'dropped'] as const)
    bounds[side].forEach((_, i) => {
      bounds[side][i] = Math.max(...least.map((ownShareBounds, r) => offers[r]! + ownShareBounds[side][i]!));
    });
  return bounds;
}

/** Returns the costs of holding securities, including the prices of all rows except one. */
function addRowPrices(
  counts: readonly CountRow[],
  prices: Float64Array,
  except: number,
  costs: HoldingCosts,
): HoldingCosts {
  const heldCosts = costs.held.slice();
  counts.forEach(({ members }, r) => {
    if (r !== except && prices[r]! > 0) for (const i of members) heldCosts[i]! += prices[r]!;
  });
  return { held: heldCosts, dropped: costs.dropped };
}

/** Returns the price at which the number of securities worth holding equals the limit of the row. */
function computeRowPrice({ members, maximum }: CountRow, { held, dropped }: HoldingCosts): number {
  const savings = Float64Array.from(members, (i) => dropped[i]! - held[i]!)
    .toSorted()
    .reverse();
  if (maximum < 1 || maximum >= savings.length) return 0;
  const middlePrice = (savings[maximum - 1]! + savings[maximum]!) / 2;
  return Number.isFinite(middlePrice) ? Math.max(0, middlePrice) : Math.max(0, savings[maximum]!);
}

/** Returns the minimum sum under one row, and for each security the minimum if it is held or dropped. */
function minimiseWithinRow({ members, minimum, maximum }: CountRow, costs: HoldingCosts): ShareBounds {
  const least = costs.held.map((cost, i) => Math.min(cost, costs.dropped[i]!));
  const freeMembers = members.filter((i) => Number.isFinite(costs.held[i]!) && Number.isFinite(costs.dropped[i]!));
  const requiredCount = members.reduce((count, i) => count + (Number.isFinite(costs.dropped[i]!) ? 0 : 1), 0);
  const parts = { holdPart: costs.held, dropPart: costs.dropped };
  const choice = computeChoiceBound(parts, freeMembers, minimum - requiredCount, maximum - requiredCount);
  const isOpen = new Uint8Array(least.length);
  for (const i of freeMembers) isOpen[i] = 1;
  const remainder = least.reduce((sum, cost, i) => sum + (isOpen[i] === 1 ? 0 : cost), 0);
  const bound = remainder + choice.least;
  const heldBounds = costs.held.map((cost, i) => bound + (cost - least[i]!));
  const droppedBounds = costs.dropped.map((cost, i) => bound + (cost - least[i]!));
  freeMembers.forEach((i, place) => {
    heldBounds[i] = remainder + choice.ifHeld[place]!;
    droppedBounds[i] = remainder + choice.ifDropped[place]!;
  });
  return { bound, held: heldBounds, dropped: droppedBounds };
}

/**
 * Program in which the covariance of some pairs of securities is removed, with the variances to split off its
 * covariance.
 */
export interface PairSplit {
  readonly counted: CardinalityProgram;
  /** [N] */
  readonly split: Float64Array;
  /** Initial shares of the relaxation, [N]. */
  readonly shares: Float64Array;
  readonly state: SplitState;
}

/**
 * Returns the split for given decisions, [N], after a number of further iterations. Returns undefined if there is none.
 */
export type PairSplitter = (decisions: Uint8Array, iterations: number, from?: SplitState) => PairSplit | undefined;

/**
 * Minimum share of an undecided security. It can be small, because the split already allows for securities that the
 * relaxation drops.
 */
export const SHARE_MIN = 1e-4;

/** Number of bisection steps for the fraction of a split that leaves the remainder convex. */
const PAIR_SPLIT_BISECTION_STEPS = 15;

/**
 * Curvature along the sum of the weights, as a multiple of the mean variance. The sum is fixed, so this curvature
 * changes no value. With it, the remainder need not be convex in that direction.
 */
const SUM_CURVATURE = 1000;

/**
 * Creates programs with a lower objective and better bounds over choices of securities. If all weights are long, their
 * products are at least zero. Without the covariance of some pairs, more of the variances can then be split off.
 * @returns undefined unless every weight is long and their sum is fixed
 * @cost a decomposition into eigenpairs in each iteration
 */
export function createPairSplitter(algebra: DenseAlgebra, counted: CardinalityProgram): PairSplitter | undefined {
  const { program } = counted;
  const { n, curvature, linear, centre } = program;
  const metric = program.metric!; // a counted program has a metric
  const sum = computeFixedSum(program.rows, n);
  if (sum === undefined || !(sum > 0) || program.lower.some((bound) => bound < 0)) return undefined;
  const matrix = createMetricMatrix(metric);
  const toCentre = new Float64Array(n);
  multiplyMetric(metric, centre, toCentre);
  const slopes = toCentre.map((slope, i) => linear[i]! / curvature - slope);
  const quadratic = { n, matrix, linear: slopes, sum, counts: selectDisjointCounts(counted) };
  const sumCurvature =
    (SUM_CURVATURE * computeMetricDiagonal(metric).reduce((total, variance) => total + variance, 0)) / n;
  return (decisions, iterations, from) => {
    const covarianceSplit = splitCovariance(algebra, quadratic, decisions, iterations, from);
    if (covarianceSplit === undefined) return undefined;
    const { pairs, diagonal, state } = covarianceSplit;
    const share = findConvexFraction(state.open, pairs, diagonal);
    const pairShares = pairs.map((part) => share * part);
    return {
      counted: removePairs(state.open, pairShares),
      split: diagonal.map((part) => share * part),
      shares: covarianceSplit.shares.map((part) => Math.max(SHARE_MIN, part)),
      state,
    };
  };

  /** Subtracts parts from the covariance of undecided securities. All other securities keep only their variance. */
  function subtractParts(open: Int32Array, parts: Float64Array, share: number, rest: Float64Array): void {
    rest.fill(0);
    for (let i = 0; i < n; i++) rest[i * n + i] = matrix[i * n + i]!;
    for (const i of open)
      for (const j of open) rest[i * n + j] = matrix[i * n + j]! + sumCurvature - share * parts[i * n + j]!;
  }

  /** Returns the largest fraction of the parts that can be subtracted while the covariance stays positive definite. */
  function findConvexFraction(open: Int32Array, pairs: Float64Array, diagonal: Float64Array): number {
    const isConvex = (share: number) =>
      algebra.scope(() => {
        const restMatrix = algebra.room(n * n);
        subtractParts(open, pairs, share, restMatrix);
        for (const i of open) restMatrix[i * n + i]! -= share * diagonal[i]!;
        return algebra.cholesky(restMatrix, n) === n;
      });
    return (isConvex(1) ? 1 : findLargestShare(isConvex, PAIR_SPLIT_BISECTION_STEPS)) * (1 - 1e-9);
  }

  /**
   * Subtracts x'Nx = (x - c)'N(x - c) + 2 c'Nx - c'Nc from the quadratic term. The covariance with securities without a
   * weight moves to the linear term.
   */
  function removePairs(open: Int32Array, pairs: Float64Array): CardinalityProgram {
    const pairMetric = createDenseMetric(pairs, n);
    const product = new Float64Array(n);
    multiplyMetric(pairMetric, centre, product);
    const isOpen = new Uint8Array(n);
    for (const i of open) isOpen[i] = 1;
    const outsideProduct = new Float64Array(n);
    multiplyMetric(
      metric,
      centre.map((weight, i) => (isOpen[i] === 1 ? 0 : weight)),
      outsideProduct,
    );
    const restMatrix = new Float64Array(n * n);
    subtractParts(open, pairs, 1, restMatrix);
    const excess = open.reduce((left, i) => left - centre[i]!, sum!);
    const pairProduct = new Float64Array(n);
    return {
      ...counted,
      valueAt(weights) {
        multiplyMetric(pairMetric, weights, pairProduct);
        let square = 0;
        let total = 0;
        for (const i of open) {
          square += pairProduct[i]! * weights[i]!;
          total += weights[i]! - centre[i]!;
        }
        return counted.valueAt(weights) + (curvature / 2) * (sumCurvature * (total * total - excess * excess) - square);
      },
      program: {
        ...program,
        // Bounds are finite. Otherwise a security without a split part would have no curvature that limits its weight.
        upper: program.upper.map((bound) => Math.min(bound, sum!)),
        metric: createDenseMetric(restMatrix, n),
        norms: program.norms.map((norm) => (norm.metric === 'metric' ? { ...norm, metric } : norm)),
        linear: linear.map((slope, i) =>
          isOpen[i] === 1 ? slope - curvature * (product[i]! + outsideProduct[i]!) : slope,
        ),
      },
    };
  }
}

/** Returns count rows without common members. If two rows share a security, only the first is returned. */
function selectDisjointCounts({ counts }: CardinalityProgram): Count[] {
  const pairedMembers = new Set<number>();
  return counts.filter(({ members }) => {
    const isApart = members.every((i) => !pairedMembers.has(i));
    if (isApart) for (const i of members) pairedMembers.add(i);
    return isApart;
  });
}
