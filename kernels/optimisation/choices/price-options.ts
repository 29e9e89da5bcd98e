import { assert } from '../../assert.js';

/**
 * Problem of choosing one option per item at the lowest total cost, within limits on the sums of the options' amounts.
 */
export interface OptionProblem {
  /** Options of item i are starts[i] to starts[i + 1] - 1, at least one, [items + 1]. */
  readonly starts: Int32Array;
  /** Cost of each option, [options]. */
  readonly costs: Float64Array;
  /** Amounts of each option, [options x limits] row-major. */
  readonly amounts: Float64Array;
  /** Bounds of the sums, [limits]; a limit has at least one finite side. */
  readonly lower: Float64Array;
  readonly upper: Float64Array;
}

export interface PricedOptions {
  /** Lower bound of the total cost. */
  readonly bound: number;
  /** Cost of each option plus its amounts at the prices that prove the bound, [options]. */
  readonly priced: Float64Array;
}

/**
 * Radius of the initial ellipsoid of prices, as a multiple of a ratio and of the square root of the number of limits.
 * The ratio is the largest difference of costs divided by the largest difference of amounts.
 */
const RADIUS_RATIO = 4;

/**
 * Maximum number of steps, divided by the square of the number of limits. With ten limits, the mean radius has then
 * decreased to a hundred-millionth.
 */
const STEPS_PER_LIMIT = 40;

/**
 * Minimum possible rise of the bound, relative to the largest difference of costs. The search ends when the possible
 * rise is smaller.
 */
const RISE_MIN = 1e-9;

/**
 * Computes a lower bound on the cost of a choice of options. Prices on the limits separate the items, so that each item
 * is minimised separately. The bound is concave in the prices, and the ellipsoid method finds the best prices: at each
 * step, the ellipsoid shrinks to the half that contains them.
 * @returns  Bound less its rounding error; it is valid at any prices.
 * @throws   KernelFault with fewer than two limits.
 * @cost     40 limits^2 passes over the amounts.
 * @source   Bland, Goldfarb & Todd (1981), The ellipsoid method: a survey, Operations Research 29(6); Everett (1963),
 *           Generalized Lagrange multiplier method, Operations Research 11(3).
 */
export function priceOptions(problem: OptionProblem): PricedOptions {
  const { lower, upper } = problem;
  const m = lower.length;
  assert(m >= 2, `limits: ${m}`);
  const { costScale, amountScales } = findScales(problem);
  const axis = amountScales.map((scale) => (scale > 0 ? (RADIUS_RATIO * Math.sqrt(m) * costScale) / scale : 0));
  const shape = new Float64Array(m * m).map((_, e) => (e % (m + 1) === 0 ? axis[e % m]! ** 2 : 0));
  const centre = new Float64Array(m);
  const slopes = new Float64Array(m);
  const direction = new Float64Array(m);
  let bound = Number.NEGATIVE_INFINITY;
  let bestPrices = centre.slice();
  for (let step = 0; step < STEPS_PER_LIMIT * m * m; step++) {
    const unboundedPrice = centre.findIndex(
      (price, r) => price !== 0 && !Number.isFinite(price > 0 ? upper[r] : lower[r]),
    );
    if (unboundedPrice >= 0) slopes.fill(0)[unboundedPrice] = -Math.sign(centre[unboundedPrice]!);
    else {
      const value = computeBound(problem, centre, slopes);
      if (value > bound) [bound, bestPrices] = [value, centre.slice()];
    }
    let square = 0;
    for (let r = 0; r < m; r++) {
      direction[r] = 0;
      for (let s = 0; s < m; s++) direction[r]! += shape[r * m + s]! * slopes[s]!;
      square += direction[r]! * slopes[r]!;
    }
    if (!(square > 0) || (unboundedPrice < 0 && Math.sqrt(square) < RISE_MIN * costScale)) break;
    const root = Math.sqrt(square);
    const growth = (m * m) / (m * m - 1);
    for (let r = 0; r < m; r++) centre[r]! += direction[r]! / (root * (m + 1));
    for (let e = 0; e < m * m; e++) {
      const product = (direction[Math.floor(e / m)]! * direction[e % m]!) / square;
      shape[e] = growth * (shape[e]! - (2 / (m + 1)) * product);
    }
  }
  const pricedCosts = problem.costs.map((cost, o) => cost + priceAmounts(problem, o, bestPrices));
  return { bound, priced: pricedCosts };
}

/** Returns the bound at some prices less its rounding error, and writes its slopes. */
function computeBound(problem: OptionProblem, prices: Float64Array, slopes: Float64Array): number {
  const { starts, costs, amounts, lower, upper } = problem;
  const m = prices.length;
  let total = 0;
  let size = 0;
  for (let r = 0; r < m; r++) {
    const price = prices[r]!;
    // At a price of zero, either finite side gives a subgradient.
    const limit = price > 0 || (price === 0 && upper[r]! < Infinity) ? upper[r]! : lower[r]!;
    slopes[r] = -limit;
    total -= price * limit;
    size += Math.abs(price * limit);
  }
  for (let i = 0; i + 1 < starts.length; i++) {
    let leastCost = Infinity;
    let cheapestOption = 0;
    for (let o = starts[i]!; o < starts[i + 1]!; o++) {
      const value = costs[o]! + priceAmounts(problem, o, prices);
      if (value < leastCost) [leastCost, cheapestOption] = [value, o];
    }
    total += leastCost;
    size += Math.abs(leastCost);
    for (let r = 0; r < m; r++) slopes[r]! += amounts[cheapestOption * m + r]!;
  }
  return total - (starts.length + m) * Number.EPSILON * size;
}

function priceAmounts({ amounts }: OptionProblem, option: number, prices: Float64Array): number {
  let total = 0;
  for (let r = 0; r < prices.length; r++) total += prices[r]! * amounts[option * prices.length + r]!;
  return total;
}

/** Returns the largest differences of costs and amounts between the first option of an item and its other options. */
function findScales({ starts, costs, amounts, lower }: OptionProblem) {
  const m = lower.length;
  const amountScales = new Float64Array(m);
  let costScale = 0;
  for (let i = 0; i + 1 < starts.length; i++) {
    const first = starts[i]!;
    for (let o = first + 1; o < starts[i + 1]!; o++) {
      costScale = Math.max(costScale, Math.abs(costs[o]! - costs[first]!));
      for (let r = 0; r < m; r++) {
        const difference = Math.abs(amounts[o * m + r]! - amounts[first * m + r]!);
        amountScales[r] = Math.max(amountScales[r]!, difference);
      }
    }
  }
  return { costScale, amountScales };
}
