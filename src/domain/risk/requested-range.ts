import { formatDay } from '../time/days.js';
import type { RiskModelRequest } from './risk-model-document.js';
import type { MarketData } from '../market/market-data.js';
import { Refusal } from '../refusals/refusal.js';

/**
 * Runs an estimate over a requested range. If the request states a start or an end, a refusal for too few returns names
 * it, and the range of the store.
 * @throws Refusal as `estimate`
 */
export function estimateOverRange<T>(
  { start, end }: Pick<RiskModelRequest, 'start' | 'end'>,
  { dates }: Pick<MarketData, 'dates'>,
  estimate: () => T,
): T {
  try {
    return estimate();
  } catch (failure) {
    const isWholeRange = start === null && end === null;
    if (!(failure instanceof Refusal) || failure.code !== 'RISK_INSUFFICIENT_DATA' || isWholeRange) throw failure;
    const [first, last] = [formatDay(dates[0]!), formatDay(dates.at(-1)!)]; // every market has dates
    const bounds = [start === null ? '' : `start ${start}`, end === null ? '' : `end ${end}`].filter(Boolean);
    const message = `${failure.message} Requested: ${bounds.join(' and ')}; the data covers ${first} to ${last}.`;
    throw new Refusal(failure.code, message, { ...failure.detail, start, end, first, last }, { cause: failure });
  }
}
