import { createExchangeRates, findRedenomination } from '../market/exchange-rates.js';
import { readRateOn } from '../market/currency-pairs.js';
import type { GrowthTerms } from './growth-terms.js';
import { ACTION_KINDS, readReference, type CorporateAction, type MarketData } from '../market/market-data.js';
import type { SessionAction } from '../market/session-actions.js';
import { readPanelRow, type SessionMarket } from '../market/session-market.js';
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
    if (price === price) return action.value * price * convertChild(market, action, { day });
  }
  return Number.NaN;
}

/**
 * Returns the currency units of the parent per currency unit of the distributed security.
 * @param indexCurrency currency of the index, which is that of securities for which the store states no currency
 */
function convertChild(
  market: MarketData,
  { identifier, related }: CorporateAction,
  { day, indexCurrency }: { readonly day: Day; readonly indexCurrency?: string | undefined },
): number {
  const readCurrency = (name: string) =>
    readReference(market.reference, name, 'CURRENCY', day) ?? market.currency ?? (indexCurrency || undefined);
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

/**
 * Returns the actions of a market in order, each spin-off on the session on which prices show it: the first one from its
 * ex-date with a bar of the parent or a price of the distributed security.
 */
export function placeSpinOffs(sm: SessionMarket): readonly SessionAction[] {
  const { all } = sm.actions;
  if (!all.some(({ action }) => action.type === 'SPIN_OFF')) return all;
  return all
    .map((one) => (one.action.type === 'SPIN_OFF' ? { ...one, session: findShownSession(sm, one) } : one))
    .toSorted((a, b) => a.session - b.session || a.column - b.column);
}

type PlacedSpinOff = Pick<SessionAction, 'action' | 'column'>;

/** Returns the session on which prices show a spin-off; its own session if none does. */
function findShownSession(sm: SessionMarket, spinOff: SessionAction): number {
  for (let session = spinOff.session; session < sm.sessions.length; session++)
    if (showsFall(sm, spinOff, session) || valueOnSession(sm, spinOff, { session }) > 0) return session;
  return spinOff.session;
}

/** Returns true if the parent has a bar of the ex-date or later by a session. */
function showsFall(sm: SessionMarket, { action, column }: PlacedSpinOff, session: number): boolean {
  const ex = findFirstAtLeast(sm.sessions, action.exDay);
  if (session > ex && session === sm.first) return sm.lastBar[readPanelRow(sm, session) + column]! >= ex;
  return sm.rows.dayOf(sm.market.fields.get('CLOSE')!, session, column) >= action.exDay;
}

interface ValuedSession {
  readonly session: number;
  /** Effect of rights issues on index shares. Default: none. */
  readonly rights?: GrowthTerms['rights'];
  /** Currency of the index. */
  readonly indexCurrency?: string;
}

/**
 * Returns the value on a session of the shares that a spin-off distributes for one index share of the session, before a
 * rights issue on it, in the currency of that share. NaN if the distributed security has no price, or if the rate is
 * missing.
 */
function valueOnSession(sm: SessionMarket, { action, column }: PlacedSpinOff, valued: ValuedSession): number {
  const { session, indexCurrency } = valued;
  const day = sm.sessions[session]!;
  const child = action.related === null ? -1 : sm.columnOf(action.related);
  if (action.worth !== undefined || child < 0 || session < sm.first) return valueSpinOff(sm.market, action, day);
  if (sm.hasEnded(session, child)) return Number.NaN;
  const ex = findFirstAtLeast(sm.sessions, action.exDay);
  const shares = countShares(sm, child, { ex, session }) / countShares(sm, column, { ex, ...valued });
  return (
    action.value * shares * sm.carriedClose(session, child) * convertChild(sm.market, action, { day, indexCurrency })
  );
}

/**
 * Returns the value of the shares that a placed spin-off distributes for one share on its session. NaN if it is unknown,
 * and under terms of holdings if the bar of the parent shows it. Without such a bar, the value is in the currency of the
 * previous close, which it reduces.
 */
export function valueDistribution(
  sm: SessionMarket,
  { valuesSpinOffs, rights, currency }: Pick<GrowthTerms, 'valuesSpinOffs' | 'rights' | 'currency'>,
  one: SessionAction,
): number {
  const { session, column } = one;
  if (showsFall(sm, one, session))
    return valuesSpinOffs === true ? valueOnSession(sm, one, { session, indexCurrency: currency }) : Number.NaN;
  const { redenominations } = createExchangeRates(sm, currency);
  return (
    valueOnSession(sm, one, { session, rights, indexCurrency: currency }) /
    findRedenomination(redenominations, session, column)
  );
}

/**
 * Returns the shares on a session, before a rights issue on it, of a holder of one share on an earlier ex-date, after a
 * split on that date.
 */
function countShares(
  { actions: { all, starts }, market }: SessionMarket,
  column: number,
  { ex, session, rights }: ValuedSession & { readonly ex: number },
): number {
  let count = 1;
  for (let a = starts[ex]!; a < starts[session + 1]!; a++) {
    const { action, column: affected, session: at } = all[a]!;
    if (affected !== column) continue;
    if (ACTION_KINDS[action.type] === 'ratio' && market.adjustment === 'none' && at > ex) count *= action.value;
    if (action.type === 'RIGHTS_ISSUE' && rights === 'subscribe' && action.subscriptionPrice !== null && at < session)
      count *= 1 + action.value;
  }
  return count;
}
