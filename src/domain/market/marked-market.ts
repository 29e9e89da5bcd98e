import type { MarketData } from './market-data.js';
import { alignMarket, type AlignMarketInput, type MarketMark, type SessionMarket } from './session-market.js';

/**
 * Maximum number of cached market states per calendar. Runs of a market have few different end dates and look-backs.
 */
const MARKS_MAX = 4;

const markedMarketsCache = new WeakMap<MarketData, Map<string, SessionMarket[]>>();

/**
 * Returns a market that is aligned from a stored state on. All callers with an equal state share this market and the
 * data derived from it.
 */
export function alignMarkedMarket(input: AlignMarketInput & { readonly mark: MarketMark }): SessionMarket {
  const { market, calendar, mark } = input;
  let byCalendar = markedMarketsCache.get(market);
  if (byCalendar === undefined) markedMarketsCache.set(market, (byCalendar = new Map()));
  const { code } = calendar;
  const otherMarkets = byCalendar.get(code) ?? [];
  const earlierMarket = otherMarkets.find((sm) => sm.calendar === calendar && isSame(sm.mark!, mark));
  const sessionMarket = earlierMarket ?? alignMarket(input);
  byCalendar.set(code, [sessionMarket, ...otherMarkets.filter((sm) => sm !== sessionMarket)].slice(0, MARKS_MAX));
  return sessionMarket;
}

function isSame(a: MarketMark, b: MarketMark): boolean {
  if (a.session !== b.session || !haveSameMarks(a.lastBar, b.lastBar)) return false;
  if (a.terms === null || b.terms === null) return a.terms === b.terms;
  if (a.terms.size !== b.terms.size) return false;
  return [...a.terms].every(([key, { carried, index }]) => {
    const otherTerms = b.terms!.get(key);
    return (
      otherTerms !== undefined && haveSameMarks(carried, otherTerms.carried) && haveSameMarks(index, otherTerms.index)
    );
  });
}

/** Compares arrays by bits. Securities without a price have NaN in both arrays, and NaN is not equal to itself. */
function haveSameMarks(a: ArrayLike<number>, b: ArrayLike<number>): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!Object.is(a[i], b[i])) return false;
  return true;
}
