import type { AccountProgram, TaxSide } from './account-program.js';
import { relaxedRows, type Multipliers } from './relaxation.js';
import type { GainPrices } from './relaxed-trades.js';
import { figuresOf, meritOf, type AccountTrades, type TradeFigures } from './trade-figures.js';

/** Permitted trades with their figures. */
export interface Candidate {
  readonly trades: AccountTrades;
  readonly figures: TradeFigures;
  readonly merit: number;
}

export function candidateFrom(program: AccountProgram, trades: AccountTrades): Candidate {
  const figures = figuresOf(program, trades);
  return { trades, figures, merit: meritOf(figures) };
}

/** Highest price that a side puts on gains. */
export function topPrices({ pieces }: TaxSide, weight: number): GainPrices {
  return {
    short: weight * Math.max(...pieces.map(({ short }) => short)),
    long: weight * Math.max(...pieces.map(({ long }) => long)),
  };
}

/**
 * Returns the prices that multipliers put on gains.
 * @cost rows
 * @source Nocedal & Wright (2006), Numerical Optimization, 2nd ed., section 12.8
 */
export function pricesAt(program: AccountProgram, side: TaxSide, { rows }: Multipliers): GainPrices {
  const sums = { short: 0, long: 0 };
  relaxedRows(program, side).forEach((row, j) => {
    sums.short += rows[j]! * row.short;
    sums.long += rows[j]! * row.long;
  });
  return sums;
}

/**
 * Relative weight of the highest prices in the prices that order sales, so that among lots of equal price the lowest
 * gain is sold first.
 */
const TIE = 1e-6;

export const towards = (top: GainPrices, { short, long }: GainPrices): GainPrices => ({
  short: short + TIE * top.short,
  long: long + TIE * top.long,
});
