import { dot } from '../dot.js';

/** Weights of one close, as limits measure them. */
export interface Holdings {
  /** Weights of the names, negative for short positions, [H]. */
  readonly weights: Float64Array;
  /** Issuer of each name, [H]. */
  readonly issuerOf: Int32Array;
  /** Sums of the weights of each issuer, [K]. */
  readonly issuers: Float64Array;
}

/** Rounding that is no breach, in the unit of a limit. */
export const TOLERANCE = 1e-12;

export type Side = 'lower' | 'upper';

/** A relative change of one name's price, the others unchanged. */
export interface Move {
  /** Position of the name. */
  readonly name: number;
  /** 0.1 is a rise of 10 %. */
  readonly move: number;
}

/** One number that a limit bounds. */
export interface Measure {
  valueOf(holdings: Holdings): number;
  /**
   * The least move of each direction of one name's price behind which the value is beyond the bound; Infinity and
   * -Infinity where there is none.
   * @param weight weight of the name, not 0
   */
  movesOf(holdings: Holdings, name: number, bound: Bound): { readonly up: number; readonly down: number };
}

export interface Bound {
  readonly side: Side;
  readonly limit: number;
}

export const NO_MOVE = { up: Infinity, down: -Infinity } as const;

/**
 * A ratio of two weighted sums. A name that moves by x takes both along:
 * (n'w + n_i w_i x) / (d'w + d_i w_i x), whose bound is met at one x.
 * @param denominator null for the value of the portfolio
 */
export function ratio(numerator: Float64Array, denominator: Float64Array | null): Measure {
  const sums = ({ weights }: Holdings) => ({
    above: dot(numerator, weights),
    below: denominator === null ? 1 : dot(denominator, weights),
  });
  return {
    valueOf(holdings) {
      const { above, below } = sums(holdings);
      return below === 0 ? 0 : above / below;
    },
    movesOf(holdings, name, { limit }) {
      const weight = holdings.weights[name]!;
      const { above, below } = sums(holdings);
      const slope = numerator[name]! * weight - limit * (denominator === null ? 1 : denominator[name]!) * weight;
      return sided((limit * below - above) / slope, weight);
    },
  };
}

/** 1 over the sum of squared weights. */
export const effectiveNumber: Measure = {
  valueOf({ weights }) {
    const squares = dot(weights, weights);
    return squares === 0 ? 0 : 1 / squares;
  },
  movesOf({ weights }, name, { limit }) {
    // limit * (Q + 2 w^2 x + w^2 x^2) = (1 + w x)^2, Q the sum of squares.
    const weight = weights[name]!;
    const square = weight * weight;
    const a = limit * square - square;
    const b = 2 * (limit * square - weight);
    const c = limit * dot(weights, weights) - 1;
    if (a === 0) return sided(-c / b, weight);
    const root = Math.sqrt(b * b - 4 * a * c); // NaN where the bound is out of reach.
    // Without cancellation: one root by the sum, the other by the product.
    const q = -(b + Math.sign(b || 1) * root) / 2;
    const [first, second] = [sided(q / a, weight), sided(c / q, weight)];
    return { up: Math.min(first.up, second.up), down: Math.max(first.down, second.down) };
  },
};

/** The least weight held long. */
export const leastHolding: Measure = {
  valueOf: ({ weights }) => weights.reduce((least, weight) => (weight > 0 ? Math.min(least, weight) : least), Infinity),
  movesOf({ weights }, name, { limit }) {
    const weight = weights[name]!;
    if (weight <= 0) return NO_MOVE;
    let least = Infinity;
    weights.forEach((other, i) => {
      if (i !== name && other > 0) least = Math.min(least, other);
    });
    const own = sided((limit - weight) / (weight * (1 - limit)), weight);
    const others = sided((least / limit - 1) / weight, weight);
    return { up: Math.min(own.up, others.up), down: Math.max(own.down, others.down) };
  },
};

/** Number of names held among some: no move of a price changes it. */
export function heldCount(members: Int32Array): Measure {
  return {
    valueOf: ({ weights }) => members.reduce((count, name) => count + (weights[name] !== 0 ? 1 : 0), 0),
    movesOf: () => NO_MOVE,
  };
}

/** A move as one of its direction, if a price and the portfolio can survive it. */
export function sided(move: number, weight: number): { readonly up: number; readonly down: number } {
  if (!Number.isFinite(move) || move <= -1 || 1 + weight * move <= 0) return NO_MOVE;
  return move >= 0 ? { up: move, down: -Infinity } : { up: Infinity, down: move };
}
