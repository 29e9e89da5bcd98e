import type { ExportTableName } from '#domain/exports/catalogue.js';
import type { ExportPosition, RowFormat } from '#domain/exports/formats.js';
import type { ExportSource } from './batch.js';
import type { ByteSink } from './part.js';
import { PART_WRITERS } from './part-writer.js';
import { tableColumns, tableRows } from './table-rows.js';

export interface ExportPartInput extends ExportSource {
  readonly table: ExportTableName;
  readonly format: RowFormat;
  readonly from: ExportPosition;
  readonly sink: ByteSink;
  /** Bytes after which a part ends. Default: the size that a thread writes in some ten milliseconds. */
  readonly bytes?: number;
  /** Called between batches; stops the part by throwing. */
  readonly tick: () => void;
}

/** Others have their turn between two parts. */
const PART_BYTES = 1 << 20;

/**
 * Target size of a part. In Parquet, rows of a part are a row group, which has a cost for readers. With the batch that
 * exceeds it, a part fits the buffer.
 */
const GROUP_BYTES = 3 << 19;

/**
 * Writes rows of a table from a position, as many as fit in a part.
 * @returns the position of the next part; null after the last
 * @throws Refusal as the table's rows do, NUMERIC_FAILURE
 */
export function exportPart(input: ExportPartInput): ExportPosition | null {
  const { table, format, from, sink, bytes = format === 'parquet' ? GROUP_BYTES : PART_BYTES, tick, ...source } = input;
  const columns = tableColumns(table, source);
  const { header } = source.columns;
  const writer = PART_WRITERS[format]({ runId: header.run_id, table, columns, from, sink });
  let { rows } = from;
  for (const { columns: named, count, end } of tableRows(table, source, from.at)) {
    tick();
    writer.rows(named, count);
    rows += count;
    if (writer.length() < bytes) continue;
    const groups = writer.end(false);
    return { at: end, rows, ...(groups && { groups }) };
  }
  writer.end(true);
  return null;
}
