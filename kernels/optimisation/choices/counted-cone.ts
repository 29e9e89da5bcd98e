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

  /** Projects each variable at a given price of shares, and returns the sum of the shares. */
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
