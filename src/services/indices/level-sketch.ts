import type { IndexDocument } from '#domain/documents/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { formatDay } from '#domain/time/days.js';

/** Days and points of the level of a sketch: three years, a point for each pixel or two. */
export const SKETCH_DAYS = 3 * 366;
export const SKETCH_POINTS = 80;

/** History of the documents that a sketched one reads. */
const HISTORY_DAYS = 366;

/**
 * Returns documents that begin at most three years before the end of a market, for a sketch in the time of a request.
 * Documents that the subject reads begin a year earlier, so that it has a history.
 * @param subject id of the sketched document
 */
export function lateDocuments(
  documents: Readonly<Record<string, IndexDocument>>,
  { subject, market: { dates } }: { readonly subject: string; readonly market: Pick<MarketData, 'dates'> },
): Readonly<Record<string, IndexDocument>> {
  const earliest = (dates.at(-1) ?? 0) - SKETCH_DAYS;
  return Object.fromEntries(
    Object.entries(documents).map(([id, document]) => {
      const day = formatDay(id === subject ? earliest : earliest - HISTORY_DAYS);
      return [id, document.base_date >= day ? document : { ...document, base_date: day }];
    }),
  );
}
