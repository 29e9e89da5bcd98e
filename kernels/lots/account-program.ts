import { assert } from '../assert.js';

/**
 * Optimisation problem of an account that trades towards a target, with taxes by lot. All amounts are fractions of the
 * account value.
 *
 * minimise aversion f(w) + trading costs + taxWeight T(S, L) + penalties of violated rows
 *
 * w_i   weight after trading: held_i + bought_i - sum of sales of its lots
 *   f     (w - target)' (B B' + diag(specific)) (w - target), the variance of the active return
 *   S, L  net short-term and long-term gains: fixed part plus the gains of sales
 *   T     tax: for each sign of L, the maximum of some linear functions (`TaxSide`)
 *
 * A security is bought or sold, never both.
 */
export interface AccountProgram {
  readonly n: number;
  readonly k: number;
  /** B, [n x k]. */
  readonly loadings: Float64Array;
  /** Specific variances, [n], positive. */
  readonly specific: Float64Array;
  readonly target: Float64Array;
  readonly heldWeights: Float64Array;
  /** Lots of security i are lotStart[i] to lotStart[i + 1] - 1, [n + 1]. */
  readonly lotStart: Int32Array;
  /** Lot sizes, [lots], positive. */
  readonly lotSize: Float64Array;
  /** Short-term gain per unit sold, [lots]; 0 for a long-term lot. */
  readonly lotShort: Float64Array;
  readonly lotLong: Float64Array;
  /** 1 if the security sells its lots in their given order, 0 if it sells the cheapest lot first, [n]. */
  readonly isOrdered: Uint8Array;
  /** Maximum purchase, [n]; 0 forbids it. */
  readonly buyLimit: Float64Array;
  /** Cost per unit traded, [n]. */
  readonly costRate: Float64Array;
  /** Weight of one share if only whole shares trade, [n]; 0 if any fraction may trade. */
  readonly unit: Float64Array;
  /** Minimum trade, [n]; 0: no minimum. A sale of the whole position may be smaller. */
  readonly minimumTrade: Float64Array;
  /** Bounds of weights, [n]. */
  readonly lower: Float64Array;
  readonly upper: Float64Array;
  readonly aversion: number;
  /** Maximum of f; Infinity: no limit. */
  readonly varianceLimit: number;
  readonly taxWeight: number;
  readonly fixedShort: number;
  readonly fixedLong: number;
  /** One side if T is convex, otherwise two: L >= 0 and L <= 0. */
  readonly sides: readonly TaxSide[];
  readonly rows: readonly AccountRow[];
}

/** Convex part of the tax function: the maximum of its pieces. */
export interface TaxSide {
  readonly pieces: readonly TaxPiece[];
  /** 1 if the side requires L >= 0, -1 if it requires L <= 0, 0 without a requirement. */
  readonly longSign: -1 | 0 | 1;
  /** Functions of the gains that must be at most 0. */
  readonly limits?: readonly TaxPiece[];
}

/** Linear piece of the tax: short S + long L + constant. */
export interface TaxPiece {
  readonly short: number;
  readonly long: number;
  readonly constant: number;
}

/** Constraint weights'w + short S + long L + cost C + constant <= 0. A row with a finite penalty may be violated. */
export interface AccountRow {
  /** Coefficients of the weights, [n]; null: all 0. */
  readonly weights: Float64Array | null;
  readonly short: number;
  readonly long: number;
  readonly cost: number;
  readonly constant: number;
  /** Penalty per unit of violation. Infinity for a constraint that must hold. */
  readonly penalty: number;
}

export function assertAccountProgram(program: AccountProgram): void {
  const { n, k, loadings, specific, lotStart, lotSize } = program;
  assert(loadings.length === n * k, `loadings: ${loadings.length} values for ${n} x ${k}`);
  assert(specific.length === n, `specific: ${specific.length} values for ${n} securities`);
  assert(lotStart.length === n + 1, `lotStart: ${lotStart.length} values for ${n} securities`);
  assert(lotStart[n] === lotSize.length, `lots: ${lotSize.length}, ${lotStart[n]} expected`);
}

/**
 * Computes the tax T(S, L) for the sign of L.
 * @returns the lower tax of the two sides at L = 0
 * @cost one multiply-add per piece and gain
 * @source 26 U.S.C. 1(h), 1222: net gains of each term offset net losses of the other
 */
export function computeTax(sides: readonly TaxSide[], short: number, long: number): number {
  let leastTax = Infinity;
  for (const { pieces, longSign } of sides) {
    if (longSign * long < 0) continue;
    let tax = -Infinity;
    for (const piece of pieces) tax = Math.max(tax, piece.short * short + piece.long * long + piece.constant);
    leastTax = Math.min(leastTax, tax);
  }
  return leastTax;
}

/** Returns the amount by which gains exceed the limits of the tax, on the side that they are on. */
export function computeTaxExcess(sides: readonly TaxSide[], short: number, long: number): number {
  let least = Infinity;
  for (const { limits = [], longSign } of sides) {
    if (longSign * long < 0) continue;
    let excess = 0;
    for (const limit of limits) excess = Math.max(excess, limit.short * short + limit.long * long + limit.constant);
    least = Math.min(least, excess);
  }
  return least;
}

/** Writes the factor exposures B'x to `out` and returns it. */
export function computeFactorExposures(
  { n, k, loadings }: AccountProgram,
  active: Float64Array,
  out: Float64Array,
): Float64Array {
  out.fill(0);
  for (let i = 0; i < n; i++) {
    const x = active[i]!;
    if (x === 0) continue;
    for (let f = 0; f < k; f++) out[f]! += loadings[i * k + f]! * x;
  }
  return out;
}
