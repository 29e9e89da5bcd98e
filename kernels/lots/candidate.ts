import type { AccountProgram, TaxSide } from './account-program.js';
import { listRelaxedRows, type Multipliers } from './relaxation.js';
import type { GainPrices } from './relaxed-trades.js';
import { computeFigures, computeMerit, type AccountTrades, type TradeFigures } from './trade-figures.js';

/** Permitted trades with their figures. */
export interface Candidate {
  readonly trades: AccountTrades;
  readonly figures: TradeFigures;
  readonly merit: number;
}

export function createCandidate(program: AccountProgram, trades: AccountTrades): Candidate {
  const figures = computeFigures(program, trades);
  return { trades, figures, merit: computeMerit(figures) };
}

/** Returns the highest prices that the pieces of a side put on gains. */
export function findTopPrices({ pieces }: TaxSide, weight: number): GainPrices {
  return {
    short: weight * Math.max(...pieces.map(({ short }) => short)),
    long: weight * Math.max(...pieces.map(({ long }) => long)),
  };
}

/**
 * Returns the prices of gains implied by multipliers.
 * @cost one pass over the rows
 * @source Nocedal & Wright (2006), Numerical Optimization, 2nd ed., section 12.8
 */
export function computePricesAt(program: AccountProgram, side: TaxSide, { rows }: Multipliers): GainPrices {
  const sums = { short: 0, long: 0 };
  listRelaxedRows(program, side).forEach((row, j) => {
    sums.short += rows[j]! * row.short;
    sums.long += rows[j]! * row.long;
  });
  return sums;
}

/**
 * Relative weight of the highest prices in the prices that order sales. Among lots of equal price, the lot with the
 * lowest gain is therefore sold first.
 */
const TIE_WEIGHT = 1e-6;

export const interpolateTowards = (top: GainPrices, { short, long }: GainPrices): GainPrices => ({
  short: short + TIE_WEIGHT * top.short,
  long: long + TIE_WEIGHT * top.long,
});
