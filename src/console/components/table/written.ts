import type { ComponentChildren } from 'preact';
import type { Column } from './columns.js';

/** Number of rows that are examined to find the unit of a column. */
const SAMPLE_ROWS = 20;

/** Returns true if the numbers of a column are percentages. */
export function isPercentColumn<R>(column: Column<R>, rows: readonly R[]): boolean {
  const row = rows.slice(0, SAMPLE_ROWS).find((one) => column.value(one) !== null);
  return row !== undefined && formatText(column.show?.(row)).trim().endsWith('%');
}

/** Returns the text content of a rendered cell. */
export function formatText(shown: ComponentChildren): string {
  if (typeof shown === 'string' || typeof shown === 'number') return String(shown);
  if (Array.isArray(shown)) return shown.map(formatText).join('');
  if (typeof shown === 'object' && shown !== null && 'props' in shown)
    return formatText((shown.props as { children?: ComponentChildren }).children);
  return '';
}
