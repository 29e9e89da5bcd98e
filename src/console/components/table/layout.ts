import type { TableLayout } from '../../state/table-layouts.js';
import type { Column } from './columns.js';

/** Minimum column width after resizing, in pixels. */
export const WIDTH_MIN = 44;

/**
 * Returns the columns with the widths of a layout. Pinned columns and columns that the user keeps are never hidden. A
 * pinned column does not grow, because the next pinned column starts where it ends.
 */
export function arrangeColumns<R>(columns: readonly Column<R>[], layout: TableLayout): readonly Column<R>[] {
  return columns.map((column) => {
    const width = layout.widths[column.id];
    const isKept = layout.kept.includes(column.id) || layout.pinned.includes(column.id);
    const { grow, ...rest } = column;
    return {
      ...rest,
      ...(grow === undefined || width !== undefined || layout.pinned.includes(column.id) ? {} : { grow }),
      ...(width === undefined ? {} : { width }),
      ...(isKept ? { priority: 0 } : {}),
    };
  });
}

/** Returns the left offset of each pinned column, in pixels. */
export function listPinnedPlaces<R>(columns: readonly Column<R>[], layout: TableLayout): ReadonlyMap<string, number> {
  const positions = new Map<string, number>();
  let left = 0;
  for (const { id, width } of columns) {
    if (!layout.pinned.includes(id)) break; // pinned columns come first
    positions.set(id, left);
    left += width;
  }
  return positions;
}

/** Moves an id by a number of positions. */
export function moveColumn(ids: readonly string[], id: string, by: number): readonly string[] {
  const from = ids.indexOf(id);
  const to = Math.max(0, Math.min(ids.length - 1, from + by));
  return from === -1 ? ids : ids.toSpliced(from, 1).toSpliced(to, 0, id);
}
