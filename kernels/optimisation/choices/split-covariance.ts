import { assert } from '../../assert.js';
import type { DenseAlgebra } from '../factors/algebra.js';

/** Maximum number of earlier steps that are combined. */
const REMEMBERED_STEPS = 10;

/** Minimum number of earlier steps for an extrapolation. */
const STEPS_MIN = 3;

/** Regularisation relative to the sum of squared changes. */
const RIDGE = 1e-8;

/** Maximum sum of squared coefficients; larger coefficients are dominated by rounding errors. */
const COEFFICIENTS_MAX = 1e8;

/** Anderson acceleration of a fixed-point iteration, with a memory of earlier points and steps. */
export interface Acceleration {
  /** Adds a point and the result of the iteration at it; both are copied. */
  add(point: Float64Array, next: Float64Array): void;
  /**
   * Replaces the last result by a combination of earlier results if there are enough of them. The combination has the
   * shortest step.
   */
  extrapolate(next: Float64Array): void;
  /** Discards all points, after a change of the iteration. */
  clear(): void;
}

/**
 * Creates an accelerator of a fixed-point iteration over vectors of some length.
 *
 * @cost   Memory of twenty vectors; a dozen vector products per point.
 * @source Walker & Ni (2011), Anderson acceleration for fixed-point iterations, SIAM J. Numerical Analysis 49(4).
 */
export function createAcceleration(algebra: DenseAlgebra, length: number): Acceleration {
  const createVectors = () => Array.from({ length: REMEMBERED_STEPS }, () => new Float64Array(length));
  // Ring buffers with the changes of the step and of the result between consecutive points.
  const stepChanges = createVectors();
  const nextChanges = createVectors();
  const products = new Float64Array(REMEMBERED_STEPS * REMEMBERED_STEPS);
  const step = new Float64Array(length);
  const last = new Float64Array(length);
  let addedSteps = 0;
  return {
    clear: () => (addedSteps = 0),
    add(point, next) {
      if (addedSteps > 0) {
        const position = (addedSteps - 1) % REMEMBERED_STEPS;
        const [ofStep, ofNext] = [stepChanges[position]!, nextChanges[position]!];
        for (let e = 0; e < length; e++) {
          const nextStep = next[e]! - point[e]!;
          ofStep[e] = nextStep - step[e]!;
          ofNext[e] = next[e]! - last[e]!;
          step[e] = nextStep;
          last[e] = next[e]!;
        }
        for (let k = 0; k < Math.min(addedSteps, REMEMBERED_STEPS); k++)
          products[position * REMEMBERED_STEPS + k] = products[k * REMEMBERED_STEPS + position] = computeDotProduct(
            stepChanges[k]!,
            ofStep,
          );
      } else {
        for (let e = 0; e < length; e++) step[e] = next[e]! - point[e]!;
        last.set(next);
      }
      addedSteps++;
    },
    extrapolate(next) {
      const count = Math.min(addedSteps - 1, REMEMBERED_STEPS);
      if (count < STEPS_MIN) return;
      const factor = new Float64Array(count * count);
      let trace = 0;
      for (let k = 0; k < count; k++) {
        trace += products[k * REMEMBERED_STEPS + k]!;
        for (let other = 0; other < count; other++) factor[k * count + other] = products[k * REMEMBERED_STEPS + other]!;
      }
      for (let k = 0; k < count; k++) factor[k * count + k]! += RIDGE * trace;
      if (!(trace > 0) || algebra.cholesky(factor, count) < count) return;
      const shares = Float64Array.from({ length: count }, (_, k) => computeDotProduct(stepChanges[k]!, step));
      algebra.solveLower(factor, count, shares);
      algebra.solveLowerTransposed(factor, count, shares);
      if (!(computeDotProduct(shares, shares) < COEFFICIENTS_MAX)) return;
      shares.forEach((share, k) => {
        const change = nextChanges[k]!;
        for (let e = 0; e < length; e++) next[e]! -= share * change[e]!;
      });
    },
  };
}

function computeDotProduct(a: Float64Array, b: Float64Array): number {
  let total = 0;
  for (let e = 0; e < a.length; e++) total += a[e]! * b[e]!;
  return total;
}

/** Cardinality constraint: maximum number of members that may be positive. */
export interface Count {
  readonly members: Int32Array;
  readonly maximum: number;
}

/** Maximum number of secant steps for the price of a cardinality constraint, and of Newton steps for a variable. */
const PRICE_STEPS = 100;
const NEWTON_STEPS = 60;
const CONVERGENCE_TOLERANCE = 1e-13;

/** First and further factors by which the bracket of a price widens. */
const BRACKET_FIRST = 1.05;
const BRACKET_GROWTH = 3;

/**
 * Creates the projection of symmetric matrices on the set with a first entry of 1, no negative entry, and shares that
 * sum to at most the maximum of each constraint. The share of a variable is the square of its entry in the first row
 * over its diagonal entry.
 *
 * @param order   Order of the matrices; row 0 is the constant, the variables follow.
 * @param counts  Cardinality constraints without common members.
 * @returns       Function that projects `from` and writes `to`.
 * @cost          order^2, and about a hundred passes over the members.
 * @source        Frangioni & Gentile (2006), Perspective cuts for a class of convex 0-1 mixed integer programs,
 *                Mathematical Programming 106, for the shares.
 */
export function createCardinalityCone(
  order: number,
  counts: readonly Count[],
): (from: Float64Array, to: Float64Array) => void {
  const prices = new Float64Array(counts.length).fill(1e-3);
  const first = new Float64Array(order);
  const squares = new Float64Array(order);
  return (from, to) => {
    for (let e = 0; e < from.length; e++) to[e] = from[e]! > 0 ? from[e]! : 0;
    to[0] = 1;
    counts.forEach(({ members, maximum }, r) => {
      if (projectShares(from, members, 0) <= maximum) return;
      const high = findPrice((price) => projectShares(from, members, price) - maximum, prices[r]!);
      prices[r] = high;
      projectShares(from, members, high);
      for (const i of members) {
        to[i + 1] = to[(i + 1) * order] = first[i]!;
        to[(i + 1) * order + i + 1] = squares[i]!;
      }
    });
  };

  function projectShares(from: Float64Array, members: Int32Array, price: number): number {
    let total = 0;
    for (const i of members) {
      const size = Math.max(0, from[i + 1]!);
      const square = solveSquareEntry(size, from[(i + 1) * order + i + 1]!, price);
      squares[i] = square;
      first[i] = price === 0 ? size : (size * square) / (square + price);
      if (first[i]! > 0) total += square > 0 ? (first[i]! * first[i]!) / square : Infinity;
    }
    return total;
  }
}

/**
 * Returns a price at which an excess is zero or slightly negative. The excess decreases with the price. Brackets the
 * price around the last one, then takes secant steps with the Illinois rule.
 */
function findPrice(excessAt: (price: number) => number, last: number): number {
  let high = last * BRACKET_FIRST;
  let highExcess = excessAt(high);
  let low = last / BRACKET_FIRST;
  let lowExcess = highExcess > 0 ? highExcess : excessAt(low);
  for (let step = 0; step < PRICE_STEPS && highExcess > 0; step++) {
    [low, lowExcess] = [high, highExcess];
    high *= BRACKET_GROWTH;
    highExcess = excessAt(high);
  }
  for (let step = 0; step < PRICE_STEPS && lowExcess <= 0 && low > 0; step++) {
    [high, highExcess] = [low, lowExcess];
    low = step < PRICE_STEPS - 1 ? low / BRACKET_GROWTH : 0;
    lowExcess = low > 0 ? excessAt(low) : Infinity;
  }
  let side = 0;
  for (let step = 0; step < PRICE_STEPS && high - low > CONVERGENCE_TOLERANCE * high && highExcess < 0; step++) {
    const secant = (low * highExcess - high * lowExcess) / (highExcess - lowExcess);
    const middle = secant > low && secant < high ? secant : (low + high) / 2;
    if (middle <= low || middle >= high) break;
    const excess = excessAt(middle);
    if (excess > 0) {
      [low, lowExcess] = [middle, excess];
      if (side === 1) highExcess /= 2;
      side = 1;
    } else {
      [high, highExcess] = [middle, excess];
      if (excess > -CONVERGENCE_TOLERANCE) break;
      if (side === -1) lowExcess /= 2;
      side = -1;
    }
  }
  return high;
}

/**
 * Returns the s that minimises (x - size)^2 + (s - square)^2 / 2 + price x^2 / s over x and s. After elimination of x,
 * the derivative is concave, so Newton's method ascends to its zero.
 */
function solveSquareEntry(size: number, square: number, price: number): number {
  let s = Math.max(0, square);
  if (price === 0 || size === 0) return s;
  const mass = price * size * size;
  if (s === 0 && -square - mass / (price * price) >= 0) return 0;
  for (let step = 0; step < NEWTON_STEPS; step++) {
    const shiftedRoot = s + price;
    const newtonStep =
      (square + mass / (shiftedRoot * shiftedRoot) - s) / (1 + (2 * mass) / (shiftedRoot * shiftedRoot * shiftedRoot));
    s += newtonStep;
    if (Math.abs(newtonStep) <= CONVERGENCE_TOLERANCE * (1 + s)) break;
  }
  return s;
}

/** Decision about a variable of a choice: open, in the choice, or excluded (zero). */
export const UNDECIDED = 0;
export const INCLUDED = 1;
export const EXCLUDED = 2;

/**
 * Problem that minimises x' P x + 2 linear' x over non-negative x with a given sum and a limited number of positive
 * entries.
 */
export interface CountedQuadratic {
  readonly n: number;
  /** P, [n x n] row-major, symmetric. */
  readonly matrix: Float64Array;
  /** [n] */
  readonly linear: Float64Array;
  /** Sum of x, positive. */
  readonly sum: number;
  /** Cardinality constraints without common members. */
  readonly counts: readonly Count[];
}

/**
 * Decomposition of P into these parts and a remainder. Between points of equal sum, the remainder is nearly positive
 * semi-definite.
 */
export interface CovarianceSplit {
  /** Diagonal part, [n], not negative. */
  readonly diagonal: Float64Array;
  /** Pairwise part, [n x n], symmetric, not negative, with a zero diagonal: x' pairs x is not negative. */
  readonly pairs: Float64Array;
  /** Shares at which the relaxation charges the variables, [n]; 1 without a charge. */
  readonly shares: Float64Array;
  /** State from which further iterations start. They must have the same decisions or additional ones. */
  readonly state: SplitState;
}

export interface SplitState {
  /**
   * Indices of the variables that are not fixed at zero, ascending. In the matrices, the constant precedes these
   * variables.
   */
  readonly open: Int32Array;
  readonly cone: Float64Array;
  readonly multipliers: Float64Array;
  readonly penalty: number;
}

/** Over-relaxation factor of the alternating projections. */
const OVER_RELAXATION = 1.6;

/**
 * Initial penalty for a matrix with a mean diagonal of 1. The penalty is adjusted so that the distance of the cones
 * stays near `BALANCE` times that of the multipliers. The accuracy of the bound depends on the accuracy of the
 * multipliers.
 */
const FIRST_PENALTY = 3;
const PENALTY_STEP = 1.3;
const BALANCE = 6;
const BALANCE_RATIO = 2;

/**
 * Number of iterations that count as early, and numbers of iterations between two changes of the penalty, early and
 * late.
 */
const EARLY_ITERATIONS = 200;
const EARLY_TURNS = 10;
const LATE_TURNS = 50;

/**
 * Number of iterations between two extrapolations, and the maximum order for which they are used, limited by memory.
 */
const EXTRAPOLATION_TURNS = 5;
const ACCELERATED_ORDER_MAX = 800;

/**
 * Computes a split of a covariance that bounds the objective over all choices of variables. The split follows from the
 * multipliers of a doubly non-negative relaxation. In this relaxation, the products of the variables form a matrix that
 * is positive semi-definite, has no negative entry and agrees with the sum; the variables are charged by their shares.
 * The alternating direction method projects on the two cones in turn. Extrapolation halves the number of iterations.
 * @param algebra     Dense operations.
 * @param quadratic   Problem without its other constraints.
 * @param decisions   Decisions, [n]; a variable in the choice is not charged.
 * @param iterations  Number of projections on each cone.
 * @param from        State with equal or fewer decisions. Default: equal weights.
 * @returns           Split and final state; undefined if an eigendecomposition does not converge.
 * @throws  KernelFault on a shape mismatch.
 * @cost    One eigendecomposition and one matrix product of the order of the open variables per iteration.
 * @source  Wen, Goldfarb & Yin (2010), Alternating direction augmented Lagrangian methods for semidefinite programming,
 *          Mathematical Programming Computation 2.
 */
export function splitCovariance(
  algebra: DenseAlgebra,
  quadratic: CountedQuadratic,
  decisions: Uint8Array,
  iterations: number,
  from?: SplitState,
): CovarianceSplit | undefined {
  const { n, matrix } = quadratic;
  assert(matrix.length === n * n && quadratic.linear.length === n, `matrix: ${matrix.length} values for order ${n}`);
  const openSecurities = Int32Array.from(decisions.keys()).filter((i) => decisions[i] !== EXCLUDED);
  const order = openSecurities.length + 1;
  const size = order * order;
  const { costs, normal, even, scale } = scaleProblem(quadratic, openSecurities);
  const projectSemidefinite = createSemidefiniteCone(algebra, normal);
  const projectCounted = createCardinalityCone(order, selectCounts(quadratic.counts, decisions, openSecurities));
  const cone = from === undefined ? even : selectEntries(from.cone, from.open, openSecurities);
  const multipliers =
    from === undefined ? new Float64Array(size) : selectEntries(from.multipliers, from.open, openSecurities);
  const semidefinite = new Float64Array(size);
  const target = new Float64Array(size);
  // Sum of `cone` and `multipliers`, which determines both: the point of the fixed-point iteration.
  const point = new Float64Array(size);
  const acceleration = order <= ACCELERATED_ORDER_MAX ? createAcceleration(algebra, size) : undefined;
  let penalty = from?.penalty ?? FIRST_PENALTY;
  for (let turn = 1; turn <= iterations; turn++) {
    const unit = 1 / penalty;
    for (let e = 0; e < size; e++) {
      point[e] = cone[e]! + multipliers[e]!;
      target[e] = cone[e]! - multipliers[e]! - costs[e]! * unit;
    }
    if (!projectSemidefinite(target, semidefinite)) return undefined;
    for (let e = 0; e < size; e++)
      target[e] = OVER_RELAXATION * semidefinite[e]! + (1 - OVER_RELAXATION) * cone[e]! + multipliers[e]!;
    acceleration?.add(point, target);
    if (turn % EXTRAPOLATION_TURNS === 2 && turn < iterations - EXTRAPOLATION_TURNS) acceleration?.extrapolate(target);
    let squaredMoves = 0;
    let squaredDistance = 0;
    projectCounted(target, multipliers);
    for (let e = 0; e < size; e++) {
      const nextEntry = multipliers[e]!;
      const change = nextEntry - cone[e]!;
      const distance = nextEntry - semidefinite[e]!;
      squaredMoves += change * change;
      squaredDistance += distance * distance;
      multipliers[e] = target[e]! - nextEntry;
      cone[e] = nextEntry;
    }
    if (turn % (turn <= EARLY_ITERATIONS && from === undefined ? EARLY_TURNS : LATE_TURNS) > 0) continue;
    const ratio = Math.sqrt(squaredDistance) / (BALANCE * penalty * Math.sqrt(squaredMoves));
    const factor = ratio > BALANCE_RATIO ? PENALTY_STEP : ratio < 1 / BALANCE_RATIO ? 1 / PENALTY_STEP : 1;
    if (factor === 1) continue;
    penalty *= factor;
    acceleration?.clear();
    for (let e = 0; e < size; e++) multipliers[e]! /= factor;
  }
  const diagonal = new Float64Array(n);
  const pairs = new Float64Array(n * n);
  const shares = new Float64Array(n).fill(1);
  openSecurities.forEach((i, row) => {
    const size = cone[row + 1]!;
    if (decisions[i] === UNDECIDED && size > 0) shares[i] = Math.min(1, (size * size) / cone[(row + 1) * (order + 1)]!);
    else if (decisions[i] === UNDECIDED) shares[i] = 0;
    openSecurities.forEach((j, column) => {
      pairs[i * n + j] = Math.max(0, (-penalty / scale) * multipliers[(row + 1) * order + column + 1]!);
    });
    diagonal[i] = pairs[i * n + i]!;
    pairs[i * n + i] = 0;
  });
  return { diagonal, pairs, shares, state: { open: openSecurities, cone, multipliers, penalty } };
}

/**
 * Returns the problem of the open variables in units in which an average positive variable is about 1 and the mean
 * diagonal is 1.
 */
function scaleProblem({ n, matrix, linear, sum, counts }: CountedQuadratic, open: Int32Array) {
  const order = open.length + 1;
  const holdingCount = Math.max(1, Math.min(n, ...counts.map(({ maximum }) => maximum)));
  const unit = sum / holdingCount;
  let trace = 0;
  for (let i = 0; i < n; i++) trace += matrix[i * n + i]!;
  const scale = n / trace;
  const costs = new Float64Array(order * order);
  open.forEach((i, row) => {
    costs[row + 1] = costs[(row + 1) * order] = (scale * linear[i]!) / unit;
    open.forEach((j, column) => (costs[(row + 1) * order + column + 1] = scale * matrix[i * n + j]!));
  });
  // Every point satisfies the equation of the sum, and so does each row of its outer product.
  const length = Math.sqrt(holdingCount * holdingCount + open.length);
  const normal = new Float64Array(order).fill(1 / length);
  normal[0] = -holdingCount / length;
  const direction = Float64Array.from(normal, (_, i) => (i === 0 ? 1 : holdingCount / open.length));
  const evenEntries = new Float64Array(order * order).map(
    (_, e) => direction[Math.floor(e / order)]! * direction[e % order]!,
  );
  return { costs, normal, even: evenEntries, scale };
}

/** Returns the entries of a matrix for the constant and a subset of the variables. */
function selectEntries(entries: Float64Array, from: Int32Array, open: Int32Array): Float64Array {
  const [before, order] = [from.length + 1, open.length + 1];
  const positions = Int32Array.from({ length: order }, (_, i) => (i === 0 ? 0 : from.indexOf(open[i - 1]!) + 1));
  const selectedEntries = new Float64Array(order * order);
  for (let i = 0; i < order; i++)
    for (let j = 0; j < order; j++) selectedEntries[i * order + j] = entries[positions[i]! * before + positions[j]!]!;
  return selectedEntries;
}

/**
 * Returns the cardinality constraints of the undecided variables, with the positions of their members among the open
 * variables.
 */
function selectCounts(counts: readonly Count[], decisions: Uint8Array, open: Int32Array): Count[] {
  return counts.map(({ members, maximum }) => {
    const includedCount = members.reduce((count, i) => count + (decisions[i] === INCLUDED ? 1 : 0), 0);
    const undecidedMembers = members.filter((i) => decisions[i] === UNDECIDED);
    return { members: undecidedMembers.map((i) => open.indexOf(i)), maximum: maximum - includedCount };
  });
}

/**
 * Function that projects a symmetric matrix on the positive semi-definite matrices without a component along a unit
 * vector. It returns false without convergence.
 */
type Projection = (from: Float64Array, to: Float64Array) => boolean;

function createSemidefiniteCone(algebra: DenseAlgebra, normal: Float64Array): Projection {
  const order = normal.length;
  const values = new Float64Array(order);
  const projection = new Float64Array(order);
  return (from, to) =>
    algebra.scope(() => {
      const matrix = algebra.room(order * order);
      matrix.set(from);
      removeAlong(matrix);
      const vectors = algebra.room(order * order);
      if (!algebra.symmetricEigen(matrix, order, values, vectors)) return false;
      const positiveCount = values.reduce((count, value) => count + (value > 0 ? 1 : 0), 0);
      // The smaller side: the positive part itself, or the negative part to subtract.
      const isPositive = positiveCount < order / 2;
      const count = isPositive ? positiveCount : order - positiveCount;
      const first = isPositive ? order - count : 0;
      if (count === 0) {
        if (isPositive) to.fill(0);
        else to.set(matrix);
        return true;
      }
      const scaledVectors = algebra.room(count * order);
      for (let k = 0; k < count; k++) {
        const root = Math.sqrt(Math.abs(values[first + k]!));
        for (let i = 0; i < order; i++) scaledVectors[k * order + i] = root * vectors[(first + k) * order + i]!;
      }
      const product = algebra.room(order * order);
      algebra.symmetricRankK(scaledVectors, order, product);
      if (isPositive) to.set(product);
      else for (let e = 0; e < to.length; e++) to[e] = matrix[e]! + product[e]!;
      return true;
    });

  function removeAlong(matrix: Float64Array): void {
    let square = 0;
    for (let i = 0; i < order; i++) {
      let total = 0;
      for (let j = 0; j < order; j++) total += matrix[i * order + j]! * normal[j]!;
      projection[i] = total;
      square += total * normal[i]!;
    }
    for (let i = 0; i < order; i++) {
      const [normalEntry, other] = [normal[i]!, projection[i]! - square * normal[i]!];
      for (let j = 0; j <= i; j++) {
        const value = matrix[i * order + j]! - (normalEntry * projection[j]! + other * normal[j]!);
        matrix[i * order + j] = matrix[j * order + i] = value;
      }
    }
  }
}
