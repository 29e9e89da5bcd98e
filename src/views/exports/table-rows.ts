import { listExportColumns, type ExportTableName } from '#domain/exports/catalogue.js';
import type { ExportColumn } from '#domain/exports/export-table.js';
import type { Batch, ExportSource, NamedColumn, Producer, ColumnValues } from './batch.js';
import { PRODUCERS } from './producers.js';

/** Returns the columns of a table of a run. */
export function listTableColumns(
  table: ExportTableName,
  { market }: Pick<ExportSource, 'market'>,
): Readonly<Record<string, ExportColumn>> {
  return listExportColumns(table, market?.reference.columns ?? []);
}

/** Rows of a table, with the name and type of each column. */
export interface TableRows {
  readonly columns: readonly NamedColumn[];
  readonly count: number;
  /** Position of the first row after these rows. */
  readonly end: number;
}

/**
 * Yields the rows of a table from a position. Rows are valid until the next rows are requested.
 * @throws Refusal as for the rows of the table
 */
export function* readTableRows(table: ExportTableName, source: ExportSource, from: number): Iterable<TableRows> {
  // The name of the table determines its producer.
  const produce = PRODUCERS[table] as Producer<ExportTableName>;
  const columns = Object.entries(listTableColumns(table, source));
  for (const batch of produce(source, from))
    yield { columns: listNamedColumns(columns, batch), count: batch.count, end: batch.end };
}

function listNamedColumns(
  columns: readonly (readonly [string, ExportColumn])[],
  batch: Batch<ExportTableName>,
): NamedColumn[] {
  const values = batch.columns as Readonly<Record<string, ColumnValues>>; // a batch has every column of its table
  return columns.map(([name, { type }]) => ({ name, type, values: values[name]! }));
}
