import type { ExportColumn } from '#domain/exports/export-table.js';
import type { ExportPosition, WrittenRowGroups } from '#domain/exports/formats.js';
import type { NamedColumn } from './batch.js';

/** Input of the writer of a part of an export. */
export interface PartInput {
  readonly runId: string;
  readonly table: string;
  readonly columns: Readonly<Record<string, ExportColumn>>;
  readonly from: ExportPosition;
  readonly sink: ByteSink;
}

/** Object that receives the bytes of a part. Each piece is valid until the call returns. */
export interface ByteSink {
  append(bytes: Uint8Array): void;
}

/** Writer of one part of an export in a format. */
export interface PartWriter {
  rows(columns: readonly NamedColumn[], count: number): void;
  /** Returns the approximate number of bytes written so far. */
  length(): number;
  /**
   * Writes the remaining bytes. After the last part, also writes the end of the export.
   * @returns the row groups, for formats with row groups
   */
  end(isLast: boolean): WrittenRowGroups | void;
}
