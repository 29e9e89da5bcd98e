import { exportTable, type ExportTableName } from '#domain/exports/catalogue.js';
import type { ExportFormat, ExportPosition } from '#domain/exports/formats.js';
import type { Batch, ExportSource, NamedColumn, Producer, Values } from './batch.js';
import type { ByteSink } from './part.js';
import { PART_WRITERS } from './part-writer.js';
import { PRODUCERS } from './producers.js';

export interface ExportPartInput extends ExportSource {
  readonly table: ExportTableName;
  readonly format: ExportFormat;
  readonly from: ExportPosition;
  readonly sink: ByteSink;
  /** Bytes after which a part ends; those of one that a thread writes in some ten milliseconds unless given. */
  readonly bytes?: number;
  /** Called between batches; stops the part by throwing. */
  readonly tick: () => void;
}

/** Others have their turn between two parts. */
const PART_BYTES = 1 << 20;

/**
 * Rows of a table from a position on, as much as a part takes.
 * @returns where the next part begins; null after the last
 * @throws Refusal as the table's rows do, NUMERIC_FAILURE
 */
export function exportPart(input: ExportPartInput): ExportPosition | null {
  const { table, format, from, sink, bytes = PART_BYTES, tick, ...source } = input;
  const { columns } = exportTable(table);
  const { header } = source.columns;
  const writer = PART_WRITERS[format]({ runId: header.run_id, table, columns, from, sink });
  // The producer found by a table's name makes rows of that table.
  const produce = PRODUCERS[table] as Producer<ExportTableName>;
  let { rows } = from;
  for (const batch of produce(source, from.at)) {
    tick();
    writer.rows(namedColumns(table, batch), batch.count);
    rows += batch.count;
    if (writer.length() < bytes) continue;
    writer.end(false);
    return { at: batch.end, rows };
  }
  writer.end(true);
  return null;
}

function namedColumns(table: ExportTableName, { columns }: Batch<ExportTableName>): NamedColumn[] {
  const values = columns as Readonly<Record<string, Values>>; // A batch has every column of its table.
  return Object.entries(exportTable(table).columns).map(([name, { type }]) => ({ name, type, values: values[name]! }));
}
