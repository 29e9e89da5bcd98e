import type { RecordedClosures } from '../calendars/closures.js';
import type { BacktestPlan } from '../documents/backtest-plan.js';
import type { MarketData } from '../market/market-data.js';
import { createReferenceSpells } from '../market/reference-spells.js';

const exchangeCache = new WeakMap<MarketData, ReadonlySet<string>>();

/** Returns the exchanges of a market's securities. @cost a pass over the reference data, once per market */
function listExchanges(market: MarketData): ReadonlySet<string> {
  const cachedExchanges = exchangeCache.get(market);
  if (cachedExchanges !== undefined) return cachedExchanges;
  const codes = new Set<string>();
  for (const spells of createReferenceSpells(market, 'EXCHANGE'))
    for (const { value } of spells) if (typeof value === 'string') codes.add(value);
  exchangeCache.set(market, codes);
  return codes;
}

/**
 * Returns a copy of a plan for comparison with another plan. The copy keeps only the recorded calendar changes
 * (calendars, dates, sessions) that a run on the market uses. Without a market, the copy keeps all recorded changes.
 */
export function selectPlanClosures(plan: BacktestPlan, market: MarketData | undefined): BacktestPlan {
  const usedCalendars = new Set([
    ...Object.values(plan.documents).map(({ calendar }) => calendar),
    ...(market === undefined ? [] : listExchanges(market)),
  ]);
  const selectEffectiveClosures = (closures: RecordedClosures): RecordedClosures =>
    Object.fromEntries(
      Object.entries(closures).flatMap(([code, { changes }]) =>
        (market !== undefined && !usedCalendars.has(code)) || changes.length === 0
          ? []
          : [[code, { version: 1, changes: changes.map(({ date, session }) => ({ date, session, reason: '' })) }]],
      ),
    );
  const documents = Object.entries(plan.documents).map(([id, { closures = {}, ...document }]) => {
    const effectiveClosures = selectEffectiveClosures(closures);
    return [
      id,
      Object.keys(effectiveClosures).length === 0 ? document : { ...document, closures: effectiveClosures },
    ] as const;
  });
  return { ...plan, documents: Object.fromEntries(documents) };
}
