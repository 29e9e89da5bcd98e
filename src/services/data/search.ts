import type { IdentifierSearch, SearchQuery, SeriesCollection } from '#contract/data.js';
import { formatDay } from '#domain/time/days.js';
import { type MarketData, readReference } from '#domain/market/market-data.js';
import type { PriceSeries } from '#domain/market/series.js';
import { getLookup } from '#market/serving/market-lookup.js';
import { getFieldAt } from './reference.js';
import { LAST_DAY } from './window.js';

/** Returns securities of the store with an identifier or name that contains a text. */
export function searchSecurities(market: MarketData, { q, limit, after }: SearchQuery): IdentifierSearch {
  const lookup = getLookup(market);
  const text = q?.toLowerCase();
  const foundIdentifiers: string[] = [];
  for (const identifier of lookup.allIdentifiers) {
    if (after !== undefined && identifier <= after) continue;
    if (
      text !== undefined &&
      !identifier.toLowerCase().includes(text) &&
      !(findName(market, identifier)?.toLowerCase().includes(text) ?? false)
    )
      continue;
    foundIdentifiers.push(identifier);
    if (foundIdentifiers.length > limit) break;
  }
  const page = foundIdentifiers.slice(0, limit);
  return {
    identifiers: page.map((identifier) => createListedSecurity(market, identifier)),
    next: foundIdentifiers.length > limit ? page.at(-1)! : null,
  };
}

function createListedSecurity(market: MarketData, identifier: string): IdentifierSearch['identifiers'][number] {
  const dates = getLookup(market).datesOf(identifier);
  const findLast = (field: string): number | null => {
    const value = dates === null ? null : getFieldAt(market, identifier, field, dates.end);
    return typeof value === 'number' ? value : null;
  };
  return {
    identifier,
    name: findName(market, identifier),
    start: dates === null ? null : formatDay(dates.start),
    end: dates === null ? null : formatDay(dates.end),
    sector: readLatestText(market, identifier, 'SECTOR'),
    currency: readLatestText(market, identifier, 'CURRENCY') ?? market.currency ?? null,
    close: findLast('CLOSE'),
    market_cap: findLast('MARKET_CAP'),
  };
}

/** Returns series of the store with an identifier or name that contains a text. */
export function searchSeries(market: MarketData, { q, limit, after }: SearchQuery): SeriesCollection {
  const text = q?.toLowerCase();
  const matchesSearch = ({ identifier, name }: PriceSeries): boolean =>
    text === undefined || identifier.toLowerCase().includes(text) || (name?.toLowerCase().includes(text) ?? false);
  const series = [...(market.series?.values() ?? [])].filter(
    (security) => (after === undefined || security.identifier > after) && matchesSearch(security),
  );
  const page = series.slice(0, limit);
  return {
    series: page.map(({ identifier, name, currency, days }) => ({
      identifier,
      name,
      currency,
      start: formatDay(days[0]!),
      end: formatDay(days.at(-1)!),
      values: days.length,
    })), // each series has at least one value
    next: series.length > limit ? page.at(-1)!.identifier : null,
  };
}

const findName = (market: MarketData, identifier: string): string | null => readLatestText(market, identifier, 'NAME');

function readLatestText(market: MarketData, identifier: string, column: string): string | null {
  const value = readReference(market.reference, identifier, column, LAST_DAY);
  return value === null ? null : String(value);
}
