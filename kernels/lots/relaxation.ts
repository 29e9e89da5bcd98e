import type { AccountProgram, TaxSide } from './account-program.js';
import type { RelaxedTrades } from './relaxed-trades.js';

/** Row of the convex form: weights'w + short S + long L + cost C - tax t + constant <= 0. */
export interface RelaxedRow {
  /** [n]; null: no weights. */
  readonly weights: Float64Array | null;
  readonly short: number;
  readonly long: number;
  readonly cost: number;
  /** 1 for a piece of the tax, whose maximum is t. */
  readonly tax: 0 | 1;
  readonly constant: number;
  readonly penalty: number;
}

/** Convex form of an account on one side of the tax. */
export interface Relaxation {
  readonly program: AccountProgram;
  readonly side: TaxSide;
  readonly trades: RelaxedTrades;
  /** Rows of the program, then the pieces of the tax, then the sign of L if there is one. */
  readonly rows: readonly RelaxedRow[];
}

/** Multipliers of the convex form, the inputs of a bound in addition to the program. */
export interface Multipliers {
  /** Exposures B'(w - target) at which the common part of the variance is replaced by its tangent, [k]. */
  readonly exposures: Float64Array;
  /** Multiplier of the variance limit. */
  readonly variance: number;
  /** Multipliers of the rows of `listRelaxedRows`. */
  readonly rows: Float64Array;
}

/** Solution of a similar form, near which the steps start. */
export interface NearPoint {
  /** Signed trades by security, [n]. */
  readonly net: Float64Array;
  readonly multipliers: Multipliers;
}

export interface RelaxedAnswer {
  /** `infeasible` if a hard row is violated by more than 1e-7; `stalled` without convergence. */
  readonly status: 'solved' | 'infeasible' | 'stalled';
  /** Amount of each trade. */
  readonly traded: Float64Array;
  readonly weights: Float64Array;
  readonly multipliers: Multipliers;
  /** Violation by row. */
  readonly violations: Float64Array;
  readonly steps: number;
}

/** Solution before its last steps. */
export type PartialAnswer = Pick<RelaxedAnswer, 'traded' | 'weights' | 'multipliers'>;

export interface SolutionOptions {
  readonly near?: NearPoint | null;
  /** Asked once, some steps before the end: true ends the solution there. */
  readonly isEnough?: (answer: PartialAnswer) => boolean;
}

/**
 * Returns the rows of the convex form of one side of the tax: those of the program, then the pieces of the tax, then the sign of L.
 * @cost rows
 * @source Nocedal & Wright (2006), Numerical Optimization, 2nd ed., section 12.8
 */
export function listRelaxedRows({ rows, fixedShort, fixedLong }: AccountProgram, side: TaxSide): RelaxedRow[] {
  const hard = { weights: null, cost: 0, penalty: Infinity } as const;
  return [
    ...rows.map((row): RelaxedRow => ({
      ...row,
      tax: 0,
      constant: row.constant + row.short * fixedShort + row.long * fixedLong,
    })),
    ...side.pieces.map(({ short, long, constant }): RelaxedRow => ({
      ...hard,
      short,
      long,
      tax: 1,
      constant: constant + short * fixedShort + long * fixedLong,
    })),
    ...(side.longSign === 0
      ? []
      : [{ ...hard, short: 0, long: -side.longSign, tax: 0, constant: -side.longSign * fixedLong } as const]),
  ];
}
