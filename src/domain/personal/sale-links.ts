import type { Account } from './account-request.js';
import { isSamePurchase, type FreshShares, type WashRule } from './wash-sales.js';

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
    tax.lot_method === 'specific' && new Set([...needed.values()].flatMap((own) => own ?? [])).size <= KEYS_MAX;
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
