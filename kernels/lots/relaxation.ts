import type { AccountProgram, TaxSide } from './account-program.js';
import type { RelaxedTrades } from './relaxed-trades.js';

/** Row of the convex form: weights'w + short S + long L + cost C - tax t + constant <= 0. */
export interface RelaxedRow {
  /** Coefficients of the weights, [n]; null: all 0. */
  readonly weights: Float64Array | null;
  readonly short: number;
  readonly long: number;
  readonly cost: number;
  /** 1 for a tax piece (t is the maximum of the pieces), otherwise 0. */
  readonly tax: 0 | 1;
  readonly constant: number;
  readonly penalty: number;
}

/** Convex form of an account on one side of the tax. */
export interface Relaxation {
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
  /** Multiplier of the variance limit. */
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
  /** Traded amount of each trade. */
  readonly traded: Float64Array;
  readonly weights: Float64Array;
  readonly multipliers: Multipliers;
  /** Violation of each row. */
  readonly violations: Float64Array;
  readonly steps: number;
}

/** Solution at an intermediate step. */
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
