import { FREE, LOWER, UPPER } from '#kernels/optimisation/program/active-state.js';
import { checkKkt, isOptimal, type ProgramResult } from '#kernels/optimisation/program/optimality.js';
import { type Program, sumKinks } from '#kernels/optimisation/program/program.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import { computeDotProduct } from '../base/numbers.js';
import type { TailRow } from '../definition/constraint-class.js';
import { computeOutcomes, computeTailAverage, type TailGoal } from '../definition/tail-risk.js';
import { addUpperRows, type AssembledProgram, type CurvedLimit } from './assembly.js';
import type { RowWithOrigin, TailCut, TailCuts } from './problem.js';
import {
  computeTailForces,
  computeTailShares,
  createTailProgram,
  expandSolution,
  findSecuritiesAtBounds,
  findWorstScenarios,
  isSame,
  joinSets,
  restoreSecuritiesAtBounds,
  selectFirstVariables,
  type TailSet,
  VARIABLE_UNITS,
} from './tail-averages.js';

/** Weights that minimise a linear objective plus a price times a tail average. */
export interface PricedCorner {
  readonly weights: Float64Array;
  /** Objective without the tail term. */
  readonly cost: number;
  readonly tail: number;
}

/** Weights whose tail equals the limit, with the corner at the price at which they are optimal. */
interface CornerInterpolation<C> {
  readonly weights: Float64Array;
  readonly corner: C;
}

/** Maximum number of prices that are tried; five to fifteen are usual. */
const CORNER_PRICES_MAX = 40;

/** Growth factor of the price while all tails are on one side of the limit. */
const GROWTH = 4;

/** Relative difference below which two values of objective plus priced tail count as equal. */
const VALUE_TOLERANCE = 1e-8;

/**
 * Finds the optimum of a linear objective within a limit on a tail. At each price the optimum is a corner. Its tail
 * jumps across the limit at the price at which two corners are equally good. All weights between these corners are
 * equally good, and the tail of one of them equals the limit. The next price is the one at which the two corners around
 * the limit are equally good.
 * @param first a price near the right one
 * @param most the limit
 * @returns undefined if no price has corners on both sides of the limit, or a corner was not found
 * @source Everett (1963), Generalized Lagrange multiplier method, Operations Research 11(3); Dantzig & Wolfe (1960),
 * Operations Research 8(1), for the mean of corners.
 */
export function interpolateCorners<C extends PricedCorner>(
  first: number,
  most: number,
  cornerAt: (price: number) => C | undefined,
): CornerInterpolation<C> | undefined {
  let [over, under]: [C | undefined, C | undefined] = [undefined, undefined];
  let price = first;
  for (let step = 0; step < CORNER_PRICES_MAX; step++) {
    const corner = cornerAt(price);
    if (corner === undefined) return undefined;
    if (over !== undefined && under !== undefined) {
      const computeValue = ({ cost, tail }: PricedCorner) => cost + price * tail;
      const scale = Math.abs(over.cost) + price * Math.abs(over.tail);
      if (computeValue(over) - computeValue(corner) <= VALUE_TOLERANCE * scale)
        return { weights: interpolateAtLimit(over, under, most), corner };
    }
    if (corner.tail > most) over = corner;
    else under = corner;
    if (under === undefined) price *= GROWTH;
    else if (over === undefined) price /= GROWTH;
    else price = (under.cost - over.cost) / (over.tail - under.tail);
    if (!(price > 0)) return undefined;
  }
  return undefined;
}

/** Returns the mixture of two weight vectors whose tail equals the limit, if the tail is linear between them. */
function interpolateAtLimit(over: PricedCorner, under: PricedCorner, most: number): Float64Array {
  const share = (most - under.tail) / (over.tail - under.tail);
  return over.weights.map((weight, i) => {
    const underWeight = under.weights[i]!;
    return weight === underWeight ? weight : share * weight + (1 - share) * underWeight;
  });
}

/** Tail row whose limit is exceeded. */
export interface ExceededTail {
  readonly placed: CurvedLimit & { readonly row: TailRow };
  /** Limit: largest allowed average. */
  readonly most: number;
}

/** Result of a search for the price at which a tail equals its limit. */
export interface PricedTail {
  /** New cutting planes that enforce the limit. */
  readonly planes: readonly TailCut[];
  /** Tail average at the right price. It equals the limit up to rounding. Null if no price attains the limit. */
  readonly attained: number | null;
  /** Optimum at that price, as a solution whose tail row is the last plane. Null if there is none. */
  readonly optimum: AssembledSolution | null;
}

/** Solution of the program of some rows. */
interface AssembledSolution {
  readonly assembled: AssembledProgram;
  readonly answer: ProgramResult;
}

/** Maximum number of prices that are tried for one tail; five to fifteen are usual. */
const PRICES_MAX = 30;

/** Maximum number of scenario sets at one price for a linear objective. */
const SETS_MAX = 12;

/** Number of tangent planes before planes from a price search are added too. Usual limits need no more. */
const TANGENT_PLANES_MIN = 30;

/** Number of tangent planes between two price searches for a linear objective. */
const TANGENT_PLANES_LINEAR = 6;

/** Number of successive prices without effect, after which the search ends. */
const IDLE_MAX = 2;

/** Difference between an average and its limit that counts as zero, relative to 1 + the limit. */
const LIMIT_TOLERANCE = 1e-9;

/** Maximum ratio of the least sufficient price to an insufficient price at which the search ends. */
const PRICE_RATIO_MAX = 1.2;

/**
 * Finds cutting planes that keep a tail at its limit if the limit is near the minimum. Hundreds of tangent planes would
 * be needed there. Weights that minimise the objective plus a price times the tail are optimal for some limit. The
 * forces of their scenarios form a single plane with the same solution.
 * @param solution program with the known planes, and its solution, whose multipliers give the first price.
 * @cost for each price about 20 factorisations of N^3 / 6 + S N^2 / 2 for the S worst scenarios of the weights
 * @source Lemaréchal, Nemirovskii & Nesterov (1995), New variants of bundle methods, Mathematical Programming 69, for
 * aggregated planes.
 */
export function solvePricedTail(
  solver: Solver,
  tails: TailCuts,
  { placed, most }: ExceededTail,
  { assembled, answer }: AssembledSolution,
): PricedTail {
  const { goal } = placed.row;
  const { x, rowMultipliers } = answer.point;
  const { bare, price: first } = removeTailPlanes(assembled, goal, rowMultipliers);
  if (!(first > 0)) return { planes: [], attained: null, optimum: null };
  const unit = computeTailAverage(goal, computeOutcomes(goal, x).map(Math.abs)) || 1;
  const planes: TailCut[] = [];
  let worstSet = findWorstScenarios(goal, x);
  let last: PricedOptimum | undefined;
  const restingFlags = findSecuritiesAtBounds(bare.program, x);
  // If two corners are equally good, rounding decides if a solve converges. Other units are then tried.
  const units = bare.program.curvature === 0 ? VARIABLE_UNITS : VARIABLE_UNITS.slice(0, 1);
  const findOptimum = (price: number): PricedOptimum | undefined => {
    const terms = units.map((times) => ({ goal, bare, set: worstSet, unit: times * unit, price }));
    return (
      findFirst(terms, (own) => solveWithFixedSecurities(solver, own, x, restingFlags)) ??
      findFirst(terms, (own) => solveAtPrice(solver, own, bare.program))
    );
  };
  if (bare.program.curvature === 0) {
    const findCorner = (price: number) => {
      for (let round = 0; round < SETS_MAX; round++) {
        const result = findOptimum(price);
        if (result === undefined) return undefined;
        planes.push(result.plane);
        const { weights, plane } = result;
        const outcomes = computeOutcomes(goal, weights);
        const tail = computeTailAverage(goal, outcomes);
        const joinedSet = joinSets(worstSet, findWorstScenarios(goal, weights, outcomes));
        const isWhole =
          isSame(joinedSet, worstSet) ||
          tail - computeDotProduct(plane.slopes, weights) <= LIMIT_TOLERANCE * (1 + most);
        worstSet = joinedSet;
        if (isWhole) return { ...result, tail, cost: computeGoalCost(bare.program, weights) };
      }
      return undefined;
    };
    const interpolation = interpolateCorners<PricedOptimum & PricedCorner>(first, most, findCorner);
    for (const plane of planes) tails.hold(plane);
    return { planes, ...createLimitSolution(bare, placed, interpolation) };
  }
  const attainedPrice = searchPrice({ first, most }, (price) => {
    const tailSet = worstSet;
    const result = findOptimum(price);
    if (result === undefined) return undefined;
    const tail = computeTailAverage(goal, computeOutcomes(goal, result.weights));
    if (Math.abs(tail - most) <= LIMIT_TOLERANCE * (1 + most)) last = result;
    planes.push(result.plane);
    worstSet = joinSets(tailSet, findWorstScenarios(goal, result.weights));
    return { tail, isWhole: isSame(worstSet, tailSet) };
  });
  for (const plane of planes) tails.hold(plane);
  return { planes, attained: attainedPrice, optimum: last === undefined ? null : addPlane(bare, placed, last) };
}

function findFirst<T, R>(values: readonly T[], toResult: (value: T) => R | undefined): R | undefined {
  for (const value of values) {
    const result = toResult(value);
    if (result !== undefined) return result;
  }
  return undefined;
}

/** Returns a linear objective at some weights, including the kinks in the objective. */
function computeGoalCost({ linear, kinks }: Program, weights: Float64Array): number {
  return kinks.reduce(
    (sum, kink) => sum + (kink.limit === null ? sumKinks(kink, weights) : 0),
    computeDotProduct(linear, weights),
  );
}

function createLimitSolution(
  bare: AssembledProgram,
  rowWithOrigin: ExceededTail['placed'],
  between: CornerInterpolation<PricedOptimum> | undefined,
): Pick<PricedTail, 'attained' | 'optimum'> {
  if (between === undefined) return { attained: null, optimum: null };
  const { weights, corner } = between;
  const { point, state } = corner.answer;
  const { lower, upper } = bare.program;
  const differsFromLimit = (side: number, i: number) =>
    (side === LOWER && weights[i] !== lower[i]) || (side === UPPER && weights[i] !== upper[i]);
  const names = state.names.map((held, i) => (differsFromLimit(held, i) ? FREE : held));
  const answer = { ...corner.answer, point: { ...point, x: weights }, state: { ...state, names } };
  const optimum = addPlane(bare, rowWithOrigin, { ...corner, weights, answer });
  const { goal } = rowWithOrigin.row;
  return {
    attained: optimum === null ? null : computeTailAverage(goal, computeOutcomes(goal, weights)),
    optimum,
  };
}

/** Returns true if the round of cutting planes includes a price search. */
export function hasPriceSearch(isLinear: boolean, round: number): boolean {
  return isLinear ? round % TANGENT_PLANES_LINEAR === TANGENT_PLANES_LINEAR - 1 : round >= TANGENT_PLANES_MIN;
}

interface PricedTerms {
  readonly goal: TailGoal;
  /** Program without the cutting planes of the tail. */
  readonly bare: AssembledProgram;
  readonly set: TailSet;
  readonly unit: number;
  readonly price: number;
}

/** Weights that minimise the objective plus a priced tail. */
interface PricedOptimum {
  readonly weights: Float64Array;
  readonly plane: TailCut;
  /** Multiplier of the plane. */
  readonly price: number;
  readonly answer: ProgramResult;
}

/**
 * Returns the optimum at a price. Returns undefined without a solution.
 * @param rows program of `bare`, possibly with narrower bounds
 */
function solveAtPrice(
  solver: Solver,
  { goal, set, unit, price }: PricedTerms,
  rows: Program,
): PricedOptimum | undefined {
  const { n } = rows;
  const { program, rowsBefore } = createTailProgram(goal, rows, set, unit, price);
  const answer = solver.solve(program, { effort: 'quick' });
  if (answer.status !== 'solved') return undefined;
  const multipliers = answer.point.rowMultipliers.subarray(rowsBefore);
  // The forces sum to the price up to rounding. Divided by the sum, they form an average.
  const total = multipliers.subarray(0, set.scenarios.length).reduce((sum, value) => sum + value, 0);
  const slopes = computeTailForces(goal, computeTailShares(goal, set, multipliers), n).map((force) => force / total);
  const programResult = selectFirstVariables(program, answer, n, rowsBefore);
  return { weights: programResult.point.x, plane: { goal, slopes }, price: total, answer: programResult };
}

/** Maximum number of rounds in which fixed securities are released. */
const RELEASES_MAX = 12;

/** Finds the optimum with securities fixed at bounds, and releases those that would improve it. */
function solveWithFixedSecurities(
  solver: Solver,
  terms: PricedTerms,
  near: Float64Array,
  resting: Uint8Array | null,
): PricedOptimum | undefined {
  if (resting === null) return undefined;
  const { program } = terms.bare;
  for (let round = 0; round < RELEASES_MAX; round++) {
    const rows = restoreSecuritiesAtBounds(program, resting, near);
    const result = solveAtPrice(solver, terms, rows);
    if (result === undefined) return undefined;
    const { plane, price, answer } = result;
    const linear = rows.linear.map((value, i) => value + price * plane.slopes[i]!);
    const wholeSolution = expandSolution({ program: { ...rows, linear }, answer }, program);
    if (wholeSolution === undefined) return undefined;
    if (wholeSolution.pulled.length === 0) return { ...result, answer: wholeSolution.answer };
    for (const i of wholeSolution.pulled) resting[i] = 0;
  }
  return undefined;
}

/**
 * Converts an optimum to a solution whose tail row is its plane. Returns null if it violates the optimality conditions.
 */
function addPlane(
  bare: AssembledProgram,
  rowWithOrigin: RowWithOrigin,
  { weights, plane, price, answer }: PricedOptimum,
): AssembledSolution | null {
  const { slopes } = plane;
  const program = addUpperRows(bare.program, [{ coefficients: slopes, upper: computeDotProduct(slopes, weights) }]);
  const { point, state } = answer;
  const extendedPoint = { ...point, rowMultipliers: Float64Array.of(...point.rowMultipliers, price) };
  const kkt = checkKkt(program, extendedPoint);
  if (!isOptimal(kkt)) return null;
  return {
    assembled: { ...bare, program, linear: [...bare.linear, rowWithOrigin], planes: bare.planes + 1 },
    answer: { ...answer, point: extendedPoint, state: { ...state, rows: Int8Array.of(...state.rows, UPPER) }, kkt },
  };
}

interface PricedPoint {
  /** Tail average at the weights for a price. */
  readonly tail: number;
  /**
   * True if the program contained the worst scenarios of these weights. Otherwise other weights may have a smaller
   * tail.
   */
  readonly isWhole: boolean;
}

/** Tries prices, alternating between secant steps and geometric means, until the tail equals its limit. */
function searchPrice(
  { first, most }: { readonly first: number; readonly most: number },
  tailAt: (price: number) => PricedPoint | undefined,
): number | null {
  const acceptedLimit = LIMIT_TOLERANCE * (1 + most);
  let [low, above] = [0, 0];
  let [high, below] = [Infinity, 0];
  let price = first;
  let idle = 0;
  let attainedPrice: number | null = null;
  for (let step = 0; step < PRICES_MAX && idle < IDLE_MAX; step++) {
    const point = tailAt(price);
    if (point === undefined) break;
    const excess = point.tail - most;
    if (Math.abs(excess) <= acceptedLimit) {
      attainedPrice = point.tail;
      if (excess > 0) break;
    }
    if (excess > 0 && !point.isWhole) continue;
    idle = high === Infinity && excess === above ? idle + 1 : 0;
    if (excess > 0) [low, above] = [price, excess];
    else [high, below] = [price, excess];
    if (attainedPrice !== null && high <= PRICE_RATIO_MAX * low) break;
    if (high === Infinity) price = GROWTH * low;
    else if (low === 0) price = high / GROWTH;
    else if (attainedPrice !== null || step % 2 === 0) price = Math.sqrt(low * high);
    else price = low + ((high - low) * above) / (above - below);
  }
  return attainedPrice;
}

/** Returns the program without the cutting planes of a tail, and the sum of their multipliers. */
function removeTailPlanes(
  assembled: AssembledProgram,
  goal: TailGoal,
  multipliers: Float64Array,
): { readonly bare: AssembledProgram; readonly price: number } {
  const { program, linear, planes } = assembled;
  const { n, rows } = program;
  const remainingRows: number[] = [];
  let price = 0;
  for (let r = 0; r < rows.count; r++) {
    const row = linear[r]?.row;
    if (row?.form === 'tail' && row.goal === goal) price += multipliers[r]!;
    else remainingRows.push(r);
  }
  const coefficients = new Float64Array(remainingRows.length * n);
  remainingRows.forEach((r, k) => coefficients.set(rows.coefficients.subarray(r * n, r * n + n), k * n));
  const pickRows = (values: Float64Array) => Float64Array.from(remainingRows, (r) => values[r]!);
  const { lower, upper, penalty } = rows;
  const remainingLimits = {
    count: remainingRows.length,
    coefficients,
    lower: pickRows(lower),
    upper: pickRows(upper),
    penalty: pickRows(penalty),
  };
  const programWithoutPlanes = {
    ...assembled,
    program: { ...program, rows: remainingLimits },
    linear: remainingRows.map((r) => linear[r]),
    planes: planes - (rows.count - remainingRows.length),
  };
  return { bare: programWithoutPlanes, price };
}
