import { assert } from '../assert.js';

/**
 * Trades of an account near a target, with taxes by lot. All amounts are shares of the value of the account.
 *
 * minimise  aversion f(w) + trading costs + taxWeight T(S, L) + penalties of soft rows
 *
 * w_i   weight after trading: held_i + bought_i - sum of sales of its lots
 *   f     (w - target)' (B B' + diag(specific)) (w - target), the variance of the active return
 *   S, L  net short-term and long-term gains: fixed part plus the gains of sales
 *   T     tax: for each sign of L, the maximum of some linear functions (`TaxSide`)
 *
 * A security is bought or sold, never both.
 */
export interface AccountProgram {
  /** Securities. */
  readonly n: number;
  /** Factors. */
  readonly k: number;
  /** B, [n x k]. */
  readonly loadings: Float64Array;
  /** [n], positive. */
  readonly specific: Float64Array;
  readonly target: Float64Array;
  readonly held: Float64Array;
  /** Lots of security i are lotStart[i] to lotStart[i + 1] - 1, [n + 1]. */
  readonly lotStart: Int32Array;
  /** [lots], positive. */
  readonly lotSize: Float64Array;
  /** Short-term gain per unit sold, [lots]; 0 for a lot of long-term gains. */
  readonly lotShort: Float64Array;
  readonly lotLong: Float64Array;
  /** 1 for a security that sells its lots in their order, 0 for one that sells the cheapest first, [n]. */
  readonly isOrdered: Uint8Array;
  /** Maximum purchase, [n]; 0 forbids it. */
  readonly buyLimit: Float64Array;
  /** Cost per unit traded, [n]. */
  readonly costRate: Float64Array;
  /** Weight of one share if only whole shares trade, [n]; 0 if any fraction is allowed. */
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
  /** One side where T is convex, two for L >= 0 and L <= 0. */
  readonly sides: readonly TaxSide[];
  readonly rows: readonly AccountRow[];
}

/** Part of the tax function on which it is convex: the maximum of its pieces. */
export interface TaxSide {
  readonly pieces: readonly TaxPiece[];
  /** 1 where L >= 0 is required, -1 where L <= 0 is, 0 without a requirement. */
  readonly longSign: -1 | 0 | 1;
}

/** short S + long L + constant */
export interface TaxPiece {
  readonly short: number;
  readonly long: number;
  readonly constant: number;
}

/** weights'w + short S + long L + cost C + constant <= 0, or a positive value if a penalty allows it. */
export interface AccountRow {
  /** [n]; null: no weights. */
  readonly weights: Float64Array | null;
  readonly short: number;
  readonly long: number;
  readonly cost: number;
  readonly constant: number;
  /** Price of a unit of violation; Infinity for a hard row. */
  readonly penalty: number;
}

export function assertProgram(program: AccountProgram): void {
  const { n, k, loadings, specific, lotStart, lotSize } = program;
  assert(loadings.length === n * k, `loadings: ${loadings.length} values for ${n} x ${k}`);
  assert(specific.length === n, `specific: ${specific.length} values for ${n} securities`);
  assert(lotStart.length === n + 1, `lotStart: ${lotStart.length} values for ${n} securities`);
  assert(lotStart[n] === lotSize.length, `lots: ${lotSize.length}, ${lotStart[n]} expected`);
}

/**
 * @returns T(S, L) for the sign of L; the lower of the two at L = 0
 * @cost one multiply-add per piece and gain
 * @source 26 U.S.C. 1(h), 1222: net gains of each term offset net losses of the other
 */
export function computeTax(sides: readonly TaxSide[], short: number, long: number): number {
  let least = Infinity;
  for (const { pieces, longSign } of sides) {
    if (longSign * long < 0) continue;
    let tax = -Infinity;
    for (const piece of pieces) tax = Math.max(tax, piece.short * short + piece.long * long + piece.constant);
    least = Math.min(least, tax);
  }
  return least;
}

/** Writes B'x into `out`. */
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
