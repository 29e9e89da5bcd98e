import { compareText } from '../refusals/findings.js';
import type { KnownName, PackAccount } from './pack.js';

/** An order as it was at the announcement, and as it is. */
export interface ReconciledOrder {
  readonly identifier: string;
  /** Negative for a sale, 0 where nothing was ordered. */
  readonly shares_announced: number;
  readonly shares: number;
  /** What was not ordered then. */
  readonly change: number;
  readonly price_announced: number;
  readonly price: number;
}

export interface ReconciledAccount {
  readonly name: string;
  readonly value_announced: number;
  readonly orders: readonly ReconciledOrder[];
}

/** Accounts of one pack, and the names that their orders are of. */
export interface PackedNames {
  readonly accounts: readonly PackAccount[];
  readonly names: readonly KnownName[];
}

/** The orders of the announcement beside those of a later close, account by account, by identifier. */
export function reconciled(announced: PackedNames, now: PackedNames): ReconciledAccount[] {
  const priceThen = pricesOf(announced.names);
  const priceNow = pricesOf(now.names);
  return now.accounts.map(({ name, trades }, a) => {
    const then = announced.accounts[a]!;
    const [sharesThen, sharesNow] = [signedShares(then.trades), signedShares(trades)];
    const identifiers = [...new Set([...sharesThen.keys(), ...sharesNow.keys()])].toSorted(compareText);
    return {
      name,
      value_announced: then.value,
      orders: identifiers.map((identifier) => {
        const [before, after] = [sharesThen.get(identifier) ?? 0, sharesNow.get(identifier) ?? 0];
        return {
          identifier,
          shares_announced: before,
          shares: after,
          change: after - before,
          price_announced: priceThen.get(identifier)!,
          price: priceNow.get(identifier)!,
        };
      }),
    };
  });
}

function pricesOf(names: readonly KnownName[]): Map<string, number> {
  return new Map(names.map(({ identifier, price }) => [identifier, price]));
}

function signedShares(trades: PackAccount['trades']): Map<string, number> {
  return new Map(trades.map(({ identifier, side, shares }) => [identifier, side === 'buy' ? shares : -shares]));
}
