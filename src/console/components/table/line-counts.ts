import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Column } from './columns.js';

/** Number of lines by column; a missing column has no text. */
export type LineCounts = Readonly<Record<string, number>>;

/**
 * Returns for each column of texts that wrap the number of lines of the longest text that was visible. All rows of a
 * table have the same height, so rows have no empty line if no text needs it.
 */
export function useLineCounts<R>(
  table: { readonly current: HTMLElement | null },
  columns: readonly Column<R>[],
): LineCounts {
  const [counts, setCounts] = useState<LineCounts>({});
  useLayoutEffect(() => {
    const linesMax = new Map(columns.map(({ id, lines = 1 }) => [id, lines]));
    const higher: Record<string, number> = {};
    for (const cell of table.current?.querySelectorAll<HTMLElement>('.table-rows .wraps') ?? []) {
      const id = cell.dataset['column'] ?? cell.dataset['below'] ?? '';
      const lines = Math.min(linesMax.get(id) ?? 1, countLines(cell));
      if (lines > (higher[id] ?? counts[id] ?? 0)) higher[id] = lines;
    }
    if (Object.keys(higher).length > 0) setCounts({ ...counts, ...higher });
  });
  return counts;
}

/** Counts the lines of a text, including those that are hidden. */
const countLines = (cell: HTMLElement): number =>
  Math.round(cell.scrollHeight / parseFloat(getComputedStyle(cell).lineHeight));

/**
 * Keeps the visible rows in place when the height of rows changes.
 * @param row height of a row in pixels
 */
export function useKeptPosition(scroller: RefObject<HTMLElement>, row: number): void {
  const before = useRef(row);
  useLayoutEffect(() => {
    if (scroller.current !== null) scroller.current.scrollTop *= row / before.current;
    before.current = row;
  }, [row]);
}
