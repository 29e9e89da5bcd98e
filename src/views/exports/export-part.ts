import type { ExportTableName } from '#domain/exports/catalogue.js';
import type { ExportPosition, RowFormat } from '#domain/exports/formats.js';
import type { ExportSource } from './batch.js';
import type { ByteSink } from './part.js';
import { PART_WRITERS } from './part-writer.js';
import { listTableColumns, readTableRows } from './table-rows.js';

export interface ExportPartInput extends ExportSource {
  readonly table: ExportTableName;
  readonly format: RowFormat;
  readonly from: ExportPosition;
  readonly sink: ByteSink;
  /** Number of bytes after which a part ends. Default: what a thread writes in a few tens of milliseconds. */
  readonly bytes?: number;
  /** Called between batches; throws to stop the part. */
  readonly tick: () => void;
}

/** Target size of a part in bytes. Other work of the thread runs between two parts. */
const PART_BYTES = 1 << 20;

/**
 * Target size of a Parquet part in bytes. A part is a row group, and many row groups make reading slow. The last batch
 * of a part may exceed the target; the part still fits into the buffer.
 */
const GROUP_BYTES = 3 << 19;

/**
 * Writes the rows of a table from a position until the part is full.
 * @returns the position of the next part; null after the last part
 * @throws Refusal as for the rows of the table, NUMERIC_FAILURE
 */
export function exportPart(input: ExportPartInput): ExportPosition | null {
  const { table, format, from, sink, bytes = format === 'parquet' ? GROUP_BYTES : PART_BYTES, tick, ...source } = input;
  const columns = listTableColumns(table, source);
  const { header } = source.columns;
  const writer = PART_WRITERS[format]({ runId: header.run_id, table, columns, from, sink });
  let { rows } = from;
  for (const { columns: namedColumns, count, end } of readTableRows(table, source, from.at)) {
    tick();
    writer.rows(namedColumns, count);
    rows += count;
    if (writer.length() < bytes) continue;
    const groups = writer.end(false);
    return { at: end, rows, ...(groups && { groups }) };
  }
  writer.end(true);
  return null;
}
