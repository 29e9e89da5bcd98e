import type { AccountProgram } from './account-program.js';
import type { Multipliers } from './relaxation.js';
import type { GainPrices } from './relaxed-trades.js';
import { createMoves, type PermittedMoves } from './permitted-moves.js';
import { createMerit, type TradeMove, type TradeMerit } from './trade-merit.js';

/** Maximum number of passes over all securities; five are usual. */
const PASSES_MAX = 40;
/**
 * Maximum ratio of the loss of a move to the largest gain of a pass. A move with a larger loss is not tried in the next
 * pass.
 */
const LOSS_RATIO_MAX = 10;
/** Gain of a pass, as a fraction of the account value, below which the passes end. */
const PASS_GAIN_MIN = 1e-9;
/** Minimum improvement of a move. */
const MOVE_GAIN_MIN = 1e-13;
/**
 * Prices of violations while rounded trades may violate rows, in multiples of the multipliers. At such prices, the
 * cheapest trades restore a row. At lower prices, the first trades that help would restore it.
 */
const VIOLATION_PRICES = [2, 6] as const;
/** Gap, as a fraction of the account value, below which pairs of moves are not tried: 0.03 bp. */
const ACCEPTED_GAP = 3e-6;
/** Maximum number of moves that are combined into pairs. */
const PAIRED_MOVES_MAX = 64;
/** Maximum number of rounds of pairs. */
const PAIR_ROUNDS_MAX = 12;

export interface RoundingTerms {
  /** Prices that order sales. */
  readonly prices: GainPrices;
  /** Trades to try, by security. */
  readonly suggested: Float64Array;
  /** Multipliers of the convex solution. */
  readonly multipliers: Multipliers;
  /** Lower bound on the objective; pairs of moves are tried only if the gap to it is large. */
  readonly bound: number;
}

/**
 * Rounds net trades to permitted ones (whole shares, minimum trades) and improves them by moves. First moves single
 * securities until no move helps, with prices on violations of the rows and the variance limit. Then moves two
 * securities at a time.
 * @param net  signed trades by security, replaced by the rounded trades
 */
export function roundTrades(program: AccountProgram, net: Float64Array, terms: RoundingTerms): void {
  const { n } = program;
  const moves = createMoves(program, terms.suggested);
  for (let i = 0; i < n; i++) net[i] = moves.permit(i, net[i]!);
  const merit = createMerit(program, net, terms);
  for (const strength of VIOLATION_PRICES) {
    merit.allow(strength);
    improve(net, moves, merit);
    if (merit.isFeasible()) break;
  }
  const isSettled = merit.isFeasible();
  merit.allow(0);
  if (!isSettled) improve(net, moves, merit);
  for (let round = 0; round < PAIR_ROUNDS_MAX && merit.objective() - terms.bound > ACCEPTED_GAP; round++) {
    if (!movePairs(net, { moves, merit, n })) return;
    improve(net, moves, merit);
  }
}

/** Moves single securities until no move improves the objective. */
function improve(net: Float64Array, moves: PermittedMoves, merit: TradeMerit): void {
  /** Gain of the best move of each security at its last trial. */
  const gains = new Float64Array(net.length).fill(Infinity);
  let gainMin = Infinity;
  for (let pass = 0; pass < PASSES_MAX; pass++) {
    let [largest, sum] = [0, 0];
    for (let i = 0; i < net.length; i++) {
      // A move with a loss far above the gains of other moves is not tried: those gains hardly compensate it.
      if (gains[i]! < -gainMin) continue;
      let [best, gain] = [net[i]!, -Infinity];
      const count = moves.list(i, net[i]!);
      for (let position = 0; position < count; position++) {
        const moveGain = merit.gain(i, moves.found[position]!);
        if (moveGain > gain) [best, gain] = [moves.found[position]!, moveGain];
      }
      gains[i] = gain;
      if (!(gain > MOVE_GAIN_MIN)) continue;
      merit.move(i, best);
      largest = Math.max(largest, gain);
      sum += gain;
    }
    if (sum < PASS_GAIN_MIN) return;
    gainMin = LOSS_RATIO_MAX * largest;
  }
}

interface PairTerms {
  readonly n: number;
  readonly moves: PermittedMoves;
  readonly merit: TradeMerit;
}

/**
 * Makes pairs of moves that improve the objective, chosen from the moves that cost least individually. One move uses
 * the slack of a row, and the other restores it.
 * @returns false if no pair improves
 */
function movePairs(net: Float64Array, { n, moves, merit }: PairTerms): boolean {
  const tradeMoves: TradeMove[] = [];
  for (let i = 0; i < n; i++) {
    const count = moves.list(i, net[i]!);
    for (let position = 0; position < count; position++) tradeMoves.push(merit.moveOf(i, moves.found[position]!));
  }
  const cheapestMoves = tradeMoves.sort((a, b) => a.loss - b.loss).slice(0, PAIRED_MOVES_MAX);
  const usedSecurities = new Set<number>();
  for (let a = 0; a < cheapestMoves.length; a++)
    for (let b = a + 1; b < cheapestMoves.length; b++) {
      const [tradeMove, otherTradeMove] = [cheapestMoves[a]!, cheapestMoves[b]!];
      if (
        tradeMove.security === otherTradeMove.security ||
        usedSecurities.has(tradeMove.security) ||
        usedSecurities.has(otherTradeMove.security)
      )
        continue;
      if (!(merit.gainOfPair(tradeMove, otherTradeMove) > MOVE_GAIN_MIN)) continue;
      for (const { security, trade } of [tradeMove, otherTradeMove]) {
        merit.move(security, trade);
        usedSecurities.add(security);
      }
      for (const move of cheapestMoves) merit.refresh(move);
    }
  return usedSecurities.size > 0;
}
