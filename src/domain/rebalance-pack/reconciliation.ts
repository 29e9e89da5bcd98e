import { compareText } from '../refusals/findings.js';
import type { KnownSecurity, PackAccount } from './pack.js';

/** Order of a security at the announcement and at a later close. */
export interface ReconciledOrder {
  readonly identifier: string;
  /** Shares to trade; negative for a sale, 0 without an order. */
  readonly shares_announced: number;
  readonly shares: number;
  /** Difference from the order at the announcement. */
  readonly change: number;
  readonly price_announced: number;
  readonly price: number;
}

export interface ReconciledAccount {
  readonly name: string;
  readonly value_announced: number;
  readonly orders: readonly ReconciledOrder[];
}

/** Accounts of a pack, and the securities in their orders. */
export interface PackedSecurities {
  readonly accounts: readonly PackAccount[];
  readonly names: readonly KnownSecurity[];
}

/** Compares announced orders with the orders at a later close, by account and identifier. */
export function reconcilePacks(announced: PackedSecurities, current: PackedSecurities): ReconciledAccount[] {
  const announcedPrices = indexPrices(announced.names);
  const currentPrices = indexPrices(current.names);
  return current.accounts.map(({ name, trades }, a) => {
    const announcedAccount = announced.accounts[a]!;
    const [sharesThen, sharesNow] = [listSignedShares(announcedAccount.trades), listSignedShares(trades)];
    const identifiers = [...new Set([...sharesThen.keys(), ...sharesNow.keys()])].toSorted(compareText);
    return {
      name,
      value_announced: announcedAccount.value,
      orders: identifiers.map((identifier) => {
        const [before, after] = [sharesThen.get(identifier) ?? 0, sharesNow.get(identifier) ?? 0];
        return {
          identifier,
          shares_announced: before,
          shares: after,
          change: after - before,
          price_announced: announcedPrices.get(identifier)!,
          price: currentPrices.get(identifier)!,
        };
      }),
    };
  });
}

function indexPrices(names: readonly KnownSecurity[]): Map<string, number> {
  return new Map(names.map(({ identifier, price }) => [identifier, price]));
}

function listSignedShares(trades: PackAccount['trades']): Map<string, number> {
  return new Map(trades.map(({ identifier, side, shares }) => [identifier, side === 'buy' ? shares : -shares]));
}
