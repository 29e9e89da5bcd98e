import type { Mapping } from '#domain/documents/mapping.js';
import { rowsOf } from '../content/content.js';
import type { MarketContent } from '../content/market-content.js';
import type { RowsByTable } from '../tables/table-kinds.js';

/**
 * What was read with the rows of the market that are kept: several of a mapping may be of one name and day.
 * @cost one pass over the cells, where rows may have been joined or left out
 */
export function withKeptRows<T extends { readonly content: MarketContent; readonly rows: RowsByTable }>(
  read: T,
  mapping: Mapping | null | undefined,
): T {
  const areAllKept = mapping == null || (mapping.layout === 'long' && mapping.on_duplicate === 'refuse');
  return areAllKept ? read : { ...read, rows: { ...read.rows, market: rowsOf(read.content).market } };
}
