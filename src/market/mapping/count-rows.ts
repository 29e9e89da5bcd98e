import type { Mapping } from '#domain/documents/mapping.js';
import { countTableRows } from '../content/content.js';
import type { MarketContent } from '../content/market-content.js';
import type { RowsByTable } from '../tables/table-kinds.js';

/**
 * Returns a read whose number of market rows excludes rows that the mapping merged or ignored. Such rows are, for
 * example, repeated rows of a security and date.
 * @cost one pass over the cells, if rows may have been merged or ignored
 */
export function recountMarketRows<T extends { readonly content: MarketContent; readonly rows: RowsByTable }>(
  read: T,
  mapping: Mapping | null | undefined,
): T {
  const areAllKept = mapping == null || (mapping.layout === 'long' && mapping.on_duplicate === 'refuse');
  return areAllKept ? read : { ...read, rows: { ...read.rows, market: countTableRows(read.content).market } };
}
