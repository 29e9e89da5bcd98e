import { TEXT_BYTES_MAX, type Cell } from '../../formats/cells.js';

/**
 * Returns the SQL of SQLite columns. Texts are cut just above the maximum length, so that `boundCell` detects texts
 * that are too long.
 */
export const shortenColumns = (columns: readonly string[]): string =>
  columns
    .map((column) => {
      const name = `"${column.replaceAll('"', '""')}"`;
      return `CASE WHEN typeof(${name}) IN ('text', 'blob') THEN substr(${name}, 1, ${TEXT_BYTES_MAX + 1}) ELSE ${name} END AS ${name}`;
    })
    .join(', ');

/** Checks and returns a cell of a database. @throws Error if its text is too long */
export function boundCell(cell: Cell, column: string): Cell {
  if (typeof cell === 'string' && cell.length > TEXT_BYTES_MAX)
    throw new Error(`The column ${column.slice(0, 80)} has a text of more than ${TEXT_BYTES_MAX} bytes`);
  return cell;
}
