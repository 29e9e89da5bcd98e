import { formatDay } from '#domain/time/days.js';
import { csvText } from './exports/csv.js';
import type { DatedTable } from './table-json.js';

/** Media type of CSV, and how its text is encoded. */
export const CSV_TYPE = 'text/csv';
export const CSV_CONTENT_TYPE = `${CSV_TYPE}; charset=utf-8`;

type Cell = string | number | boolean | null;

/**
 * A small table as CSV by RFC 4180, as exports write theirs: numbers in the shortest form that reads back to the same
 * double, nothing for null, text that begins like a formula with an apostrophe before it.
 * @param rows one cell a column each
 */
export function csvTable(header: readonly string[], rows: Iterable<readonly Cell[]>): string {
  const lines = [header.map(csvText).join(',')];
  for (const row of rows) lines.push(row.map(cellText).join(','));
  return `${lines.join('\r\n')}\r\n`;
}

/** A table of numbers by date as CSV; numbers that are not finite are empty. @cost some 100 ns a number */
export function datedCsv({ days, columns }: DatedTable): string {
  const header = ['date', ...columns.map(({ name }) => name)];
  return csvTable(
    header,
    Array.from(days, (day, t) => [
      formatDay(day),
      ...columns.map(({ values }) => (Number.isFinite(values[t]) ? values[t]! : null)),
    ]),
  );
}

function cellText(value: Cell): string {
  if (value === null) return '';
  if (typeof value === 'string') return csvText(value);
  return Object.is(value, -0) ? '0' : String(value);
}
