import { computeDotProduct } from '../numbers/dot.js';

/** Weights at a close, as the input of limits. */
export interface Holdings {
  /** Weights of the securities, negative for short positions, [H]. */
  readonly weights: Float64Array;
  /** Issuer of each security, [H]. */
  readonly issuerOf: Int32Array;
  /** Net weight of each issuer, [K]. */
  readonly nets: Float64Array;
  /** Magnitude of the net weight of each issuer, [K]. */
  readonly issuers: Float64Array;
}

/** Excess over the limit, in the unit of the limit, up to which it counts as rounding and not as a breach. */
export const TOLERANCE = 1e-12;

export type BoundSide = 'lower' | 'upper';

/** Relative price change of one security while all other prices are unchanged. */
export interface PriceMove {
  /** Position of the security. */
  readonly name: number;
  /** Relative change: 0.1 is a rise of 10%. */
  readonly move: number;
}

/** Number that a limit bounds. */
export interface BoundedMeasure {
  valueOf(holdings: Holdings): number;
  /** Returns the issuers whose weights form the value, largest first. Absent if the value has no such issuers. */
  issuersIn?(holdings: Holdings): readonly number[];
  /** Prepares the computation of the value after the price of a single security moves, for one close. */
  movesOf(holdings: Holdings, bound: Bound): Moves;
  /** Returns the securities among which the least move must be. Default: all. */
  movers?(heaviest: readonly number[]): readonly number[];
}

/** Price moves of single securities, prepared for one close. */
export interface Moves {
  /** Product of move and weight below which no move exceeds the bound. Default: 0. */
  readonly least?: number;
  readonly moveOf: LeastMove;
}

/**
 * Returns the smallest price move of a security that takes the value beyond its bound. Of an equal rise and fall,
 * returns the rise. Returns Infinity if there is no such move.
 * @param name security with a weight
 * @param reach larger moves may be reported as Infinity
 */
export type LeastMove = (name: number, reach: number) => number;

export interface Bound {
  readonly side: BoundSide;
  readonly limit: number;
}

/**
 * Measures a ratio of two weighted sums. A price move x of security i changes both: (n'w + n_i w_i x) / (d'w + d_i w_i
 * x). The ratio equals its bound at a single x.
 * @param denominator null if the ratio is to the value of the portfolio
 */
export function computeRatio(numerator: Float64Array, denominator: Float64Array | null): BoundedMeasure {
  const computeSums = ({ weights }: Holdings) => ({
    above: computeDotProduct(numerator, weights),
    below: denominator === null ? 1 : computeDotProduct(denominator, weights),
  });
  return {
    valueOf(holdings) {
      const { above, below } = computeSums(holdings);
      return below === 0 ? 0 : above / below;
    },
    movesOf(holdings, { limit }) {
      const { above, below } = computeSums(holdings);
      return {
        moveOf(name) {
          const weight = holdings.weights[name]!;
          const slope = numerator[name]! * weight - limit * (denominator === null ? 1 : denominator[name]!) * weight;
          return limitMove((limit * below - above) / slope, weight);
        },
      };
    },
  };
}

/** Sum of the absolute weights. */
export const grossExposure: BoundedMeasure = {
  valueOf: ({ weights }) => sumMagnitudes(weights),
  movesOf({ weights }, { limit }) {
    const gross = sumMagnitudes(weights);
    // Solves gross + |w| x = limit * (1 + w x). A position keeps its sign if its price stays positive.
    return {
      moveOf(name) {
        const weight = weights[name]!;
        return limitMove((limit - gross) / (Math.abs(weight) - limit * weight), weight);
      },
    };
  },
};

const sumMagnitudes = (weights: Float64Array): number => weights.reduce((sum, weight) => sum + Math.abs(weight), 0);

/** Effective number of securities: 1 over the sum of squared weights. */
export const effectiveNumber: BoundedMeasure = {
  valueOf({ weights }) {
    const squares = computeDotProduct(weights, weights);
    return squares === 0 ? 0 : 1 / squares;
  },
  movesOf({ weights }, { limit }) {
    const c = limit * computeDotProduct(weights, weights) - 1;
    // Solves limit * (Q + 2 w^2 x + w^2 x^2) = (1 + w x)^2, where Q is the sum of squared weights.
    const computeMove = (name: number): number => {
      const weight = weights[name]!;
      const square = weight * weight;
      const a = limit * square - square;
      const b = 2 * (limit * square - weight);
      if (a === 0) return limitMove(-c / b, weight);
      const root = Math.sqrt(b * b - 4 * a * c); // NaN if no move reaches the bound.
      // To avoid cancellation, one root is q / a, and the other is c / q, from the product of the roots.
      const q = -(b + Math.sign(b || 1) * root) / 2;
      return selectNearer(limitMove(q / a, weight), limitMove(c / q, weight));
    };
    return { moveOf: computeMove };
  },
};

/** Smallest long weight. */
export const leastHolding: BoundedMeasure = {
  valueOf: ({ weights }) => weights.reduce((least, weight) => (weight > 0 ? Math.min(least, weight) : least), Infinity),
  movesOf({ weights }, { limit }) {
    const [first, second] = findTwoLeast(weights);
    const computeMove = (name: number): number => {
      const weight = weights[name]!;
      if (weight <= 0) return Infinity;
      const limitDistance = limitMove((limit - weight) / (weight * (1 - limit)), weight);
      const least = name === first.name ? second.weight : first.weight;
      return selectNearer(limitDistance, limitMove((least / limit - 1) / weight, weight));
    };
    return { moveOf: computeMove };
  },
};

interface Holding {
  readonly name: number;
  readonly weight: number;
}

/** Returns the two smallest long weights. If there are fewer, the missing ones are Infinity. */
function findTwoLeast(weights: Float64Array): readonly [Holding, Holding] {
  let first: Holding = { name: -1, weight: Infinity };
  let second = first;
  weights.forEach((weight, name) => {
    if (weight <= 0 || weight >= second.weight) return;
    if (weight < first.weight) [first, second] = [{ name, weight }, first];
    else second = { name, weight };
  });
  return [first, second];
}

/** Measures the number of held securities among `members`. Price moves do not change it. */
export function countHoldings(members: Int32Array): BoundedMeasure {
  return {
    valueOf: ({ weights }) => members.reduce((count, name) => count + (weights[name] !== 0 ? 1 : 0), 0),
    movesOf: () => ({ moveOf: () => Infinity }),
  };
}

/**
 * Returns the two largest long and the two largest short positions, if they exist. Equal weights are in the order of
 * the securities.
 */
export function findHeaviest(weights: Float64Array): number[] {
  return [1, -1].flatMap((side) => {
    let first = -1;
    let second = -1;
    for (let name = 0; name < weights.length; name++) {
      const size = side * weights[name]!;
      if (!(size > 0)) continue;
      if (first < 0 || size > side * weights[first]!) [first, second] = [name, first];
      else if (second < 0 || size > side * weights[second]!) second = name;
    }
    return [first, second].filter((name) => name >= 0);
  });
}

/** Returns the move if the price and the portfolio stay positive, otherwise Infinity. */
export function limitMove(move: number, weight: number): number {
  return !Number.isFinite(move) || move <= -1 || 1 + weight * move <= 0 ? Infinity : move;
}

/** Returns the smaller of two moves. If a rise and a fall are equal, returns the rise. */
export function selectNearer(a: number, b: number): number {
  if (Math.abs(a) === Math.abs(b)) return Math.max(a, b);
  return Math.abs(a) < Math.abs(b) ? a : b;
}
