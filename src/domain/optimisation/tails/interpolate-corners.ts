/** Weights that minimise a linear objective plus a price times a tail average. */
export interface PricedCorner {
  readonly weights: Float64Array;
  /** Objective without the tail term. */
  readonly cost: number;
  readonly tail: number;
}

/** Weights whose tail equals the limit, with the corner at the price at which they are optimal. */
export interface CornerInterpolation<C> {
  readonly weights: Float64Array;
  readonly corner: C;
}

/** Maximum number of prices that are tried; five to fifteen are usual. */
const PRICES_MAX = 40;

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
  for (let step = 0; step < PRICES_MAX; step++) {
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
