import type { ExportColumn } from '#domain/exports/export-table.js';
import type { ExportPosition, WrittenGroups } from '#domain/exports/formats.js';
import type { NamedColumn } from './batch.js';

/** Input of a writer of an export's part. */
export interface PartInput {
  readonly runId: string;
  readonly table: string;
  readonly columns: Readonly<Record<string, ExportColumn>>;
  readonly from: ExportPosition;
  readonly sink: ByteSink;
}

/** Sink of the bytes of a part; each piece is valid until the call returns. */
export interface ByteSink {
  append(piece: Uint8Array): void;
}

/** Writes one part of an export in a format. */
export interface PartWriter {
  rows(columns: readonly NamedColumn[], count: number): void;
  /** Returns the approximate number of bytes written so far. */
  length(): number;
  /**
   * Writes the rest, and the end of the export after its last part. @returns the row groups, for formats that have them
   */
  end(isLast: boolean): WrittenGroups | void;
}
