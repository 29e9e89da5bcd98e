import type { ReferenceValue } from '#domain/market/market-data.js';
import { compareBars } from '../content/market-changes.js';
import type { MarketContent } from '../content/market-content.js';
import type { RowChanges, RowCounts } from '../content/restatements.js';
import { compareTables } from '../content/table-changes.js';

/** A value that two contents have otherwise; null where one has none. */
export interface CellDifference {
  readonly table: string;
  readonly identifier: string;
  /** YYYY-MM-DD; null for what has always held. */
  readonly date: string | null;
  readonly field: string;
  readonly before: ReferenceValue;
  readonly after: ReferenceValue;
}

export interface DataDifference {
  /** Values of rows that the first content has, and the second otherwise or not at all. */
  readonly cells: number;
  readonly rows: RowCounts;
  /** The first of those values. */
  readonly changes: readonly CellDifference[];
}

/**
 * What parts two contents.
 * @param limit most values that are listed
 * @cost one pass over the cells of both, a few microseconds a row of the tables
 */
export function differenceOf(before: MarketContent, after: MarketContent, limit: number): DataDifference {
  const held = { identifiers: before.identifiers, lastDay: before.dates.at(-1) ?? -Infinity, isLiteral: true } as const;
  const compared: readonly RowChanges[] = [
    compareBars(before, after),
    ...Object.values(compareTables(before, after, held)),
  ];
  const total = (of: (changes: RowChanges) => number): number =>
    compared.reduce((sum, changes) => sum + of(changes), 0);
  return {
    cells: total((changes) => changes.total),
    rows: {
      added: total(({ added }) => added),
      changed: total(({ changed }) => changed),
      removed: total(({ removed }) => removed),
    },
    changes: compared
      .flatMap(({ restatements }) => restatements)
      .slice(0, limit)
      .map(({ dataset, column, ...cell }) => ({
        table: dataset,
        identifier: cell.identifier,
        date: cell.date,
        field: column,
        before: cell.before,
        after: cell.after,
      })),
  };
}
