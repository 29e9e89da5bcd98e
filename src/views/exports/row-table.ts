import { parseValidDay } from '#domain/time/days.js';
import type { ColumnType, ExportColumn } from '#domain/exports/export-table.js';
import type { ExportFormat } from '#domain/exports/formats.js';
import { MISSING_INTEGER, toTextValues, type NamedColumn, type ColumnValues } from './batch.js';
import { createTableFile } from './table-file.js';

/** Cells of a row by column. A missing cell is null. */
export type TableCells = Readonly<Record<string, string | number | null>>;

interface RowTable {
  /** Id of the index or run of the table. */
  readonly runId: string;
  readonly name: string;
  readonly columns: Readonly<Record<string, ExportColumn>>;
  readonly rows: readonly TableCells[];
}

/** Returns the rows of a response as a complete file. */
export function createRowTableFile(
  { runId, name, columns, rows }: RowTable,
  format: Exclude<ExportFormat, 'json'>,
): Promise<Uint8Array> {
  const namedColumns = Object.entries(columns).map(([column, { type }]): NamedColumn => ({
    name: column,
    type,
    values: VALUES[type](rows.map((row) => row[column] ?? null)),
  }));
  return createTableFile({ runId, name, columns, rows: { columns: namedColumns, count: rows.length } }, format);
}

type Cells = readonly (string | number | null)[];

const VALUES: Readonly<Record<ColumnType, (cells: Cells) => ColumnValues>> = {
  date: (cells) => Int32Array.from(cells, (cell) => (cell === null ? MISSING_INTEGER : parseValidDay(String(cell)))),
  count: (cells) => Int32Array.from(cells, (cell) => (cell === null ? MISSING_INTEGER : Number(cell))),
  number: (cells) => Float64Array.from(cells, (cell) => (cell === null ? Number.NaN : Number(cell))),
  text: (cells) => toTextValues(cells.map((cell) => (cell === null ? null : String(cell)))),
};
