import { exportTable, type ExportTableName } from '#domain/exports/catalogue.js';
import type { Batch, ExportSource, NamedColumn, Producer, Values } from './batch.js';
import { PRODUCERS } from './producers.js';

/** Rows of any table, with the name and type of each column. */
export interface TableRows {
  readonly columns: readonly NamedColumn[];
  readonly count: number;
  /** Position of the rows behind these. */
  readonly end: number;
}

/**
 * The rows of a table from a position on; valid until the next are asked for.
 * @throws Refusal as the table's rows do
 */
export function* tableRows(table: ExportTableName, source: ExportSource, from: number): Iterable<TableRows> {
  // The producer found by a table's name makes rows of that table.
  const produce = PRODUCERS[table] as Producer<ExportTableName>;
  for (const batch of produce(source, from))
    yield { columns: namedColumns(table, batch), count: batch.count, end: batch.end };
}

function namedColumns(table: ExportTableName, { columns }: Batch<ExportTableName>): NamedColumn[] {
  const values = columns as Readonly<Record<string, Values>>; // A batch has every column of its table.
  return Object.entries(exportTable(table).columns).map(([name, { type }]) => ({ name, type, values: values[name]! }));
}
