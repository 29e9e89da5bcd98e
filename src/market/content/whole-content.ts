import type { SeriesTable } from '#domain/market/series.js';
import type { Panels } from '../panels/panels.js';
import type { ContentTables, MarketContent } from './market-content.js';
import type { Problems } from '../tables/problems.js';
import { reportSeries } from './series-rows.js';

/** Returns the series of a content as a member, which is absent if there are none. */
export function getSeries(series: SeriesTable): Pick<MarketContent, 'series'> {
  return series.size === 0 ? {} : { series };
}

/**
 * Combines panels and tables into one content; undefined, with a finding, if an identifier is in both market and
 * series.
 */
export function joinContent(panels: Panels, tables: ContentTables, problems: Problems): MarketContent | undefined {
  reportSeries(panels.identifiers, tables.series, problems);
  return problems.errors > 0 ? undefined : { ...panels, ...tables };
}
