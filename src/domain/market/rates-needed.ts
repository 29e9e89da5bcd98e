import type { IndexDocument } from '../documents/index-document.js';
import { majorUnit } from './exchange-rates.js';
import type { MarketData } from './market-data.js';
import { referenceSpells } from './reference-spells.js';

/**
 * Market identifiers of the exchange rates that names a universe lists (every name, when it lists none) need into the currency of
 * an index and that the store does not hold in either direction, ascending.
 */
export function missingRates(market: MarketData, { currency, universe }: IndexDocument): string[] {
  const listed = universe?.kind === 'list' ? new Set(universe.identifiers) : undefined;
  const held = new Set(market.identifiers);
  const to = majorUnit(currency);
  const missing = new Set<string>();
  for (const [code, names] of namesByCurrency(market)) {
    const from = majorUnit(code);
    if (from === to || held.has(`${from}${to}`) || held.has(`${to}${from}`)) continue;
    if (listed === undefined || names.some((name) => listed.has(name))) missing.add(`${from}${to}`);
  }
  return [...missing].sort();
}

const kept = new WeakMap<MarketData, ReadonlyMap<string, readonly string[]>>();

/** The names of a market that ever had a currency, by its code. @cost O(rows of the reference table) the first time */
function namesByCurrency(market: MarketData): ReadonlyMap<string, readonly string[]> {
  const known = kept.get(market);
  if (known !== undefined) return known;
  const names = new Map<string, string[]>();
  for (const [column, spells] of referenceSpells(market, 'CURRENCY').entries()) {
    for (const { value } of spells) {
      if (typeof value !== 'string' || value === '') continue;
      const own = names.get(value) ?? [];
      names.set(value, own);
      if (own.at(-1) !== market.identifiers[column]) own.push(market.identifiers[column]!);
    }
  }
  kept.set(market, names);
  return names;
}
