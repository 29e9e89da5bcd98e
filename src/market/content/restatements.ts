import type { ReferenceValue } from '#domain/market/market-data.js';
import type { TableKind } from '../tables/table-kinds.js';

/** Value that the source has changed. A missing value is null. */
export interface Restatement {
  readonly dataset: TableKind;
  readonly identifier: string;
  /** Null for a value that has always applied. */
  readonly date: string | null;
  readonly column: string;
  readonly before: ReferenceValue;
  readonly after: ReferenceValue;
}

/** Counts of the rows of a dataset by outcome. */
export interface RowCounts {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
}

/** Changed and removed values. */
export interface RestatedValues {
  /** The first 1,000 restatements. */
  readonly restatements: readonly Restatement[];
  /** Number of all restatements. */
  readonly total: number;
}

export type RowChanges = RowCounts & RestatedValues;

/** Maximum number of listed restatements; the remaining ones are counted. */
export const RESTATEMENTS_MAX = 1000;

/** Collects changed values. Stores only the first ones and counts the others. */
export function createRestatements(): { add(make: () => Restatement): void; listRestatements(): RestatedValues } {
  const restatements: Restatement[] = [];
  let total = 0;
  return {
    add(make) {
      total += 1;
      if (restatements.length < RESTATEMENTS_MAX) restatements.push(make());
    },
    listRestatements: () => ({ restatements, total }),
  };
}

/** Differences between two versions of a table. */
export interface TableChanges extends RowChanges {
  /** Counts of rows about days up to the last stored day. */
  readonly history: RowCounts;
}
