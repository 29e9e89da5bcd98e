import { parseValidDay, formatDay, type Day } from '../time/days.js';
import type { Account } from './account-request.js';
import { isLongTerm, type WashState } from './wash-sales.js';

/** Lot in the order of sale. If the wash sale rule disallows only a part of a loss, the lot is split. */
export interface SaleLot {
  /** Index of the lot in the account. */
  readonly lot: number;
  readonly shares: number;
  readonly isLong: boolean;
  /** Taxed gain per share; 0 if a loss is disallowed. */
  readonly gain: number;
  /** Disallowed loss per share. It is added to the basis of the replacement. */
  readonly disallowed: number;
}

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
  readonly asOf: Day;
  readonly wash: WashState | undefined;
  readonly isExcluded: boolean;
}

/** Returns the lots of a security in the order of sale. @param ownLots indices of its lots in the account */
export function listSecurityLots(account: Account, ownLots: readonly number[], question: LotsQuestion): SecurityLots {
  const { price, asOf, wash, isExcluded } = question;
  const { lot_method: method, wash_sales: rule } = account.tax;
  const compareByDate = (a: number, b: number): number =>
    parseValidDay(account.lots[a]!.acquired) - parseValidDay(account.lots[b]!.acquired) || a - b;
  const compareByCost = (a: number, b: number): number => account.lots[b]!.cost - account.lots[a]!.cost || a - b;
  const replacedShares = wash?.replaced ?? 0;
  if (isExcluded && replacedShares > 0)
    return { lots: listLotsSoldTogether(account, ownLots.toSorted(compareByDate), question), ...SELL_ALL };
  const order = [...ownLots].sort(method === 'hifo' ? compareByCost : compareByDate);
  const isLoss = (lot: number): boolean => account.lots[lot]!.cost > price;
  const isExposed = replacedShares > 0 && order.some(isLoss);
  const isForbidden = isExposed && rule === 'forbid' && !isExcluded;
  const allowedLots = isForbidden ? order.filter((lot) => !isLoss(lot)) : order;
  // If losses of a security are partly disallowed, its lots at a loss are sold first, in the order of purchase.
  const isSplit = isExposed && !isForbidden;
  if (isSplit && method === 'specific')
    allowedLots.sort((a, b) => Number(isLoss(b)) - Number(isLoss(a)) || compareByDate(a, b));
  const lots: SaleLot[] = [];
  let left = isSplit ? replacedShares : 0;
  for (const lot of allowedLots) {
    const { shares, cost, acquired } = account.lots[lot]!;
    const isLong = isLongTerm(acquired, asOf);
    const sharesWithoutLoss = isLoss(lot) ? Math.min(left, shares) : 0;
    if (sharesWithoutLoss > 0) lots.push({ lot, shares: sharesWithoutLoss, isLong, gain: 0, disallowed: cost - price });
    if (shares > sharesWithoutLoss)
      lots.push({ lot, shares: shares - sharesWithoutLoss, isLong, gain: price - cost, disallowed: 0 });
    left -= sharesWithoutLoss;
  }
  const blockedShares = isForbidden ? order.filter(isLoss).reduce((sum, lot) => sum + account.lots[lot]!.shares, 0) : 0;
  return { lots, isOrdered: method !== 'specific' || isSplit, blocked: blockedShares };
}

const SELL_ALL = { isOrdered: true, blocked: 0 } as const;

/** Shares of a lot with the start of their holding period. */
interface HeldShares {
  readonly shares: number;
  readonly since: Day;
}

/**
 * Returns the lots of a security whose whole position is sold. A disallowed loss is added to the basis of the shares
 * that replace the sold shares, together with their holding period. If the replacement shares are sold in the same
 * trades, the loss is realised with them. Its term then follows from both holding periods combined. First, losses are
 * disallowed for as many shares as were bought elsewhere and are not sold here.
 * @param ownLots  lots, oldest first
 * @source 26 U.S.C. 1091(d), 1223(3)
 */
function listLotsSoldTogether(
  { lots, tax }: Account,
  ownLots: readonly number[],
  { price, asOf, wash }: LotsQuestion,
): SaleLot[] {
  const parseAcquired = (lot: number): Day => parseValidDay(lots[lot]!.acquired);
  const isFresh = (lot: number): boolean => asOf - parseAcquired(lot) <= tax.wash_sale_days;
  /** Number of shares not yet used as replacements, by lot bought within the window. */
  const freeShares = new Map(ownLots.filter(isFresh).map((lot) => [lot, lots[lot]!.shares]));
  const parts = new Map(ownLots.map((lot): [number, HeldShares[]] => [lot, []]));
  let sharesElsewhere = (wash?.replaced ?? 0) - [...freeShares.values()].reduce((sum, shares) => sum + shares, 0);
  const sales: SaleLot[] = [];
  for (const lot of ownLots) {
    const gain = price - lots[lot]!.cost;
    const addSale = (shares: number, day: Day, disallowed = 0): void => {
      const isLong = isLongTerm(formatDay(day), asOf);
      if (shares > 0) sales.push({ lot, shares, isLong, gain: disallowed > 0 ? 0 : gain, disallowed });
    };
    parts.get(lot)!.push({ shares: freeShares.get(lot) ?? lots[lot]!.shares, since: parseAcquired(lot) });
    freeShares.delete(lot);
    for (const part of parts.get(lot)!) {
      let left = part.shares;
      if (gain < 0) {
        const sharesWithoutLoss = Math.min(Math.max(0, sharesElsewhere), left);
        addSale(sharesWithoutLoss, part.since, -gain);
        [sharesElsewhere, left] = [sharesElsewhere - sharesWithoutLoss, left - sharesWithoutLoss];
        for (const [other, shares] of freeShares) {
          const combinedShares = Math.min(left, shares);
          if (combinedShares === 0) continue;
          const combinedDay = parseAcquired(other) - (asOf - part.since);
          addSale(combinedShares, combinedDay);
          parts.get(other)!.push({ shares: combinedShares, since: combinedDay });
          freeShares.set(other, shares - combinedShares);
          left -= combinedShares;
        }
      }
      addSale(left, part.since);
    }
  }
  return sales;
}
