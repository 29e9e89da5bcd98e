import { raiseToPower } from '#kernels/power.js';
import type { ActiveState } from '#kernels/optimisation/active-set/active-state.js';
import { computeMetricDiagonal, computeMetricSquare, type Metric } from '#kernels/optimisation/program/metric.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import type { ProgramResult } from '#kernels/optimisation/program-answer.js';

/** Portfolio at one price, as a point of the search for the largest ratio. */
export interface RatioPoint {
  /** Price of the numerator: the portfolio minimises half the variance minus the price times the numerator. */
  readonly price: number;
  readonly variance: number;
  readonly numerator: number;
  /** Program with this optimum; curved parts are replaced by their tangents. */
  readonly program: Program;
  readonly answer: ProgramResult;
}

/**
 * Distance from the root, relative to the variance. If the distance is below it and no longer halves, the rest is
 * rounding of the portfolios.
 */
const STALL_TOLERANCE = 1e-9;

/** Maximum number of portfolios in a search; five to eight are usual. */
const POINTS_MAX = 60;

/** Growth factor of a price that is too low. */
const GROWTH = 4;

/** Period, in points, at which the ratio of variance to numerator is the next price instead of the secant root. */
const BISECTION_PERIOD = 8;

/** Distance from the root, relative to the variance, that counts as rounding. */
const ROUNDING = 1e-14;

/**
 * Finds the portfolio with the largest numerator per unit of volatility. At its price, the variance equals price times
 * numerator. While the active set is unchanged, the weights, and the variance less price times numerator, are linear in
 * the price. The secant method therefore finds the root exactly. The portfolio solves the homogenised program, with any
 * convex rows.
 * @param solveAtPrice returns the portfolio at a price; undefined if there is none.
 * @param guess initial price.
 * @param rounding accuracy of the distance from the root, relative to the variance.
 * @returns undefined if a price has no portfolio, or no portfolio has a positive numerator.
 * @source Dinkelbach (1967), On nonlinear fractional programming, Management Science 13(7); Schaible (1976), Fractional
 * programming I, Management Science 22(8).
 */
export function solveRatio(
  solveAtPrice: (price: number, warm: ActiveState | undefined) => RatioPoint | undefined,
  guess: number,
  rounding = ROUNDING,
): RatioPoint | undefined {
  let low: RatioPoint | undefined;
  let high: RatioPoint | undefined;
  let last: RatioPoint | undefined;
  let price = guess;
  for (let k = 0; k < POINTS_MAX; k++) {
    const point = solveAtPrice(price, last?.answer.state);
    if (point === undefined || !(price < Number.MAX_VALUE)) return undefined;
    const excess = computeExcess(point);
    if (Math.abs(excess) <= rounding * (point.variance + Math.abs(price * point.numerator))) return point;
    const before = last;
    last = point;
    if (before !== undefined && isStalled(point, before)) return point;
    if (excess > 0) low = point;
    else high = point;
    const next = computeNextPrice({
      low,
      high,
      point,
      before: k % BISECTION_PERIOD === BISECTION_PERIOD - 1 ? undefined : before,
    });
    if (next === price || next === low?.price || next === high?.price) return selectNearer(low, high) ?? point;
    price = next;
  }
  return selectNearer(low, high);
}

/** Returns variance less price times numerator, which is positive below the root. */
function computeExcess({ price, variance, numerator }: RatioPoint): number {
  return variance - price * numerator;
}

function isStalled(point: RatioPoint, before: RatioPoint): boolean {
  const [excess, size] = [Math.abs(computeExcess(point)), point.variance + Math.abs(point.price * point.numerator)];
  return excess <= STALL_TOLERANCE * size && 2 * excess > Math.abs(computeExcess(before));
}

function selectNearer(low: RatioPoint | undefined, high: RatioPoint | undefined): RatioPoint | undefined {
  if (low === undefined || high === undefined) return undefined;
  return Math.abs(computeExcess(low)) <= Math.abs(computeExcess(high)) ? low : high;
}

interface Bracket {
  readonly low: RatioPoint | undefined;
  readonly high: RatioPoint | undefined;
  readonly point: RatioPoint;
  readonly before: RatioPoint | undefined;
}

/**
 * Returns the secant root of the last two points if it is inside the bracket. Otherwise returns a price that shrinks
 * the bracket.
 */
function computeNextPrice({ low, high, point, before }: Bracket): number {
  const ratioPrice = point.numerator > 0 ? point.variance / point.numerator : GROWTH * point.price;
  let nextPrice = ratioPrice;
  if (before !== undefined && before.price !== point.price) {
    const [here, there] = [computeExcess(point), computeExcess(before)];
    nextPrice = point.price - (here * (point.price - before.price)) / (here - there);
  }
  if (high === undefined) {
    const largestPrice = raiseToPower(GROWTH, 3) * point.price;
    return nextPrice > point.price && nextPrice < largestPrice
      ? nextPrice
      : Math.min(Math.max(ratioPrice, GROWTH * point.price), largestPrice);
  }
  const least = low?.price ?? 0;
  if (nextPrice > least && nextPrice < high.price) return nextPrice;
  return ratioPrice > least && ratioPrice < high.price
    ? ratioPrice
    : low === undefined
      ? high.price / GROWTH
      : (least + high.price) / 2;
}

/**
 * Variance, relative to its largest value over all correlations, that consists of rounding errors of the products of
 * weights and covariances.
 */
const VARIANCE_ROUNDING = 1e-14;

/**
 * Returns true if a variance of weights consists of rounding errors: their risks cancel.
 * @param variance variance of the weights, with the worst case of an uncertain covariance
 */
export function isRiskless(metric: Metric, weights: Float64Array, variance: number): boolean {
  const variances = computeMetricDiagonal(metric);
  const gross = weights.reduce((sum, weight, i) => sum + Math.abs(weight) * Math.sqrt(Math.max(0, variances[i]!)), 0);
  return variance <= VARIANCE_ROUNDING * gross * gross;
}

/** Returns the variance of some weights. */
export function computeVariance(program: Program, weights: Float64Array): number {
  return Math.max(0, computeMetricSquare(program.metric!, weights)); // the program of a ratio has a metric
}
