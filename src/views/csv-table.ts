import { formatDay } from '#domain/time/days.js';
import { formatCsvText } from './exports/csv.js';
import type { DatedTable } from './table-json.js';

/** Media type of CSV, without and with its encoding. */
export const CSV_TYPE = 'text/csv';
export const CSV_CONTENT_TYPE = `${CSV_TYPE}; charset=utf-8`;

type Cell = string | number | boolean | null;

/**
 * Formats a small table as CSV (RFC 4180), as in exports. A number has the shortest form that parses to the same
 * double, and null is an empty cell. Text that starts like a formula gets an apostrophe in front.
 * @param rows rows with one cell per column
 */
export function formatCsvTable(header: readonly string[], rows: Iterable<readonly Cell[]>): string {
  const lines = [header.map(formatCsvText).join(',')];
  for (const row of rows) lines.push(row.map(formatCell).join(','));
  return `${lines.join('\r\n')}\r\n`;
}

/**
 * Formats a table of numbers by date as CSV. Numbers that are not finite become empty cells.
 * @cost about 100 ns per number
 */
export function writeDatedCsv({ days, columns }: DatedTable): string {
  const header = ['date', ...columns.map(({ name }) => name)];
  return formatCsvTable(
    header,
    Array.from(days, (day, t) => [
      formatDay(day),
      ...columns.map(({ values }) => (Number.isFinite(values[t]) ? values[t]! : null)),
    ]),
  );
}

function formatCell(value: Cell): string {
  if (value === null) return '';
  if (typeof value === 'string') return formatCsvText(value);
  return Object.is(value, -0) ? '0' : String(value);
}
