import { createExchangeRates, shareRates } from '../market/exchange-rates.js';
import { findCarriedPrices, createCloseKey, createMarkKey } from './growth.js';
import { holdsShares, toHoldingTerms, type GrowthTerms } from './growth-terms.js';
import type { SessionActions } from '../market/session-actions.js';
import { readPanelRow, type MarketMark, type SessionMarket } from '../market/session-market.js';

/**
 * Returns a market between two sessions. Values of units do not depend on earlier sessions, so simulations are
 * bit-identical wherever the original market begins.
 */
export function cutMarket(
  sm: SessionMarket,
  terms: GrowthTerms,
  { from, to }: { readonly from: number; readonly to: number },
): SessionMarket {
  const { securityCount, lastBar, sessions } = sm;
  const begin = readPanelRow(sm, from);
  const view: SessionMarket = {
    ...sm,
    sessions: sessions.subarray(0, to + 1),
    first: from,
    lastBar: lastBar.subarray(begin, begin + (to + 1 - from) * securityCount),
    actions: selectActions(sm.actions, { from, to }),
    mark: createMark(sm, terms, from),
  };
  shareRates(sm, view);
  return view;
}

function createMark(sm: SessionMarket, terms: GrowthTerms, session: number): MarketMark {
  const { securityCount, lastBar } = sm;
  const begin = readPanelRow(sm, session);
  const bars = Int32Array.from(lastBar.subarray(begin, begin + securityCount));
  const rates = createExchangeRates(sm, terms.currency);
  const growthTerms = toHoldingTerms(terms);
  const carriedPrices = findCarriedPrices(sm, growthTerms, { session, bars });
  const index = Float64Array.from(bars, (bar, column) => {
    const rate = rates.rateAt(session, column);
    if (!(bar >= 0 && rate > 0)) return Number.NaN;
    return holdsShares(growthTerms) ? carriedPrices[column]! * rate : 1;
  });
  const mark = { closeKey: createCloseKey(sm, session, growthTerms), carried: carriedPrices, index };
  return { session, lastBar: bars, terms: new Map([[createMarkKey(sm, session, growthTerms), mark]]) };
}

/** Returns the actions after one session up to another. */
function selectActions(
  { all, starts, isStructural }: SessionActions,
  { from, to }: { readonly from: number; readonly to: number },
): SessionActions {
  const first = starts[from + 1]!;
  const selectedActions = all.slice(first, starts[to + 1]);
  const selectedStarts = new Int32Array(to + 2);
  for (let s = from + 1; s <= to; s++) selectedStarts[s + 1] = starts[s + 1]! - first;
  return {
    all: selectedActions,
    starts: selectedStarts,
    related: selectedActions.filter(({ action }) => action.related !== null),
    unpricedRights: [],
    isStructural: isStructural.subarray(0, to + 1),
  };
}
