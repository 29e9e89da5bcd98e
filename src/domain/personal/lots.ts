import type { AccountProgram, TaxSide } from '#kernels/lots/account-program.js';
import { type Day, formatDay, parseValidDay } from '../base/time.js';
import type { Account, AccountLot, AccountTax, RecentTrade, TaxRegime } from './account.js';
import {
  createPotReader,
  createTaxSides,
  readMatchingDays,
  readRates,
  readRegime,
  readWashDays,
} from './tax-regime.js';

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
  readonly day: Day;
  readonly shares: number;
}

/** Shares sold at a loss, and the shares that replace them. */
export interface LotReplacement {
  readonly sold: number;
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
  readonly regime: TaxRegime;
  /** Returns true if the gains of a lot belong to the second pot: those of lots held for more than one year. */
  isLong(lot: number): boolean;
  /** Shares that can replace shares of a security, in the order of their purchase. */
  listFresh(identifier: string): readonly FreshShares[];
  /**
   * Last day on which an earlier sale forbids purchases, by security: a sale at a loss, or one that the purchase would
   * be matched with.
   */
  readonly noPurchaseUntil: ReadonlyMap<string, Day>;
}

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
export function readWashWindow({ recent, lots, substitutes, tax }: Account, asOf: Day): WashWindow {
  const regime = readRegime(tax);
  const washDays = readWashDays(regime);
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
        ({ day }) => Math.abs(day - sale.day) <= washDays,
        ({ isUsed, position }, shares) => void (isUsed || used.set(position, (used.get(position) ?? 0) + shares)),
      );
  }
  const outside = purchases.flatMap(({ trade, left }) => (left > SHARES_MIN ? [{ ...trade, shares: left }] : []));
  const isMatched = ({ shares }: RecentTrade): boolean => shares < 0 && readMatchingDays(regime) > 0;
  return { trades: [...outside, ...recent.filter((trade) => isMatched(trade) || isLossSale(trade))], used };
}

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
  const regime = readRegime(tax);
  const days = readWashDays(regime);
  const matchingDays = readMatchingDays(regime);
  const isSecond = createPotReader(regime);
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
    const forbidPurchases = (name: string, until: Day): void =>
      void noPurchaseUntil.set(name, Math.max(noPurchaseUntil.get(name) ?? 0, until));
    if (shares > 0) addFresh({ lot: null, identifier, day, shares });
    else if (isLossSale(trade) && isInWindow(day))
      for (const name of listIdentical(identifier)) forbidPurchases(name, day + days);
    if (shares < 0 && day <= asOf && asOf - day <= matchingDays && matchingDays > 0)
      forbidPurchases(identifier, day + matchingDays);
  }
  lots.forEach((lot, position) => {
    if (lot.bought !== undefined) return;
    const { identifier, shares } = lot;
    addFresh({ lot: position, identifier, day: findPurchaseDay(lot), shares: shares - (used.get(position) ?? 0) });
  });
  for (const list of fresh.values()) list.sort((a, b) => a.day - b.day || (a.lot ?? -1) - (b.lot ?? -1));
  return {
    lots,
    asOf,
    regime,
    isLong: (lot) => isSecond(lots[lot]!, asOf),
    listFresh: (identifier) => fresh.get(identifier) ?? [],
    noPurchaseUntil,
  };
}

/**
 * Returns true if shares belong to the purchase of a lot. Part of a purchase that is sold at a loss is not replaced by
 * its other part. The parts of a lot of which some shares have replaced others have the same day of purchase.
 * @source Rev. Rul. 56-602
 */
function isSamePurchase(lots: readonly AccountLot[], { lot }: Pick<FreshShares, 'lot'>, sold: number): boolean {
  if (lot === null || lot === sold) return lot === sold;
  const [one, other] = [lots[lot]!, lots[sold]!];
  return (
    one.identifier === other.identifier &&
    (one.bought !== undefined || other.bought !== undefined) &&
    findPurchaseDay(one) === findPurchaseDay(other)
  );
}

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
): LotReplacement[] {
  const losing = [...sold.keys()].filter((lot) => lots[lot]!.cost > priceOf(lots[lot]!.identifier));
  const left = new Map<FreshShares, number>();
  const replacements: LotReplacement[] = [];
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
  replacements: readonly LotReplacement[],
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

/** Securities of an account whose sales affect the disallowed losses of other sales. */
export interface SaleLinks {
  /**
   * Securities whose shares replace shares of other securities, or compete with them for replacement shares. Excluded
   * securities are sold whole and not listed.
   */
  readonly coupled: ReadonlySet<string>;
  /**
   * Where sales with a disallowed loss are forbidden: lots that permit the sale of other lots at a loss only if they are
   * sold whole, and cannot simply be sold before those.
   */
  readonly keys: readonly number[];
  /** Securities with such lots, or with lots at a loss that depend on them. */
  readonly managed: ReadonlySet<string>;
}

/**
 * Returns the shares that can still replace shares of a security after the sales of excluded securities. These are
 * matched in the order of purchase; a given lot precedes those that were bought later.
 */
export type FreshReader = (identifier: string, lot?: number) => readonly FreshShares[];

/** Number of lots up to which an account that chooses its lots decides whether each is sold whole. */
const KEYS_MAX = 12;

interface LinksQuestion {
  readonly rule: WashRule;
  readonly excluded: ReadonlySet<string>;
  readonly listLeft: FreshReader;
  readonly priceOf: (identifier: string) => number;
}

/** Finds the securities whose sales affect each other under the wash sale rule. */
export function findSaleLinks(account: Account, question: LinksQuestion): SaleLinks {
  const { rule, excluded, priceOf } = question;
  const { lots } = account;
  const losing = lots.flatMap(({ identifier, cost }, lot) => (cost > priceOf(identifier) ? [lot] : []));
  const coupled = new Set<string>();
  const namesOf = new Map<FreshShares, Set<string>>();
  for (const lot of losing)
    for (const fresh of rule.listFresh(lots[lot]!.identifier)) {
      if (isSamePurchase(lots, fresh, lot)) continue;
      const names = namesOf.get(fresh) ?? new Set(fresh.lot === null ? [] : [fresh.identifier]);
      namesOf.set(fresh, names.add(lots[lot]!.identifier));
    }
  for (const names of namesOf.values())
    if (names.size > 1) for (const name of names) if (!excluded.has(name)) coupled.add(name);
  if (account.tax.wash_sales !== 'forbid') return { coupled, keys: [], managed: new Set() };
  return { coupled, ...findKeys(account, losing, question) };
}

function findKeys({ lots, tax }: Account, losing: readonly number[], { excluded, listLeft }: LinksQuestion) {
  const chosen = losing.filter((lot) => !excluded.has(lots[lot]!.identifier));
  const losingSet = new Set(chosen);
  const needed = new Map(chosen.map((lot) => [lot, listNeeded(lots, listLeft, lot)]));
  const managed = new Set<string>();
  const isChosen =
    readRegime(tax).lots === 'specific' && new Set([...needed.values()].flatMap((own) => own ?? [])).size <= KEYS_MAX;
  for (const [lot, own] of needed)
    for (const other of own ?? []) {
      const [name, otherName] = [lots[lot]!.identifier, lots[other]!.identifier];
      const isMutual = losingSet.has(other) && needed.get(other)?.includes(lot) === true;
      if (name === otherName && !isMutual && !isChosen) continue;
      managed.add(name).add(otherName);
    }
  // Lots on which a managed security depends are managed, too.
  for (let size = -1; size !== managed.size;) {
    size = managed.size;
    for (const [lot, own] of needed)
      for (const other of own ?? []) if (managed.has(lots[lot]!.identifier)) managed.add(lots[other]!.identifier);
  }
  const keys = new Set([...needed].flatMap(([lot, own]) => (managed.has(lots[lot]!.identifier) ? (own ?? []) : [])));
  return { managed, keys: [...keys].toSorted((a, b) => a - b) };
}

/**
 * Returns the lots that must be sold whole so that a lot at a loss can be sold without a disallowed loss; null if shares
 * outside the account would replace it.
 */
export function listNeeded(lots: Account['lots'], listLeft: FreshReader, lot: number): readonly number[] | null {
  const others = listLeft(lots[lot]!.identifier, lot).filter((fresh) => !isSamePurchase(lots, fresh, lot));
  return others.some((fresh) => fresh.lot === null) ? null : others.map((fresh) => fresh.lot!);
}

/** Weight below which the tax has no effect: its part of the objective is a rounding error. */
const WEIGHT_MIN = 1e-12;

/**
 * Returns the terms of the tax in the objective, and its limit. Without a weight, the objective contains a tax of zero.
 * @param value  value of the account, in money
 */
export function createTaxTerms(tax: AccountTax, value: number): Pick<AccountProgram, 'taxWeight' | 'sides'> {
  const { weight, limit } = tax;
  const isWeighted = weight >= WEIGHT_MIN;
  const taxWeight = isWeighted ? weight : 1;
  const noTax = [{ short: 0, long: 0, constant: 0 }];
  if (!isWeighted && limit === null) return { taxWeight, sides: [{ longSign: 0, pieces: noTax }] };
  const sides = createTaxSides(tax, value).map(({ longSign, pieces }): TaxSide => ({
    longSign,
    pieces: isWeighted ? pieces : noTax,
    ...(limit !== null && { limits: pieces.map((piece) => ({ ...piece, constant: piece.constant - limit / value })) }),
  }));
  return { taxWeight, sides };
}

/**
 * Shares of a lot that are sold together, in the order of sale. The wash sale rule may divide a lot: its shares then
 * realise different gains.
 */
export interface SaleLot {
  /** Index of the lot in the account. */
  readonly lot: number;
  readonly shares: number;
  /** Taxed gains per share. The sale of replacement shares also realises losses that they would have disallowed. */
  readonly short: number;
  readonly long: number;
}

export interface TraceQuestion {
  readonly rule: WashRule;
  readonly order: readonly number[];
  /** Number of shares that are sold of lots of other securities, by lot. */
  readonly others: ReadonlyMap<number, number>;
  priceOf(identifier: string): number;
  isLong(lot: number): boolean;
}

/** Number of shares, and its change per share that is sold next. */
interface Quantity {
  readonly value: number;
  readonly change: number;
}

/** Shares sold of the lots so far. */
interface Sales {
  /** Lot of which shares are sold next. */
  readonly lot: number;
  readonly sold: ReadonlyMap<number, number>;
}

/** Gains of the shares that are sold next. */
interface MarginalGains {
  readonly short: number;
  readonly long: number;
  /** Number of shares for which these gains hold. */
  readonly reach: number;
}

/**
 * Returns the taxed gains of a security under the wash sale rule as its lots are sold one after another, with given
 * sales of other securities. The gains are a piecewise linear function of the number of shares sold: a sale at a loss is
 * matched with the shares that replace it, and the sale of these shares allows the loss again. Each piece has constant
 * gains per share. The gains never fall if other securities sell less: the losses of this security then find more
 * shares that replace them.
 *
 * @cost per piece: lots at a loss times shares that may replace them, usually a few
 */
function traceGains(question: TraceQuestion): SaleLot[] {
  const { rule, order, others, priceOf } = question;
  const { lots } = rule;
  const isLosing = (lot: number): boolean => lots[lot]!.cost > priceOf(lots[lot]!.identifier);
  const losing = sortByPurchase(lots, [...order, ...others.keys()]).filter(isLosing);
  const freshCount = losing.reduce((most, lot) => Math.max(most, rule.listFresh(lots[lot]!.identifier).length), 0);
  const piecesMax = 4 * (order.length + others.size + freshCount) + 8;
  const sold = new Map(others);
  const pieces: SaleLot[] = [];
  for (const lot of order) {
    const { shares } = lots[lot]!;
    let left = shares;
    for (let piece = 1; left > 0; piece++) {
      sold.set(lot, shares - left);
      const { short, long, reach } = computeMarginalGains(question, losing, { lot, sold });
      // The last piece takes all shares of the lot, also if rounding errors divided the lot too often.
      const isLast = reach >= left - SHARES_MIN * Math.max(1, shares) || piece === piecesMax;
      pieces.push({ lot, shares: isLast ? left : reach, short, long });
      left = isLast ? 0 : left - reach;
    }
    sold.set(lot, shares);
  }
  return joinEqual(pieces);
}

/** Computes the gains of the next shares of a lot by matching quantities together with their changes. */
function computeMarginalGains(
  { rule, others, priceOf, isLong }: TraceQuestion,
  losing: readonly number[],
  { lot: next, sold }: Sales,
): MarginalGains {
  const { lots } = rule;
  let reach = Infinity;
  const gains = { short: 0, long: 0 };
  const computeGain = (lot: number): number => priceOf(lots[lot]!.identifier) - lots[lot]!.cost;
  const addGain = (lot: number, amount: number): void => void (gains[isLong(lot) ? 'long' : 'short'] += amount);
  const findLess = (a: Quantity, b: Quantity): Quantity => {
    const difference = a.value - b.value;
    if (Math.abs(difference) <= SHARES_MIN) return a.change < b.change ? a : b;
    const [less, more] = difference < 0 ? [a, b] : [b, a];
    if (less.change > more.change) reach = Math.min(reach, Math.abs(difference) / (less.change - more.change));
    return less;
  };
  const subtract = (a: Quantity, b: Quantity): Quantity => ({ value: a.value - b.value, change: a.change - b.change });
  const isNone = ({ value, change }: Quantity): boolean => value <= SHARES_MIN && change <= 0;
  const free = new Map<FreshShares, Quantity>();
  const findFree = (fresh: FreshShares): Quantity => {
    const { lot, shares } = fresh;
    const known = free.get(fresh);
    if (known !== undefined) return known;
    const whole = { value: shares, change: 0 };
    if (lot === null || !(sold.has(lot) || lot === next)) return whole;
    return findLess(whole, { value: lots[lot]!.shares - (sold.get(lot) ?? 0), change: lot === next ? -1 : 0 });
  };
  addGain(next, computeGain(next));
  for (const lot of losing) {
    if (!sold.has(lot)) continue;
    let left: Quantity = { value: sold.get(lot)!, change: lot === next ? 1 : 0 };
    for (const fresh of rule.listFresh(lots[lot]!.identifier)) {
      if (isNone(left)) break;
      const own = findFree(fresh);
      if (isNone(own) || isSamePurchase(lots, fresh, lot)) continue;
      const taken = findLess(left, own);
      left = subtract(left, taken);
      free.set(fresh, subtract(own, taken));
      if (!others.has(lot)) addGain(lot, -taken.change * computeGain(lot));
    }
  }
  return { ...gains, reach };
}

function joinEqual(pieces: readonly SaleLot[]): SaleLot[] {
  const joined: SaleLot[] = [];
  for (const piece of pieces) {
    const last = joined.at(-1);
    if (last?.lot === piece.lot && last.short === piece.short && last.long === piece.long)
      joined[joined.length - 1] = { ...last, shares: last.shares + piece.shares };
    else joined.push(piece);
  }
  return joined;
}

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
  const { wash_sales: treatment, weight } = account.tax;
  const isLong = new Map(ownLots.map((lot) => [lot, rule.isLong(lot)]));
  const isLoss = (lot: number): boolean => lots[lot]!.cost > price;
  const isExposed =
    others !== undefined || ownLots.some((lot) => isLoss(lot) && fresh.some((own) => !isSamePurchase(lots, own, lot)));
  const order = sortForSale(account, ownLots, { ...question, isExposed });
  const isOrdered = readRegime(account.tax).lots !== 'specific' || isExposed || weight < WEIGHT_MIN;
  if (isExposed && treatment === 'disallow') {
    const answer = { rule, order, others: others ?? new Map(), priceOf, isLong: (lot: number) => isLong.get(lot)! };
    return { lots: traceGains(answer), isOrdered, blocked: 0, unlisted: 0 };
  }
  const permitted = isExposed ? listAllowedLots(order, { lots, fresh, isLoss }) : order;
  return createPlainLots(account, ownLots, { permitted, isOrdered, question });
}

/** Returns lots whose sale has no effect on other lots, and the number of shares in the lots that are left out. */
function createPlainLots(
  { lots }: Account,
  ownLots: readonly number[],
  {
    permitted,
    isOrdered,
    question: { price, rule },
  }: { readonly permitted: readonly number[]; readonly isOrdered: boolean; readonly question: LotsQuestion },
): SecurityLots {
  const permittedLots = new Set(permitted);
  const unlisted = ownLots.reduce((sum, lot) => (permittedLots.has(lot) ? sum : sum + lots[lot]!.shares), 0);
  return {
    lots: permitted.map((lot) => {
      const { cost, shares } = lots[lot]!;
      const isLong = rule.isLong(lot);
      return { lot, shares, short: isLong ? 0 : price - cost, long: isLong ? price - cost : 0 };
    }),
    isOrdered,
    blocked: unlisted,
    unlisted,
  };
}

export function sortForSale(
  { lots, tax }: Account,
  ownLots: readonly number[],
  { price, rule, fresh, isExposed }: LotsQuestion & { readonly isExposed: boolean },
): number[] {
  const regime = readRegime(tax);
  const { lots: method, matching_days: days } = regime;
  const rates = readRates(regime);
  const freshLots = new Set(fresh.map(({ lot }) => lot));
  const computeTax = (lot: number): number => (price - lots[lot]!.cost) * (rule.isLong(lot) ? rates.long : rates.short);
  const isFreshLoss = (lot: number): boolean => lots[lot]!.cost > price && freshLots.has(lot);
  const order = sortByPurchase(lots, ownLots);
  if (method === 'hifo') order.sort((a, b) => lots[b]!.cost - lots[a]!.cost || a - b);
  // Shares bought on the day of the trades are matched with sales of that day.
  const isToday = (lot: number): boolean => findPurchaseDay(lots[lot]!) === rule.asOf;
  if (days[0] === 0) order.sort((a, b) => Number(isToday(b)) - Number(isToday(a)));
  // Among lots at a loss, those that could replace the others are sold first.
  if (method === 'specific' && (isExposed || tax.weight < WEIGHT_MIN))
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
  const isSpecific = readRegime(tax).lots === 'specific';
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

/** Range of the number of shares of a security that are sold. */
export interface SoldRange {
  /** Least number; null if the security may also be bought. */
  readonly least: number | null;
  readonly most: number;
}

/**
 * Part of the permitted trades of an account. The gains of each security are computed as if the other securities that
 * affect them sold the most shares of the region, which gives the least gains. They are exact for trades that sell so
 * many shares.
 */
export interface SaleRegion {
  /** Shares sold of coupled securities, by identifier; absent: any number. */
  readonly sold: ReadonlyMap<string, SoldRange>;
  /** Key lots of which some shares remain, and those that are sold whole. */
  readonly kept: ReadonlySet<number>;
  readonly whole: ReadonlySet<number>;
  /** Groups of substitutes of which none is bought, and those of which none is sold at a loss, by index. */
  readonly closed: ReadonlySet<number>;
  readonly lossless: ReadonlySet<number>;
  /** Shares sold, by lot, for a region of known trades, whose gains are exact. */
  readonly sales?: ReadonlyMap<number, number> | undefined;
}

export const WHOLE_REGION: SaleRegion = {
  sold: new Map(),
  kept: new Set(),
  whole: new Set(),
  closed: new Set(),
  lossless: new Set(),
};

/**
 * Division of a region: a security sells at most `below` or at least `above` shares; a lot is kept in part or sold
 * whole; a group of substitutes has no purchases or no sales at a loss.
 */
export type RegionCut =
  | { readonly identifier: string; readonly below: number; readonly above: number }
  | { readonly lot: number }
  | { readonly substitutes: number };

export function divideRegion(region: SaleRegion, cut: RegionCut): readonly [SaleRegion, SaleRegion] {
  if ('lot' in cut)
    return [
      { ...region, kept: new Set([...region.kept, cut.lot]) },
      { ...region, whole: new Set([...region.whole, cut.lot]) },
    ];
  if ('substitutes' in cut)
    return [
      { ...region, closed: new Set([...region.closed, cut.substitutes]) },
      { ...region, lossless: new Set([...region.lossless, cut.substitutes]) },
    ];
  const { identifier, below, above } = cut;
  const range = region.sold.get(identifier) ?? { least: null, most: Infinity };
  const replaceRange = (own: SoldRange): SaleRegion => ({
    ...region,
    sold: new Map([...region.sold, [identifier, own]]),
  });
  return [replaceRange({ ...range, most: below }), replaceRange({ ...range, least: above })];
}

/** Returns true if a cut divides the permitted trades of a region, without trades in between. */
export function isRegionCut(
  { lots, substitutes }: Account,
  { coupled, keys }: SaleLinks,
  cut: RegionCut,
  isWhole: boolean,
): boolean {
  if ('lot' in cut) return keys.includes(cut.lot);
  if ('substitutes' in cut) return substitutes[cut.substitutes] !== undefined;
  const { identifier, below, above } = cut;
  if (!coupled.has(identifier) || !(below >= 0)) return false;
  if (below === above) return true;
  const held = lots.reduce((sum, lot) => (lot.identifier === identifier ? sum + lot.shares : sum), 0);
  return isWhole && Number.isInteger(below) && above === Math.min(below + 1, held);
}

/** Decisions about key lots that follow from each other. */
export interface KeyStates {
  readonly kept: ReadonlySet<number>;
  readonly whole: ReadonlySet<number>;
}

/**
 * Completes the decisions about key lots. A lot at a loss can be sold if all lots that it needs are sold whole.
 * @param neededBy  lots that a lot at a loss needs; null if it cannot be sold, undefined for a lot that can always be sold
 * @returns undefined if the decisions contradict each other
 */
export function completeKeys(
  { kept, whole }: KeyStates,
  keys: readonly number[],
  neededBy: (lot: number) => readonly number[] | null | undefined,
): KeyStates | undefined {
  const states = { kept: new Set(kept), whole: new Set(whole) };
  for (let size = -1; size !== states.kept.size + states.whole.size;) {
    size = states.kept.size + states.whole.size;
    for (const lot of keys) {
      const needed = neededBy(lot);
      if (needed === undefined) continue;
      const isPermitted = needed !== null && !needed.some((other) => states.kept.has(other));
      if (states.whole.has(lot)) {
        if (!isPermitted) return undefined;
        for (const other of needed) states.whole.add(other);
      } else if (!isPermitted) states.kept.add(lot);
    }
  }
  return [...states.whole].some((lot) => states.kept.has(lot)) ? undefined : states;
}

/** Sale of shares of a lot. A lot of which the loss is partly disallowed has two sales. */
export interface TaxedSale {
  readonly lot: number;
  readonly shares: number;
  /** Gain that is taxed, in money; 0 if the loss is disallowed. */
  readonly gain: number;
  /** Loss that is added to the basis of the replacement, in money. */
  readonly disallowed: number;
  readonly isLong: boolean;
}

export interface TaxedSales {
  readonly sales: readonly TaxedSale[];
  readonly replacements: readonly LotReplacement[];
  /** Sums of the taxed gains by term, in money. */
  readonly short: number;
  readonly long: number;
}

/**
 * Computes the taxed gains of sales under the wash sale rule.
 * @param sold  number of shares sold, by lot
 * @param priceOf  price per share
 */
export function computeTaxedSales(
  rule: WashRule,
  sold: ReadonlyMap<number, number>,
  priceOf: (identifier: string) => number,
): TaxedSales {
  const replacements = matchReplacements(rule, sold, priceOf);
  const replacedShares = new Map<number, number>();
  for (const { sold: lot, shares } of replacements) replacedShares.set(lot, (replacedShares.get(lot) ?? 0) + shares);
  const sales: TaxedSale[] = [];
  const sums = { short: 0, long: 0 };
  for (const [lot, shares] of sold) {
    const { identifier, cost } = rule.lots[lot]!;
    const gain = priceOf(identifier) - cost;
    const isLong = rule.isLong(lot);
    const replaced = replacedShares.get(lot) ?? 0;
    if (replaced > 0) sales.push({ lot, shares: replaced, gain: 0, disallowed: -replaced * gain, isLong });
    const left = shares - replaced;
    if (!(left > (replaced > 0 ? SHARES_MIN : 0))) continue;
    sales.push({ lot, shares: left, gain: left * gain, disallowed: 0, isLong });
    sums[isLong ? 'long' : 'short'] += left * gain;
  }
  return { sales, replacements, ...sums };
}
