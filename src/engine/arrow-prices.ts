import { DataType, tableFromIPC, type Table, type Vector } from 'apache-arrow';
import type { ContentRows } from '#market/read/content-rows.js';
import { assertTimeZone, type Cell, createZoneReader, Instant, isUtc } from '#market/formats/cells.js';
import type { Problems } from '#market/tables/problems.js';

/**
 * Reads an Arrow stream or file as rows of a market. If the content is not Arrow data, reports a finding and returns
 * false.
 */
export function readArrowPrices(bytes: Uint8Array, rows: ContentRows, problems: Problems): boolean {
  const table = parseTable(bytes, problems);
  if (table === undefined) return false;
  const names = table.schema.fields.map(({ name }) => name);
  const marketTable = rows.beginMarket('market', names);
  if (marketTable === undefined) return true; // the finding about the columns is already recorded
  const { file, market } = marketTable;
  const columns = names.map((_, i) => createCellReader(table.getChildAt(i)!)); // the schema has one field per column
  for (let row = 0; row < table.numRows; row++)
    market.addCells(
      file,
      columns.map((cellAt) => cellAt(row)),
    );
  return true;
}

function parseTable(bytes: Uint8Array, problems: Problems): Table | undefined {
  try {
    return tableFromIPC(bytes);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    problems.error({
      code: 'UNREADABLE_FILE',
      path: 'prices',
      message: `The bytes are not an Arrow stream or file: ${why}`,
    });
    return undefined;
  }
}

/** Number of milliseconds per day. */
const DAY_MS = 86_400_000;

/**
 * Returns a function that reads the cells of a column. A date of any unit becomes the day in its time zone; an instant in
 * UTC stays one.
 */
function createCellReader(column: Vector): (row: number) => Cell {
  const values = column.memoize();
  if (!DataType.isDate(column.type) && !DataType.isTimestamp(column.type)) return (row) => values.get(row) as Cell; // other columns contain texts and numbers; the rows report any other value
  const zone = DataType.isTimestamp(column.type) ? (column.type.timezone ?? '') : '';
  if (zone !== '') assertTimeZone(zone, 'date');
  const readDay = createZoneReader(zone || 'UTC');
  return (row) => {
    const timestamp: unknown = values.get(row);
    if (timestamp === null) return null;
    return zone !== '' && isUtc(zone) ? new Instant(Number(timestamp)) : new Date(readDay(Number(timestamp)) * DAY_MS);
  };
}
