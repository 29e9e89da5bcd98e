import { BatchTerms } from '#domain/personal/account.js';
import { type AccountResult, solveOutcome } from '#domain/personal/account-result.js';
import type { BatchCommon } from '#domain/personal/batch.js';
import { parseValidDay } from '#domain/base/time.js';

/** Trade date of the tests. */
export const AS_OF = '2024-06-28';
const NAMES = ['A', 'B', 'C'];

/**
 * Returns a batch of securities. Each has a price of 100, and the returns are independent with a volatility of 20 %.
 * Trades may be fractional and cost nothing.
 */
export function createSmallBatch(weights: readonly number[], terms: object = {}): BatchCommon {
  const { batch_id: _, ...batchTerms } = BatchTerms.parse({ parent: 'P', risk_model: 'M', ...terms });
  return {
    terms: { ...batchTerms, objective: { ...batchTerms.objective, cost_bps: 0 } },
    asOf: parseValidDay(AS_OF),
    identifiers: NAMES,
    prices: new Float64Array(NAMES.length).fill(100),
    weights: Float64Array.from(weights),
    factors: 1,
    loadings: new Float64Array(NAMES.length),
    specific: new Float64Array(NAMES.length).fill(0.04),
    groups: [],
  };
}

/** Returns a lot that was bought more than a year ago. If the term is `short`, it was bought three months ago. */
export const createLot = (identifier: string, shares: number, cost: number, term: 'long' | 'short' = 'long') => ({
  identifier,
  shares,
  cost,
  acquired: term === 'long' ? '2022-03-01' : '2024-03-28',
});

/** Returns the result of an account. @throws Error if the account is refused */
export function requireResult(common: BatchCommon, account: object): AccountResult {
  const outcome = solveOutcome(common, { account_id: 'X', ...account }, 'accounts[0]');
  if (outcome.status === 'refused') throw new Error(JSON.stringify(outcome.findings));
  return outcome;
}

export const sumShares = ({ trades }: AccountResult, side: 'buy' | 'sell', identifier: string): number =>
  trades.reduce((sum, trade) => (trade.side === side && trade.identifier === identifier ? sum + trade.shares : sum), 0);
