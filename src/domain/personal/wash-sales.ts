import { parseValidDay, formatDay, toCivilDate, toDay, type Day } from '../time/days.js';
import type { Account, AccountLot, RecentTrade } from './account-request.js';

/** Number of shares below which a difference is a rounding error. */
export const SHARES_MIN = 1e-9;

/** Earlier trades of an account that the wash sale rule considers. */
export interface WashWindow {
  /** Purchases of shares that the account does not hold, and sales at a loss. */
  readonly trades: readonly RecentTrade[];
  /** Number of shares that have already replaced shares sold at a loss, by lot. */
  readonly used: ReadonlyMap<number, number>;
}

/** Shares that were bought within the window of the wash sale rule and have replaced no shares yet. */
export interface FreshShares {
  /** Index of the lot; null for shares outside the lots of the account. */
  readonly lot: number | null;
  readonly identifier: string;
  /** Day of the purchase. */
  readonly day: Day;
  readonly shares: number;
}

/** Shares sold at a loss, and the shares that replace them. */
export interface Replacement {
  /** Index of the lot that is sold. */
  readonly sold: number;
  /** Shares that replace it. */
  readonly fresh: FreshShares;
  readonly shares: number;
  /** Disallowed loss per share. */
  readonly loss: number;
  /** Number of days for which the sold shares were held. */
  readonly held: number;
}

/** Wash sale rule of an account on a day. */
export interface WashRule {
  readonly lots: readonly AccountLot[];
  readonly asOf: Day;
  /** Shares that can replace shares of a security, in the order of their purchase. */
  listFresh(identifier: string): readonly FreshShares[];
  /** Last day on which an earlier sale at a loss forbids purchases, by security. */
  readonly noPurchaseUntil: ReadonlyMap<string, Day>;
}

/** Returns the day on which the shares of a lot were bought. */
export const findPurchaseDay = ({ bought, acquired }: AccountLot): Day => parseValidDay(bought ?? acquired);

const isLossSale = ({ shares, price, cost }: RecentTrade): boolean =>
  shares < 0 && (cost === undefined || price < cost);

/** Returns a function that lists the securities that count as identical to a security, including itself. */
export function groupSubstitutes(substitutes: Account['substitutes']): (identifier: string) => Iterable<string> {
  const groups = new Map<string, Set<string>>();
  for (const group of substitutes)
    for (const name of group) {
      const joinedGroup = groups.get(name) ?? new Set([name]);
      for (const member of group) joinedGroup.add(member);
      groups.set(name, joinedGroup);
    }
  return (identifier) => groups.get(identifier) ?? [identifier];
}

/** Shares that are not yet matched. */
interface Unmatched {
  readonly identifier: string;
  readonly day: Day;
  left: number;
}

/**
 * Reads the recent trades of an account. A purchase counts as far as its shares are neither lots of the same day nor
 * sold since. Shares sold at a loss have used up as many shares of lots bought within the window of that sale.
 */
export function readWindow({ recent, lots, substitutes, tax }: Account, asOf: Day): WashWindow {
  const trades = recent
    .map((trade) => ({
      trade,
      identifier: trade.identifier,
      day: parseValidDay(trade.date),
      left: Math.abs(trade.shares),
    }))
    .filter(({ day }) => day <= asOf)
    .toSorted((a, b) => a.day - b.day);
  const held = lots.map((lot, position) => {
    const { identifier, bought, shares } = lot;
    return { identifier, position, day: findPurchaseDay(lot), left: shares, isUsed: bought !== undefined };
  });
  const purchases = trades.filter(({ trade }) => trade.shares > 0);
  const heldOn = groupBy(held, ({ identifier, day }) => `${identifier} ${day}`);
  for (const purchase of purchases) match(purchase, heldOn.get(`${purchase.identifier} ${purchase.day}`) ?? []);
  held.forEach((lot, position) => (lot.left = lots[position]!.shares));
  const purchasesOf = groupBy(purchases, ({ identifier }) => identifier);
  const heldOf = groupBy(
    held.toSorted((a, b) => Number(b.isUsed) - Number(a.isUsed) || a.day - b.day),
    ({ identifier }) => identifier,
  );
  const listIdentical = groupSubstitutes(substitutes);
  const used = new Map<number, number>();
  for (const sale of trades) {
    if (!(sale.trade.shares < 0)) continue;
    match(sale, purchasesOf.get(sale.identifier) ?? [], ({ day }) => day <= sale.day);
    if (!isLossSale(sale.trade)) continue;
    for (const name of listIdentical(sale.identifier))
      match(
        sale,
        heldOf.get(name) ?? [],
        ({ day }) => Math.abs(day - sale.day) <= tax.wash_sale_days,
        ({ isUsed, position }, shares) => void (isUsed || used.set(position, (used.get(position) ?? 0) + shares)),
      );
  }
  const outside = purchases.flatMap(({ trade, left }) => (left > SHARES_MIN ? [{ ...trade, shares: left }] : []));
  return { trades: [...outside, ...recent.filter(isLossSale)], used };
}

/** Matches shares with others, in their order. */
function match<T extends Unmatched>(
  own: Unmatched,
  others: readonly T[],
  isPermitted: (other: T) => boolean = () => true,
  onMatch: (other: T, shares: number) => void = () => {},
): void {
  for (const other of others) {
    if (!(own.left > 0)) return;
    const shares = Math.min(own.left, other.left);
    if (!(shares > 0) || !isPermitted(other)) continue;
    own.left -= shares;
    other.left -= shares;
    onMatch(other, shares);
  }
}

function groupBy<T, K>(values: readonly T[], getKey: (value: T) => K): ReadonlyMap<K, readonly T[]> {
  const groups = new Map<K, T[]>();
  for (const value of values) {
    const group = groups.get(getKey(value));
    if (group === undefined) groups.set(getKey(value), [value]);
    else group.push(value);
  }
  return groups;
}

/** Creates the wash sale rule of an account. Trades of substitutes count as trades of the security. */
export function createWashRule({ lots, substitutes, tax }: Account, asOf: Day, { trades, used }: WashWindow): WashRule {
  const days = tax.wash_sale_days;
  const listIdentical = groupSubstitutes(substitutes);
  const isInWindow = (day: Day): boolean => day <= asOf && asOf - day <= days;
  const fresh = new Map<string, FreshShares[]>();
  const noPurchaseUntil = new Map<string, Day>();
  const addFresh = (own: FreshShares): void => {
    if (!isInWindow(own.day) || !(own.shares > SHARES_MIN)) return;
    for (const name of listIdentical(own.identifier)) {
      const list = fresh.get(name);
      if (list === undefined) fresh.set(name, [own]);
      else list.push(own);
    }
  };
  for (const trade of trades) {
    const { identifier, shares } = trade;
    const day = parseValidDay(trade.date);
    if (shares > 0) addFresh({ lot: null, identifier, day, shares });
    else if (isLossSale(trade) && isInWindow(day))
      for (const name of listIdentical(identifier))
        noPurchaseUntil.set(name, Math.max(noPurchaseUntil.get(name) ?? 0, day + days));
  }
  lots.forEach((lot, position) => {
    if (lot.bought !== undefined) return;
    const { identifier, shares } = lot;
    addFresh({ lot: position, identifier, day: findPurchaseDay(lot), shares: shares - (used.get(position) ?? 0) });
  });
  for (const list of fresh.values()) list.sort((a, b) => a.day - b.day || (a.lot ?? -1) - (b.lot ?? -1));
  return { lots, asOf, listFresh: (identifier) => fresh.get(identifier) ?? [], noPurchaseUntil };
}

/**
 * Returns true if shares belong to the purchase of a lot. Part of a purchase that is sold at a loss is not replaced by
 * its other part. The parts of a lot of which some shares have replaced others have the same day of purchase.
 * @source Rev. Rul. 56-602
 */
export function isSamePurchase(lots: readonly AccountLot[], { lot }: Pick<FreshShares, 'lot'>, sold: number): boolean {
  if (lot === null || lot === sold) return lot === sold;
  const [one, other] = [lots[lot]!, lots[sold]!];
  return (
    one.identifier === other.identifier &&
    (one.bought !== undefined || other.bought !== undefined) &&
    findPurchaseDay(one) === findPurchaseDay(other)
  );
}

/** Returns lots in the order of their purchase. */
export function sortByPurchase(lots: readonly AccountLot[], positions: readonly number[]): number[] {
  const days = new Map(positions.map((lot) => [lot, findPurchaseDay(lots[lot]!)]));
  return positions.toSorted((a, b) => days.get(a)! - days.get(b)! || a - b);
}

/**
 * Matches shares sold at a loss with the shares that replace them: shares bought within the window that are not sold
 * in the same trades, each of which replaces one share. Both are matched in the order of their purchase.
 * @param sold  number of shares sold, by lot
 * @param priceOf  price per share
 * @source 26 U.S.C. 1091(a), (d); 26 CFR 1.1091-1(b) to (e)
 */
export function matchReplacements(
  { lots, asOf, listFresh }: WashRule,
  sold: ReadonlyMap<number, number>,
  priceOf: (identifier: string) => number,
): Replacement[] {
  const losing = [...sold.keys()].filter((lot) => lots[lot]!.cost > priceOf(lots[lot]!.identifier));
  const left = new Map<FreshShares, number>();
  const replacements: Replacement[] = [];
  for (const lot of sortByPurchase(lots, losing)) {
    const { identifier, cost, acquired } = lots[lot]!;
    let shares = sold.get(lot)!;
    for (const fresh of listFresh(identifier)) {
      if (!(shares > SHARES_MIN)) break;
      const unsold = fresh.lot === null ? fresh.shares : lots[fresh.lot]!.shares - (sold.get(fresh.lot) ?? 0);
      const free = left.get(fresh) ?? Math.min(fresh.shares, unsold);
      if (!(free > SHARES_MIN) || isSamePurchase(lots, fresh, lot)) continue;
      const taken = Math.min(shares, free);
      left.set(fresh, free - taken);
      shares -= taken;
      const loss = cost - priceOf(identifier);
      replacements.push({ sold: lot, fresh, shares: taken, loss, held: asOf - parseValidDay(acquired) });
    }
  }
  return replacements;
}

/**
 * Adds disallowed losses to the basis of the shares that replace the sold shares, and the days for which these were
 * held to their holding period. Lots of which some shares replace others are divided.
 * @param remaining  lots after the sales, with their indices before them
 * @source 26 U.S.C. 1091(d), 1223(3)
 */
export function addDisallowedLosses<T extends AccountLot & { readonly lot: number | null }>(
  remaining: readonly T[],
  replacements: readonly Replacement[],
): T[] {
  const byLot = groupBy(replacements, ({ fresh }) => fresh.lot);
  return remaining.flatMap((lot): T[] => {
    const own = lot.lot === null ? undefined : byLot.get(lot.lot);
    if (own === undefined) return [lot];
    const bought = formatDay(findPurchaseDay(lot));
    const raised = own.map(({ shares, loss, held }): T => {
      const acquired = formatDay(parseValidDay(lot.acquired) - held);
      return { ...lot, shares, cost: lot.cost + loss, acquired, bought };
    });
    const left = lot.shares - own.reduce((sum, { shares }) => sum + shares, 0);
    return left > SHARES_MIN * Math.max(1, lot.shares) ? [...raised, { ...lot, shares: left }] : raised;
  });
}

/**
 * Returns true for a lot held for more than one year. The holding period begins on the day after the purchase, so that
 * a sale is long-term from the same day of the next year.
 * @source Rev. Rul. 66-7
 */
export function isLongTerm(acquired: string, asOf: Day): boolean {
  const { year, month, day } = toCivilDate(parseValidDay(acquired) + 1);
  return asOf >= toDay({ year: year + 1, month, day });
}
