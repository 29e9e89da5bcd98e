import type { Account } from './account-request.js';
import { WEIGHT_MIN } from './tax-sides.js';
import { traceGains, type SaleLot } from './trace-gains.js';
import { isLongTerm, isSamePurchase, sortByPurchase, type FreshShares, type WashRule } from './wash-sales.js';

/** Lots of a security for an account. */
export interface SecurityLots {
  readonly lots: readonly SaleLot[];
  /** True if the lots are sold in this order. False if the lot with the lowest tax is sold first. */
  readonly isOrdered: boolean;
  /** Number of shares in lots at a loss that may not be sold. */
  readonly blocked: number;
}

export interface LotsQuestion {
  readonly price: number;
  readonly rule: WashRule;
  /** Shares that may replace shares of the security, in the order of their purchase. */
  readonly fresh: readonly FreshShares[];
}

/** Returns the lots of a security in the order of sale. @param ownLots indices of its lots in the account */
export function listSecurityLots(account: Account, ownLots: readonly number[], question: LotsQuestion): SecurityLots {
  const { price, rule, fresh } = question;
  const { lots } = account;
  const { lot_method: method, wash_sales: treatment, weight, short_rate, long_rate } = account.tax;
  const isLong = new Map(ownLots.map((lot) => [lot, isLongTerm(lots[lot]!.acquired, rule.asOf)]));
  const isLoss = (lot: number): boolean => lots[lot]!.cost > price;
  const isExposed = ownLots.some((lot) => isLoss(lot) && fresh.some((own) => !isSamePurchase(lots, own, lot)));
  const freshLots = new Set(fresh.map(({ lot }) => lot));
  const computeTax = (lot: number): number => (price - lots[lot]!.cost) * (isLong.get(lot)! ? long_rate : short_rate);
  const isFreshLoss = (lot: number): boolean => isLoss(lot) && freshLots.has(lot);
  const order = sortByPurchase(lots, ownLots);
  if (method === 'hifo') order.sort((a, b) => lots[b]!.cost - lots[a]!.cost || a - b);
  // Among lots at a loss, those that could replace the others are sold first.
  if (method === 'specific' && (isExposed || weight < WEIGHT_MIN))
    order.sort((a, b) => Number(isFreshLoss(b)) - Number(isFreshLoss(a)) || computeTax(a) - computeTax(b));
  const isOrdered = method !== 'specific' || isExposed || weight < WEIGHT_MIN;
  if (isExposed && treatment === 'disallow') {
    const answer = { lots, order, price, fresh, isLong: (lot: number) => isLong.get(lot)! };
    return { lots: traceGains(answer), isOrdered, blocked: 0 };
  }
  const permitted = isExposed ? listAllowedLots(order, { lots, fresh, isLoss }) : order;
  const permittedLots = new Set(permitted);
  const blockedLots = ownLots.filter((lot) => !permittedLots.has(lot));
  return {
    lots: permitted.map((lot) => {
      const gain = price - lots[lot]!.cost;
      return { lot, shares: lots[lot]!.shares, short: isLong.get(lot)! ? 0 : gain, long: isLong.get(lot)! ? gain : 0 };
    }),
    isOrdered,
    blocked: blockedLots.reduce((sum, lot) => sum + lots[lot]!.shares, 0),
  };
}

interface AllowedQuestion {
  readonly lots: Account['lots'];
  readonly fresh: readonly FreshShares[];
  isLoss(lot: number): boolean;
}

/**
 * Returns the lots that can be sold without a disallowed loss, in an order in which no sale has one: a lot at a loss
 * follows the lots that would replace its shares.
 */
function listAllowedLots(order: readonly number[], { lots, fresh, isLoss }: AllowedQuestion): number[] {
  const waitingLots = new Set(order);
  const allowedLots: number[] = [];
  let unsold = fresh;
  for (;;) {
    const next = order.find(
      (lot) => waitingLots.has(lot) && (!isLoss(lot) || unsold.every((own) => isSamePurchase(lots, own, lot))),
    );
    if (next === undefined) return allowedLots;
    waitingLots.delete(next);
    allowedLots.push(next);
    unsold = unsold.filter(({ lot }) => lot !== next);
  }
}
