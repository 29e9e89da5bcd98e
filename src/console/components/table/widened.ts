import { useLayoutEffect, useMemo, useState } from 'preact/hooks';
import type { TableLayout } from '../../state/table-layouts.js';
import type { Column } from './columns.js';

/** Width of the border of a cell, in pixels. */
const BORDER_WIDTH = 2;
/** Maximum width of a text that is not truncated, in pixels. */
const TEXT_MAX = 200;

/**
 * Makes columns as wide as their titles and as the widest number or short text that was visible. A truncated number or
 * date could be misread. Texts in columns that can grow may be truncated.
 */
export function useWidened<R>(
  table: { readonly current: HTMLElement | null },
  columns: readonly Column<R>[],
  /** Widths of resized columns, which are not changed. */
  { widths: chosen }: Pick<TableLayout, 'widths'>,
): readonly Column<R>[] {
  const [widths, setWidths] = useState<Readonly<Record<string, number>>>({});
  useLayoutEffect(() => {
    const wider: Record<string, number> = {};
    const growing = new Set(columns.filter(({ grow }) => grow !== undefined).map(({ id }) => id));
    for (const cell of table.current?.querySelectorAll<HTMLElement>('.table-cell[data-column]') ?? []) {
      const id = cell.dataset['column']!; // the selector requires this attribute
      // A hidden cell has no width.
      if (chosen[id] !== undefined || cell.clientWidth === 0) continue;
      const neededWidth = measureNeededWidth(cell, growing.has(id)) + BORDER_WIDTH;
      // Skips a width that was tried before and was too small.
      if (neededWidth > cell.clientWidth + BORDER_WIDTH && neededWidth > (widths[id] ?? 0))
        wider[id] = Math.max(wider[id] ?? 0, neededWidth);
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

/** Returns the width in pixels that a cell needs. Returns 0 if its text may be truncated. */
function measureNeededWidth(cell: HTMLElement, mayGrow: boolean): number {
  if (cell.getAttribute('role') === 'columnheader') {
    const title = cell.querySelector('button');
    return title === null ? 0 : measureTitleWidth(cell, title); // the title of a column of buttons is for screen readers
  }
  if (cell.classList.contains('right')) return cell.scrollWidth;
  return mayGrow ? 0 : Math.min(TEXT_MAX, cell.scrollWidth);
}

/**
 * Returns the width of a title with its sort indicator. The text range is measured, because the box of a right-aligned
 * title does not include what overflows on the left.
 */
function measureTitleWidth(cell: HTMLElement, title: HTMLElement): number {
  const content = document.createRange();
  content.selectNodeContents(title);
  const { paddingLeft, paddingRight } = getComputedStyle(cell);
  return Math.ceil(content.getBoundingClientRect().width + parseFloat(paddingLeft) + parseFloat(paddingRight));
}
