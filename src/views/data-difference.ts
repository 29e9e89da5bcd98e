import type { DataDifferenceView } from '#contract/stores.js';

/** Differences between two versions of a data store. */
interface VersionsDifference {
  readonly from: number;
  readonly to: number;
  readonly cells: number;
  readonly rows: { readonly added: number; readonly changed: number; readonly removed: number };
  readonly appended: DataDifferenceView['appended'];
  readonly changes: readonly Readonly<DataDifferenceView['changes'][number]>[];
  readonly isCut: boolean;
}

export function createDataDifferenceView({
  from,
  to,
  cells,
  rows,
  appended,
  changes,
  isCut,
}: VersionsDifference): DataDifferenceView {
  return {
    from,
    to,
    cells,
    rows_added: rows.added,
    rows_changed: rows.changed,
    rows_removed: rows.removed,
    appended,
    changes: [...changes],
    cut: isCut,
  };
}
