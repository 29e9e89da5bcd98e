import type { AccountProgram } from './account-program.js';
import type { RelaxedTrades } from './relaxed-trades.js';

/** Prices of one unit of each sum that couples the securities. */
export interface SumPrices {
  readonly short: number;
  readonly long: number;
  readonly cost: number;
}

/** Best trades of all securities at prices, and their sums. */
export interface SecurityResponses {
  /** Amount of each trade. */
  readonly traded: Float64Array;
  readonly weights: Float64Array;
  /** Trade that is made in part by security, whose amount changes with the slope; -1 if there is none. */
  readonly partial: Int32Array;
  /** Gains and costs of all trades. */
  readonly sums: SumPrices;
  /** Computes the trades. @param slope  of the objective in each weight, without the own variance of the security, [n] */
  respond(slope: Float64Array, prices: SumPrices): void;
}

/**
 * Prepares the responses of the securities of a convex form. Each minimises its own variance plus a piecewise linear
 * cost in closed form: from the weight after all sales and no purchase, sales are undone and purchases made while the marginal cost
 * is below the slope. A security with an order undoes its last sale first, at no less than the cost of the step before, so that its
 * gains are a continuous function of its weight; another one follows the marginal cost.
 *
 * @cost a response: 15 operations per trade
 * @source Rockafellar (1970), Convex Analysis, section 30: the dual of a separable problem
 */
export function createResponses(
  { n, held, target, specific, aversion, lower, upper, isOrdered }: AccountProgram,
  { count, start, sign, size, short, long, cost }: RelaxedTrades,
): SecurityResponses {
  const traded = new Float64Array(count);
  const weights = new Float64Array(n);
  const partial = new Int32Array(n);
  const sums = { short: 0, long: 0, cost: 0 };
  /** Cost of one more unit of weight by trade. */
  const marginal = new Float64Array(count);
  /** Trades of each security from the lowest weight on: sales backwards, then the purchase. */
  const order = Int32Array.from({ length: count }, (_, j) => j);
  const lowest = held.slice();
  for (let i = 0; i < n; i++) {
    let end = start[i]!;
    for (; end < start[i + 1]! && sign[end]! < 0; end++) lowest[i]! -= size[end]!;
    order.subarray(start[i]!, end).reverse();
  }

  /** Sorts trades by marginal cost; their order is nearly that of the previous call. */
  function sort(from: number, end: number): void {
    for (let at = from + 1; at < end; at++) {
      const j = order[at]!;
      const own = marginal[j]!;
      let place = at;
      for (; place > from && marginal[order[place - 1]!]! > own; place--) order[place] = order[place - 1]!;
      order[place] = j;
    }
  }

  /** Best trades of one security. @param scale  response of its weight to the slope */
  function respondOne(i: number, slope: number, scale: number): void {
    const free = target[i]! - slope * scale;
    let weight = lowest[i]!;
    let [dearest, inPart, isOver] = [-Infinity, -1, false];
    for (let at = start[i]!; at < start[i + 1]!; at++) {
      const j = order[at]!;
      let amount = 0;
      if (!isOver) {
        dearest = Math.max(dearest, marginal[j]!);
        const wish = free - dearest * scale;
        const to = Math.min(upper[i]!, Math.max(lower[i]!, wish));
        amount = Math.min(size[j]!, Math.max(0, to - weight));
        isOver = amount < size[j]!;
        if (isOver && amount > 0 && to === wish) inPart = j;
        weight += amount;
      }
      traded[j] = sign[j]! > 0 ? amount : size[j]! - amount;
    }
    weights[i] = weight;
    partial[i] = inPart;
  }

  return {
    traded,
    weights,
    partial,
    sums,
    respond(slope, prices) {
      const { short: ps, long: pl, cost: pc } = prices;
      for (let j = 0; j < count; j++) marginal[j] = sign[j]! * (ps * short[j]! + pl * long[j]! + pc * cost[j]!);
      for (let i = 0; i < n; i++) {
        if (isOrdered[i] === 0) sort(start[i]!, start[i + 1]!);
        respondOne(i, slope[i]!, 1 / (2 * aversion * specific[i]!));
      }
      let [s, l, c] = [0, 0, 0];
      for (let j = 0; j < count; j++) {
        s += short[j]! * traded[j]!;
        l += long[j]! * traded[j]!;
        c += cost[j]! * traded[j]!;
      }
      Object.assign(sums, { short: s, long: l, cost: c });
    },
  };
}
