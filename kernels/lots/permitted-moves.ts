import type { AccountProgram } from './account-program.js';

/** Permitted trades of each security of an account: whole shares, minimum trades, whole positions. */
export interface PermittedMoves {
  /** Trades found by the last call of `list`. */
  readonly found: Float64Array;
  /** Returns the nearest permitted trade. */
  permit(i: number, trade: number): number;
  /**
   * Writes the other permitted trades of a security to `found`. They are: one share more or less, no trade, the minimum
   * trade, the whole position, the suggested trade, and trades that begin or end the lot that is sold in part.
   * @returns the number of trades
   */
  list(i: number, trade: number): number;
}

/** Maximum difference of two trades that count as equal. */
const DIFFERENCE_MIN = 1e-14;

export function createMoves(program: AccountProgram, suggested: Float64Array): PermittedMoves {
  const { n, unit, minimumTrade, buyLimit, heldWeights, lotStart, lotSize, isOrdered } = program;
  const sizes = Float64Array.from({ length: n }, (_, i) => computeLotSize(program, i));
  const moves = new Float64Array(9);
  let count = 0;

  function permit(i: number, trade: number): number {
    const [step, least, position] = [unit[i]!, minimumTrade[i]!, sizes[i]!];
    if (trade === 0) return 0;
    const tradeMax = trade > 0 ? buyLimit[i]! : position;
    let amount = Math.min(Math.abs(trade), tradeMax);
    if (trade < 0 && position - amount < Math.max(step * 1e-6, heldWeights[i]! * 1e-9)) return -position;
    if (step > 0) amount = Math.min(Math.round(amount / step), Math.floor(tradeMax / step + 1e-9)) * step;
    if (amount < least) {
      const leastMove = step > 0 ? Math.ceil(least / step - 1e-9) * step : least;
      amount = amount * 2 < least || leastMove > tradeMax ? 0 : leastMove;
    }
    return trade > 0 ? amount : -amount;
  }

  function add(i: number, present: number, wish: number): void {
    const trade = permit(i, wish);
    if (Math.abs(trade - present) <= DIFFERENCE_MIN) return;
    for (let position = 0; position < count; position++) if (moves[position] === trade) return;
    moves[count++] = trade;
  }

  return {
    found: moves,
    permit,
    list(i, trade) {
      count = 0;
      const step = unit[i]!;
      const leastTrade = minimumTrade[i]!;
      if (step > 0) {
        add(i, trade, trade - step);
        add(i, trade, trade + step);
      }
      add(i, trade, 0);
      const leastMove = step > 0 ? Math.ceil(leastTrade / step - 1e-9) * step : leastTrade;
      if (leastMove > 0) {
        add(i, trade, leastMove);
        add(i, trade, -leastMove);
      }
      add(i, trade, suggested[i]!);
      add(i, trade, -sizes[i]!);
      if (isOrdered[i] === 1 && trade < 0) {
        let [begin, end] = [0, 0];
        for (let l = lotStart[i]!; l < lotStart[i + 1]! && end < -trade - DIFFERENCE_MIN; l++) {
          begin = end;
          end += lotSize[l]!;
        }
        add(i, trade, -begin);
        add(i, trade, -end);
      }
      return count;
    },
  };
}

/** Returns the total weight of the lots of a security. */
export function computeLotSize({ lotStart, lotSize }: AccountProgram, i: number): number {
  let total = 0;
  for (let l = lotStart[i]!; l < lotStart[i + 1]!; l++) total += lotSize[l]!;
  return total;
}
