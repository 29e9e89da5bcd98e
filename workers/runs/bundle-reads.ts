import type { DatedMarkets } from '#domain/books/decision-seats.js';
import type { Calendar, Calendars } from '#domain/calendars/calendar.js';
import type { BundleCalendar } from '#domain/documents/bundle-document.js';
import type { MarketData } from '#domain/market/market-data.js';

/** Creates records of the fields, series and calendars of a market that a run reads. */
export function createReadRecords(market: MarketData, calendars: Calendars, datedMarkets?: DatedMarkets) {
  const [fields, series] = [new Set<string>(['CLOSE']), new Set<string>()]; // a market requires CLOSE
  const usedCalendars = new Map<string, Calendar>();
  const results = new Map<MarketData, MarketData>();
  /** Creates one record per market object. Markets with the same content are the same object. */
  const record = (marketData: MarketData): MarketData => {
    const result = results.get(marketData) ?? {
      ...marketData,
      fields: createRecordingMap(marketData.fields, fields),
      ...(marketData.series && { series: createRecordingMap(marketData.series, series) }),
    };
    results.set(marketData, result);
    return result;
  };
  return {
    market: record(market),
    ...(datedMarkets && { known: { at: (day) => record(datedMarkets.at(day)) } satisfies DatedMarkets }),
    calendars: {
      list: () => calendars.list(),
      get(code: string) {
        const entry = calendars.get(code);
        if (entry !== undefined) usedCalendars.set(code, entry);
        return entry;
      },
    },
    /** Returns a market with only the fields and series that were read. */
    narrowed: (marketData: MarketData): MarketData => ({
      ...marketData,
      fields: selectEntries(marketData.fields, fields),
      ...(marketData.series && { series: selectEntries(marketData.series, series) }),
    }),
    used: (): readonly BundleCalendar[] =>
      [...usedCalendars.values()].map(({ code, name, region, tz, coverage, sessions }) => ({
        code,
        name,
        region,
        tz,
        coverage,
        sessions: [...sessions],
      })),
  };
}

const selectEntries = <V>(entries: ReadonlyMap<string, V>, names: ReadonlySet<string>): ReadonlyMap<string, V> =>
  new Map([...entries].filter(([name]) => names.has(name)));

/** Returns a map that records the keys that are read. If the map is iterated, it records all keys. */
function createRecordingMap<V>(entries: ReadonlyMap<string, V>, readKeys: Set<string>): ReadonlyMap<string, V> {
  const readAll = (): void => entries.forEach((_, key) => readKeys.add(key));
  return {
    size: entries.size,
    get: (key: string) => (readKeys.add(key), entries.get(key)),
    has: (key: string) => (readKeys.add(key), entries.has(key)),
    keys: () => (readAll(), entries.keys()),
    values: () => (readAll(), entries.values()),
    entries: () => (readAll(), entries.entries()),
    forEach: (visit: Parameters<typeof entries.forEach>[0]) => (readAll(), entries.forEach(visit)),
    [Symbol.iterator]: () => (readAll(), entries[Symbol.iterator]()),
  } as ReadonlyMap<string, V>;
}
