import type { LevelSketch } from '#contract/indices/preview.js';
import type { IndexDocument } from '#domain/documents/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { formatDay } from '#domain/time/days.js';
import type { LevelSketch as ComputedSketch } from '#jobs/tasks/indices.js';

/**
 * Number of days and maximum number of points of a sketched level: three years, with one point per one or two pixels.
 */
export const SKETCH_DAYS = 3 * 366;
export const SKETCH_POINTS = 80;

/** Days of history that a sketch adds for each document that the sketched document reads. */
const HISTORY_DAYS = 366;

/**
 * Returns the documents with later base dates: at most three years before the end of the market. A request can then
 * compute the sketch quickly. Documents that the sketched document reads start one year earlier, so that it has
 * history.
 * @param subject id of the sketched document
 */
export function limitHistory(
  documents: Readonly<Record<string, IndexDocument>>,
  { subject, market: { dates } }: { readonly subject: string; readonly market: Pick<MarketData, 'dates'> },
): Readonly<Record<string, IndexDocument>> {
  const earliestDay = (dates.at(-1) ?? 0) - SKETCH_DAYS;
  return Object.fromEntries(
    Object.entries(documents).map(([id, document]) => {
      const day = formatDay(id === subject ? earliestDay : earliestDay - HISTORY_DAYS);
      return [id, document.base_date >= day ? document : { ...document, base_date: day }];
    }),
  );
}

/** Converts a computed sketch to the response of the API. */
export function formatSketch(name: string, { dates, levels, volatilities, exposures }: ComputedSketch): LevelSketch {
  const createSeries = (data: readonly (number | null)[]) => ({ index: [...dates], data: [...data], name });
  return {
    level: createSeries(levels),
    volatility: createSeries(volatilities),
    exposure: exposures && createSeries(exposures),
  };
}
