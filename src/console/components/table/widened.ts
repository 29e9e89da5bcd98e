import { useLayoutEffect, useMemo, useState } from 'preact/hooks';
import type { TableLayout } from '../../state/table-layouts.js';
import type { Column } from './columns.js';

/** Width of the border of a cell, in pixels. */
const ROOM = 2;

/**
 * Returns the columns, numeric ones as wide as the widest number that was visible, because a truncated number would be
 * read as another number.
 */
export function useWidened<R>(
  table: { readonly current: HTMLElement | null },
  columns: readonly Column<R>[],
  /** Resized columns keep their width. */
  { widths: chosen }: Pick<TableLayout, 'widths'>,
): readonly Column<R>[] {
  const [widths, setWidths] = useState<Readonly<Record<string, number>>>({});
  useLayoutEffect(() => {
    const wider: Record<string, number> = {};
    for (const cell of table.current?.querySelectorAll<HTMLElement>('.table-cell.right') ?? []) {
      const id = cell.dataset['column'];
      if (id === undefined || chosen[id] !== undefined || cell.scrollWidth <= cell.clientWidth) continue;
      wider[id] = Math.max(wider[id] ?? 0, cell.scrollWidth + ROOM);
    }
    if (Object.keys(wider).length > 0) setWidths({ ...widths, ...wider });
  });
  return useMemo(
    () =>
      columns.map((column) => ({
        ...column,
        width: chosen[column.id] ?? Math.max(column.width, widths[column.id] ?? 0),
      })),
    [columns, widths, chosen],
  );
}
