import type { ExportColumn } from '#domain/exports/export-table.js';
import type { ExportFormat } from '#domain/exports/formats.js';
import type { NamedColumn } from './batch.js';
import { PART_WRITERS } from './part-writer.js';
import { createWorkbook } from './workbook.js';

/** A table that is written as a whole. */
export interface WholeTable {
  /** Id of the index or run of the table. */
  readonly runId: string;
  readonly name: string;
  readonly columns: Readonly<Record<string, ExportColumn>>;
  readonly rows: { readonly columns: readonly NamedColumn[]; readonly count: number };
}

/** Writes a table as a file with the same bytes as an export. */
export async function createTableFile(
  { runId, name, columns, rows }: WholeTable,
  format: Exclude<ExportFormat, 'json'>,
): Promise<Uint8Array> {
  if (format === 'xlsx') {
    const stream = createWorkbook({ name, columns, batches: [rows] });
    return new Uint8Array(await new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer());
  }
  const chunks: Uint8Array[] = [];
  const writer = PART_WRITERS[format]({
    runId,
    table: name,
    columns,
    from: { at: 0, rows: 0 },
    sink: { append: (chunk) => void chunks.push(chunk.slice()) },
  });
  writer.rows(rows.columns, rows.count);
  writer.end(true);
  return Buffer.concat(chunks);
}
