import type { Account } from './account-request.js';
import type { SaleLinks } from './sale-links.js';

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

/** Returns both parts of a region. */
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
