import type { ReferenceValue } from '#domain/market/market-data.js';
import type { TableKind } from '../tables/table-kinds.js';

/** Value that the source has changed; null on a side without a value. */
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

/** The values behind changed and removed rows. */
export interface RestatedValues {
  /** The first of them. */
  readonly restatements: readonly Restatement[];
  /** All of them. */
  readonly total: number;
}

export type RowChanges = RowCounts & RestatedValues;

/** Restatements that are listed; the others are counted. */
export const RESTATEMENTS_MAX = 1000;

/** Collects restatements. Builds only the first ones and counts the others. */
export function createRestatements(): { add(make: () => Restatement): void; made(): RestatedValues } {
  const restatements: Restatement[] = [];
  let total = 0;
  return {
    add(make) {
      total += 1;
      if (restatements.length < RESTATEMENTS_MAX) restatements.push(make());
    },
    made: () => ({ restatements, total }),
  };
}

/** The differences between two versions of a table. */
export interface TableChanges extends RowChanges {
  /** Changed rows about days up to the last stored one. */
  readonly history: RowCounts;
}
