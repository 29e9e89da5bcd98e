import { compareText } from '../refusals/findings.js';
import { findLastAtMost } from '../numbers/search.js';
import type { MarketData } from './market-data.js';
import type { PriceSeries } from './series.js';

const cache = new WeakMap<MarketData, Map<string, MarketData>>();

/**
 * Returns a market in which one of its series is an additional security. Requests can then treat the series as a
 * holding. The new market has only the panel CLOSE, on the days of the original market. The original market is
 * unchanged.
 * @cost a copy of CLOSE, once per market and series
 */
export function addSeries(market: MarketData, series: PriceSeries): MarketData {
  const marketByIdentifier = cache.get(market) ?? new Map<string, MarketData>();
  cache.set(market, marketByIdentifier);
  const result = marketByIdentifier.get(series.identifier) ?? extendMarket(market, series);
  marketByIdentifier.set(series.identifier, result);
  return result;
}

function extendMarket(market: MarketData, { identifier, currency, days, closes }: PriceSeries): MarketData {
  const { dates, reference } = market;
  const width = market.identifiers.length;
  const identifiers = [...market.identifiers, identifier].toSorted(compareText);
  const position = identifiers.indexOf(identifier);
  const sourceClose = market.fields.get('CLOSE')!;
  const close = new Float64Array(dates.length * (width + 1)).fill(Number.NaN);
  for (let t = 0; t < dates.length; t++) {
    const row = t * (width + 1);
    close.set(sourceClose.subarray(t * width, t * width + position), row);
    close.set(sourceClose.subarray(t * width + position, (t + 1) * width), row + position + 1);
  }
  days.forEach((day, i) => {
    const t = findLastAtMost(dates, day);
    if (dates[t] === day) close[t * (width + 1) + position] = closes[i]!;
  });
  const columns = reference.columns.includes('CURRENCY') ? reference.columns : [...reference.columns, 'CURRENCY'];
  const row = { validFrom: null, values: columns.map((column) => (column === 'CURRENCY' ? currency : null)) };
  return {
    ...market,
    identifiers,
    fields: new Map([['CLOSE', close]]),
    reference: { columns, rows: new Map([...reference.rows, [identifier, [row]]]) },
  };
}
