import { formatDay } from '#domain/time/days.js';
import { csvText } from './exports/csv.js';
import type { DatedTable } from './table-json.js';

/** Media type of CSV, and how its text is encoded. */
export const CSV_TYPE = 'text/csv';
export const CSV_CONTENT_TYPE = `${CSV_TYPE}; charset=utf-8`;

type Cell = string | number | boolean | null;

/**
 * Writes a small table as CSV (RFC 4180), in the form of exports: numbers in the shortest form that parses to the same
 * double, empty cells for null, and an apostrophe before text that begins like a formula.
 * @param rows one cell a column each
 */
export function csvTable(header: readonly string[], rows: Iterable<readonly Cell[]>): string {
  const lines = [header.map(csvText).join(',')];
  for (const row of rows) lines.push(row.map(cellText).join(','));
  return `${lines.join('\r\n')}\r\n`;
}

/** Writes a table of numbers by date as CSV. Numbers that are not finite are empty. @cost about 100 ns a number */
export function writeDatedCsv({ days, columns }: DatedTable): string {
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
