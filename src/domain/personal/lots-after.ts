import { formatDay } from '../time/days.js';
import type { AccountResult } from './account-result.js';
import type { AccountLot } from './account-request.js';
import type { BatchCommon } from './batch-common.js';
import type { BuiltAccount } from './build-account.js';
import { addDisallowedLosses, matchReplacements } from './wash-sales.js';

/** Maximum number of lots of an account for which a result lists the lots after the trades: 90 bytes each. */
const LOTS_MAX = 500;
/** Smallest number of shares of a lot that is not a rounding error. */
const LOT_SHARES_MIN = 1e-9;

/** Lot after the trades. */
export interface RemainingLot extends AccountLot {
  /** Index of the lot in the account; null for a purchase. */
  readonly lot: number | null;
  /** Market value less cost. */
  readonly unrealised_gain: number;
}

/**
 * Returns the lots of an account after its trades, purchases last. Disallowed losses are added to the cost of the lots
 * that replace the sold shares. Returns null if the account has more than 500 lots or is infeasible.
 */
export function listLotsAfter(
  common: BatchCommon,
  { account, rule, priceOf }: BuiltAccount,
  { status, trades }: AccountResult,
): RemainingLot[] | null {
  if (account.lots.length > LOTS_MAX || status === 'infeasible') return null;
  const soldShares = new Map<number, number>();
  for (const { lot, shares } of trades) if (lot !== undefined) soldShares.set(lot, (soldShares.get(lot) ?? 0) + shares);
  const remainingLots = account.lots.flatMap((heldLot, lot) => {
    const shares = heldLot.shares - (soldShares.get(lot) ?? 0);
    return shares > LOT_SHARES_MIN * heldLot.shares ? [{ ...heldLot, lot, shares }] : [];
  });
  const boughtLots = trades.flatMap(({ side, identifier, shares, price }) =>
    side === 'buy' ? [{ lot: null, identifier, shares, cost: price, acquired: formatDay(common.asOf) }] : [],
  );
  const keptLots = addDisallowedLosses(remainingLots, matchReplacements(rule, soldShares, priceOf));
  return [...keptLots, ...boughtLots].map((lot) => ({
    ...lot,
    unrealised_gain: lot.shares * (priceOf(lot.identifier) - lot.cost),
  }));
}
