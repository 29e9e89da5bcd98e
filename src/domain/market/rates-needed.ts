import type { IndexDocument } from '../documents/index-document.js';
import { majorUnit } from './exchange-rates.js';
import type { MarketData } from './market-data.js';

/**
 * Market identifiers of the exchange rates that names a universe lists (every name, when it lists none) need into the currency of
 * an index and that the store does not hold in either direction, ascending.
 */
export function missingRates(market: MarketData, { currency, universe }: IndexDocument): string[] {
  const position = market.reference.columns.indexOf('CURRENCY');
  if (position < 0) return [];
  const listed = universe?.kind === 'list' ? new Set(universe.identifiers) : undefined;
  const held = new Set(market.identifiers);
  const to = majorUnit(currency);
  const missing = new Set<string>();
  for (const [identifier, rows] of market.reference.rows) {
    if (!held.has(identifier) || (listed !== undefined && !listed.has(identifier))) continue;
    for (const row of rows) {
      const code = row.values[position];
      if (typeof code !== 'string' || code === '') continue;
      const from = majorUnit(code);
      if (from !== to && !held.has(`${from}${to}`) && !held.has(`${to}${from}`)) missing.add(`${from}${to}`);
    }
  }
  return [...missing].sort();
}
