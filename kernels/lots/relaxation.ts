import type { AccountProgram, AccountRow, TaxSide } from './account-program.js';

/** Trades of the convex form as continuous variables between 0 and their size. */
export interface RelaxedTrades {
  readonly count: number;
  /** Trades of security i are start[i] to start[i + 1] - 1. */
  readonly start: Int32Array;
  /** 1 for a purchase, -1 for a sale. */
  readonly sign: Float64Array;
  readonly size: Float64Array;
  /** Gains per unit traded. */
  readonly short: Float64Array;
  readonly long: Float64Array;
  readonly cost: Float64Array;
  /** First lot of the trade, and one after its last lot; -1 for a purchase. */
  readonly firstLot: Int32Array;
  readonly endLot: Int32Array;
}

/** Prices of short-term and long-term gains in the objective. */
export interface GainPrices {
  readonly short: number;
  readonly long: number;
}

/** Permitted trade directions of a security. */
export const BOTH_DIRECTIONS = 0;
export const BUYS_ONLY = 1;
export const SELLS_ONLY = -1;

/**
 * Returns the continuous trades of an account. Lots of an ordered security become one trade if they are only sold
 * together: such a trade is a segment of the lower hull of the cumulative cost at the given prices.
 * @param decided  [n] BOTH_DIRECTIONS, BUYS_ONLY or SELLS_ONLY
 * @param offered  [lots] 0 for omitted lots; null: all lots are trades
 */
export function relaxTrades(
  program: AccountProgram,
  prices: GainPrices,
  decided: Int8Array,
  offered: Uint8Array | null = null,
): RelaxedTrades {
  const { n, lotStart, lotSize, lotShort, lotLong, isOrdered, buyLimit, costRate } = program;
  const tradesMax = n + lotSize.length;
  const start = new Int32Array(n + 1);
  const [sign, size, short, long, cost] = [0, 1, 2, 3, 4].map(() => new Float64Array(tradesMax)) as [
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
  ];
  const [firstLot, endLot] = [new Int32Array(tradesMax).fill(-1), new Int32Array(tradesMax).fill(-1)];
  let position = 0;
  const addLot = (l: number): void => {
    firstLot[position] = l;
    endLot[position] = l + 1;
    size[position] = lotSize[l]!;
    short[position] = lotSize[l]! * lotShort[l]!;
    long[position] = lotSize[l]! * lotLong[l]!;
    position++;
  };
  const priceTrade = (j: number): number => prices.short * short[j]! + prices.long * long[j]!;
  /**
   * Merges the last trade with earlier trades of the security that cost more per unit, which forms the lower hull of
   * the cost.
   */
  const mergeTrades = (first: number): void => {
    for (let j = position - 2; j >= first && priceTrade(j) * size[j + 1]! >= priceTrade(j + 1) * size[j]!; j--) {
      endLot[j] = endLot[j + 1]!;
      size[j]! += size[j + 1]!;
      short[j]! += short[j + 1]!;
      long[j]! += long[j + 1]!;
      position--;
    }
  };
  for (let i = 0; i < n; i++) {
    start[i] = position;
    if (decided[i] !== BUYS_ONLY)
      for (let l = lotStart[i]!; l < lotStart[i + 1]!; l++) {
        if (isOrdered[i] === 0 && offered?.[l] === 0) continue;
        addLot(l);
        if (isOrdered[i] === 1) mergeTrades(start[i]!);
      }
    for (let j = start[i]!; j < position; j++) {
      sign[j] = -1;
      cost[j] = costRate[i]!;
      short[j]! /= size[j]!;
      long[j]! /= size[j]!;
    }
    if (decided[i] === SELLS_ONLY || !(buyLimit[i]! > 0)) continue;
    sign[position] = 1;
    size[position] = buyLimit[i]!;
    cost[position] = costRate[i]!;
    short[position] = 0;
    long[position] = 0;
    firstLot[position] = endLot[position] = -1;
    position++;
  }
  start[n] = position;
  return { count: position, start, sign, size, short, long, cost, firstLot, endLot };
}

/**
 * Returns the lots of a security in the order of their sale at prices of gains.
 * @cost lots log lots
 * @source 26 CFR 1.1012-1(c): oldest first, unless the lots sold are identified
 */
export function sortSales(
  { lotStart, lotShort, lotLong, isOrdered }: AccountProgram,
  i: number,
  prices: GainPrices,
): Int32Array {
  const first = lotStart[i]!;
  const order = new Int32Array(lotStart[i + 1]! - first);
  for (let position = 0; position < order.length; position++) order[position] = first + position;
  if (isOrdered[i] === 1 || order.length < 2) return order;
  const computePrice = (l: number): number => prices.short * lotShort[l]! + prices.long * lotLong[l]!;
  return order.sort((a, b) => computePrice(a) - computePrice(b) || a - b);
}

/** Row of the convex form: weights'w + short S + long L + cost C - tax t + constant <= 0. */
export interface RelaxedRow extends AccountRow {
  /** 1 for a tax piece (t is the maximum of the pieces), otherwise 0. */
  readonly tax: 0 | 1;
}

/** Convex form of an account on one side of the tax. */
export interface LotRelaxation {
  readonly program: AccountProgram;
  readonly side: TaxSide;
  readonly trades: RelaxedTrades;
  /** Rows of the program, then the tax pieces, then the sign of L if the side restricts it, then limits of the tax. */
  readonly rows: readonly RelaxedRow[];
}

/** Multipliers of the convex form, from which a dual bound of the program is computed. */
export interface Multipliers {
  /** Exposures B'(w - target) at which the common variance is linearised, [k]. */
  readonly exposures: Float64Array;
  readonly variance: number;
  /** Multipliers of the rows of `listRelaxedRows`. */
  readonly rows: Float64Array;
}

/** Solution of a similar form, used as a warm start. */
export interface StartingSolution {
  /** Signed trades by security, [n]. */
  readonly net: Float64Array;
  readonly multipliers: Multipliers;
}

export interface RelaxationSolution {
  /**
   * `infeasible` if a row that must hold or a weight bound is violated by more than 1e-7; `stalled` if the method did
   * not converge.
   */
  readonly status: 'solved' | 'infeasible' | 'stalled';
  readonly traded: Float64Array;
  readonly weights: Float64Array;
  readonly multipliers: Multipliers;
  readonly violations: Float64Array;
  readonly steps: number;
}

export type IntermediateSolution = Pick<RelaxationSolution, 'traded' | 'weights' | 'multipliers'>;

export interface SolutionOptions {
  readonly near?: StartingSolution | null;
  /** Called once, some steps before the end. If it returns true, the iterations end there. */
  readonly isEnough?: (answer: IntermediateSolution) => boolean;
}

/**
 * Returns the rows of the convex form of one side of the tax: the rows of the program, then the tax pieces, then the
 * sign of L, then the limits of the tax.
 * @cost number of rows
 * @source Nocedal & Wright (2006), Numerical Optimization, 2nd ed., section 12.8
 */
export function listRelaxedRows({ rows, fixedShort, fixedLong }: AccountProgram, side: TaxSide): RelaxedRow[] {
  const hardRow = { weights: null, cost: 0, penalty: Infinity } as const;
  return [
    ...rows.map((row): RelaxedRow => ({
      ...row,
      tax: 0,
      constant: row.constant + row.short * fixedShort + row.long * fixedLong,
    })),
    ...side.pieces.map(({ short, long, constant }): RelaxedRow => ({
      ...hardRow,
      short,
      long,
      tax: 1,
      constant: constant + short * fixedShort + long * fixedLong,
    })),
    ...(side.longSign === 0
      ? []
      : [{ ...hardRow, short: 0, long: -side.longSign, tax: 0, constant: -side.longSign * fixedLong } as const]),
    ...(side.limits ?? []).map(({ short, long, constant }): RelaxedRow => ({
      ...hardRow,
      short,
      long,
      tax: 0,
      constant: constant + short * fixedShort + long * fixedLong,
    })),
  ];
}
