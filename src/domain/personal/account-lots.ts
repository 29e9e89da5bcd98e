import type { Account } from './account-request.js';
import { listNeeded, type FreshReader } from './sale-links.js';
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
  /** Number of shares in lots that are left out. */
  readonly unlisted: number;
}

export interface LotsQuestion {
  readonly price: number;
  readonly rule: WashRule;
  /** Shares that may replace shares of the security, in the order of their purchase. */
  readonly fresh: readonly FreshShares[];
  /** Number of shares that are sold of lots of other securities, by lot, if they affect the security. */
  readonly others?: ReadonlyMap<number, number> | undefined;
  priceOf(identifier: string): number;
}

/** Returns the lots of a security in the order of sale. @param ownLots indices of its lots in the account */
export function listSecurityLots(account: Account, ownLots: readonly number[], question: LotsQuestion): SecurityLots {
  const { price, rule, fresh, others, priceOf } = question;
  const { lots } = account;
  const { wash_sales: treatment, lot_method: method, weight } = account.tax;
  const isLong = new Map(ownLots.map((lot) => [lot, isLongTerm(lots[lot]!.acquired, rule.asOf)]));
  const isLoss = (lot: number): boolean => lots[lot]!.cost > price;
  const isExposed =
    others !== undefined || ownLots.some((lot) => isLoss(lot) && fresh.some((own) => !isSamePurchase(lots, own, lot)));
  const order = sortForSale(account, ownLots, { ...question, isExposed });
  const isOrdered = method !== 'specific' || isExposed || weight < WEIGHT_MIN;
  if (isExposed && treatment === 'disallow') {
    const answer = { rule, order, others: others ?? new Map(), priceOf, isLong: (lot: number) => isLong.get(lot)! };
    return { lots: traceGains(answer), isOrdered, blocked: 0, unlisted: 0 };
  }
  const permitted = isExposed ? listAllowedLots(order, { lots, fresh, isLoss }) : order;
  return createPlainLots(account, ownLots, { permitted, isOrdered, question });
}

interface PlainLots {
  readonly permitted: readonly number[];
  readonly isOrdered: boolean;
  readonly question: LotsQuestion;
}

/** Returns lots whose sale has no effect on other lots, and the number of shares in the lots that are left out. */
function createPlainLots(
  { lots }: Account,
  ownLots: readonly number[],
  { permitted, isOrdered, question: { price, rule } }: PlainLots,
): SecurityLots {
  const permittedLots = new Set(permitted);
  const unlisted = ownLots.reduce((sum, lot) => (permittedLots.has(lot) ? sum : sum + lots[lot]!.shares), 0);
  return {
    lots: permitted.map((lot) => {
      const { cost, shares, acquired } = lots[lot]!;
      const isLong = isLongTerm(acquired, rule.asOf);
      return { lot, shares, short: isLong ? 0 : price - cost, long: isLong ? price - cost : 0 };
    }),
    isOrdered,
    blocked: unlisted,
    unlisted,
  };
}

/** Sorts the lots of a security in the order of sale. */
export function sortForSale(
  { lots, tax: { lot_method: method, weight, short_rate, long_rate } }: Account,
  ownLots: readonly number[],
  { price, rule, fresh, isExposed }: LotsQuestion & { readonly isExposed: boolean },
): number[] {
  const freshLots = new Set(fresh.map(({ lot }) => lot));
  const computeTax = (lot: number): number =>
    (price - lots[lot]!.cost) * (isLongTerm(lots[lot]!.acquired, rule.asOf) ? long_rate : short_rate);
  const isFreshLoss = (lot: number): boolean => lots[lot]!.cost > price && freshLots.has(lot);
  const order = sortByPurchase(lots, ownLots);
  if (method === 'hifo') order.sort((a, b) => lots[b]!.cost - lots[a]!.cost || a - b);
  // Among lots at a loss, those that could replace the others are sold first.
  if (method === 'specific' && (isExposed || weight < WEIGHT_MIN))
    order.sort((a, b) => Number(isFreshLoss(b)) - Number(isFreshLoss(a)) || computeTax(a) - computeTax(b));
  return order;
}

export interface ManagedQuestion extends LotsQuestion {
  /** Lots of which some shares remain, and lots that are sold whole. */
  readonly kept: ReadonlySet<number>;
  readonly whole: ReadonlySet<number>;
  /** Lots whose state is not decided. */
  readonly undecided: ReadonlySet<number>;
  /** Shares sold, by lot, if the trades are known. */
  readonly sales: ReadonlyMap<number, number> | undefined;
  readonly listLeft: FreshReader;
}

/**
 * Returns the lots of a security where sales with a disallowed loss are forbidden and lots at a loss need the whole sale
 * of others. Lots that are sold whole come first, and lots at a loss may be passed over. While a decision is open, lots
 * are sold in any order: this permits more than the rule.
 */
export function listManagedLots(account: Account, ownLots: readonly number[], question: ManagedQuestion): SecurityLots {
  const { price, kept, whole, undecided, sales, listLeft } = question;
  const { lots, tax } = account;
  const isSpecific = tax.lot_method === 'specific';
  let isOpen = ownLots.some((lot) => undecided.has(lot));
  const isPermitted = (lot: number): boolean => {
    if (!(lots[lot]!.cost > price)) return true;
    const needed = listNeeded(lots, listLeft, lot);
    if (needed?.some((own) => undecided.has(own)) === true) isOpen = true;
    return needed !== null && !needed.some((own) => kept.has(own));
  };
  const permitted = sortForSale(account, ownLots, { ...question, isExposed: true }).filter(isPermitted);
  permitted.sort((a, b) => Number(whole.has(b)) - Number(whole.has(a)));
  const isPassed = (lot: number): boolean =>
    sales !== undefined && !isSpecific && lots[lot]!.cost > price && !sales.has(lot);
  const isFree = isOpen || (isSpecific && (sales !== undefined || !ownLots.some((lot) => whole.has(lot))));
  const listed = permitted.filter((lot) => !isPassed(lot));
  const permittedLots = new Set(permitted);
  const blocked = ownLots.reduce((sum, lot) => (permittedLots.has(lot) ? sum : sum + lots[lot]!.shares), 0);
  return { ...createPlainLots(account, ownLots, { permitted: listed, isOrdered: !isFree, question }), blocked };
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
