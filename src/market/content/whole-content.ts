import type { SeriesTable } from '#domain/market/series.js';
import type { Panels } from '../panels/panels.js';
import type { ContentTables, MarketContent } from './market-content.js';
import type { Problems } from '../tables/problems.js';
import { reportSeries } from './series-rows.js';

/** Returns an object with the series of a content. The object is empty if there are no series. */
export function getSeries(series: SeriesTable): Pick<MarketContent, 'series'> {
  return series.size === 0 ? {} : { series };
}

/**
 * Combines panels and tables into one content. If an identifier is both a security and a series, returns undefined and
 * adds a finding.
 */
export function joinContent(panels: Panels, tables: ContentTables, problems: Problems): MarketContent | undefined {
  reportSeries(panels.identifiers, tables.series, problems);
  return problems.errors > 0 ? undefined : { ...panels, ...tables };
}
