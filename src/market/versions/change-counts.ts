import { compareBars } from '../content/market-changes.js';
import type { MarketContent } from '../content/market-content.js';
import type { RowChanges, RowCounts } from '../content/restatements.js';
import { compareTables, type SideTable } from '../content/table-changes.js';
import type { TableKind } from '../tables/table-kinds.js';

/** Rows of all tables, and of them the bars. */
export interface ChangeCounts extends RowCounts {
  readonly bars: RowCounts;
}

/**
 * Returns the differences between two contents, table by table: every row and value that is missing from one of them,
 * or differs.
 * @cost one pass over the cells of both that do not share memory, a few microseconds a row of the tables
 */
export function changesOfTables(before: MarketContent, after: MarketContent): Record<TableKind, RowChanges> {
  const lastDay = before.dates.at(-1) ?? -Infinity;
  const tables: Record<SideTable, RowChanges> = compareTables(before, after, {
    identifiers: before.identifiers,
    lastDay,
    isLiteral: true,
  });
  return { market: compareBars(before, after, { lateTo: lastDay }), ...tables };
}

/** Number of rows added, removed and changed between two contents. @cost as `changesOfTables` */
export function changeCounts(before: MarketContent, after: MarketContent): ChangeCounts {
  const changes = changesOfTables(before, after);
  return { ...sumCounts(Object.values(changes)), bars: countsOf(changes.market) };
}

/** Rows of several tables together. */
export function sumCounts(tables: readonly RowCounts[]): RowCounts {
  const total = (of: keyof RowCounts): number => tables.reduce((sum, counts) => sum + counts[of], 0);
  return { added: total('added'), changed: total('changed'), removed: total('removed') };
}

const countsOf = ({ added, changed, removed }: RowCounts): RowCounts => ({ added, changed, removed });
