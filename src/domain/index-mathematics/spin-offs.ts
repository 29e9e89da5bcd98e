import { readRateOn } from '../market/currency-pairs.js';
import { readReference, type CorporateAction, type MarketData } from '../market/market-data.js';
import { findFirstAtLeast, findLastAtMost } from '../numbers/search.js';
import type { Day } from '../time/days.js';

/**
 * Returns the value of the shares that a spin-off distributes for one share, in the currency of that share. The price of
 * the distributed security is its last bar on or before the day. NaN if it has none, or if the rate is missing.
 * @cost O(T) at most, for the search of the bar
 */
export function valueSpinOff(market: MarketData, action: CorporateAction, day: Day): number {
  if (action.worth !== undefined) return action.worth;
  const { identifiers, dates, fields } = market;
  const child = action.related === null ? -1 : identifiers.indexOf(action.related);
  if (child < 0) return Number.NaN;
  const close = fields.get('CLOSE')!;
  for (let row = findLastAtMost(dates, day); row >= 0; row--) {
    const price = close[row * identifiers.length + child]!;
    if (price === price) return action.value * price * convertChild(market, action, day);
  }
  return Number.NaN;
}

/** Returns the currency units of the parent per currency unit of the distributed security. */
function convertChild(market: MarketData, { identifier, related }: CorporateAction, day: Day): number {
  const readCurrency = (name: string) => readReference(market.reference, name, 'CURRENCY', day) ?? market.currency;
  const [from, to] = [readCurrency(related!), readCurrency(identifier)];
  return typeof from === 'string' && typeof to === 'string' ? readRateOn(market, { from, to, day }) : 1;
}

/**
 * Returns an action with the value of the shares that it distributes, for a market without the distributed security.
 * Other actions are returned unchanged.
 */
export function addSpinOffValue(market: MarketData, action: CorporateAction): CorporateAction {
  if (action.type !== 'SPIN_OFF') return action;
  const row = findFirstAtLeast(market.dates, action.exDay);
  return { ...action, worth: valueSpinOff(market, action, market.dates[row] ?? action.exDay) };
}
