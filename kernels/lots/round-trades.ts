import type { AccountProgram } from './account-program.js';
import type { Multipliers } from './relaxation.js';
import type { GainPrices } from './relaxed-trades.js';
import { createMoves, type PermittedMoves } from './permitted-moves.js';
import { createMerit, type Move, type TradeMerit } from './trade-merit.js';

/** Passes over all securities; five are usual. */
const PASSES_MAX = 40;
/** Multiple of the largest gain of a pass up to which a loss may turn into a gain. */
const REACH = 10;
/** Gain of a pass, as a fraction of the account's value, after which others are not worth their time. */
const SETTLED = 1e-9;
/** Minimum improvement of moves. */
const LEAST_GAIN = 1e-13;
/**
 * Prices of violations while rounded trades may have them, in multiples of their multipliers: a row is then kept by the trades
 * that cost least, not by the first ones that help.
 */
const STRENGTHS = [2, 6] as const;
/** Gap, as a fraction of the account's value, that is not worth pairs of moves: 0.03 bp. */
const ENOUGH = 3e-6;
/** Moves of which pairs are tried. */
const PAIRED_MAX = 64;
/** Choices of moves for pairs. */
const PAIR_ROUNDS_MAX = 12;

export interface RoundingTerms {
  /** Prices that order sales. */
  readonly prices: GainPrices;
  /** Trades to try, by security. */
  readonly suggested: Float64Array;
  /** Of the convex solution. */
  readonly multipliers: Multipliers;
  /** Objective that no trades can beat: pairs of moves are tried only far above it. */
  readonly bound: number;
}

/**
 * Rounds net trades to permitted ones (whole shares, minimum trades). Improves them by moves of one security until none helps, first
 * with violations of rows and of the variance limit at prices; then by moves of two securities.
 *
 * @param net  signed trades by security, replaced by the rounded ones
 */
export function roundTrades(program: AccountProgram, net: Float64Array, terms: RoundingTerms): void {
  const { n } = program;
  const moves = createMoves(program, terms.suggested);
  for (let i = 0; i < n; i++) net[i] = moves.permit(i, net[i]!);
  const merit = createMerit(program, net, terms);
  for (const strength of STRENGTHS) {
    merit.allow(strength);
    improve(net, moves, merit);
    if (merit.isFeasible()) break;
  }
  const isSettled = merit.isFeasible();
  merit.allow(0);
  if (!isSettled) improve(net, moves, merit);
  for (let round = 0; round < PAIR_ROUNDS_MAX && merit.objective() - terms.bound > ENOUGH; round++) {
    if (!movePairs(net, { moves, merit, n })) return;
    improve(net, moves, merit);
  }
}

/** Moves single securities until none helps. */
function improve(net: Float64Array, moves: PermittedMoves, merit: TradeMerit): void {
  /** Gain of the best move of each security when it was last tried. */
  const gains = new Float64Array(net.length).fill(Infinity);
  let reach = Infinity;
  for (let pass = 0; pass < PASSES_MAX; pass++) {
    let [largest, sum] = [0, 0];
    for (let i = 0; i < net.length; i++) {
      // Moves of other securities hardly make up for a loss far beyond their gains.
      if (gains[i]! < -reach) continue;
      let [best, gain] = [net[i]!, -Infinity];
      const count = moves.list(i, net[i]!);
      for (let at = 0; at < count; at++) {
        const own = merit.gain(i, moves.found[at]!);
        if (own > gain) [best, gain] = [moves.found[at]!, own];
      }
      gains[i] = gain;
      if (!(gain > LEAST_GAIN)) continue;
      merit.move(i, best);
      largest = Math.max(largest, gain);
      sum += gain;
    }
    if (sum < SETTLED) return;
    reach = REACH * largest;
  }
}

interface PairTerms {
  readonly n: number;
  readonly moves: PermittedMoves;
  readonly merit: TradeMerit;
}

/**
 * Makes pairs of moves that help, among those that cost least alone: one that uses a row, and one that gives it.
 * @returns false if there is none
 */
function movePairs(net: Float64Array, { n, moves, merit }: PairTerms): boolean {
  const all: Move[] = [];
  for (let i = 0; i < n; i++) {
    const count = moves.list(i, net[i]!);
    for (let at = 0; at < count; at++) all.push(merit.moveOf(i, moves.found[at]!));
  }
  const least = all.sort((a, b) => a.loss - b.loss).slice(0, PAIRED_MAX);
  const used = new Set<number>();
  for (let a = 0; a < least.length; a++)
    for (let b = a + 1; b < least.length; b++) {
      const [one, other] = [least[a]!, least[b]!];
      if (one.security === other.security || used.has(one.security) || used.has(other.security)) continue;
      if (!(merit.gainOfPair(one, other) > LEAST_GAIN)) continue;
      for (const { security, trade } of [one, other]) {
        merit.move(security, trade);
        used.add(security);
      }
      for (const move of least) merit.refresh(move);
    }
  return used.size > 0;
}
