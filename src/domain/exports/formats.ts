/** Formats of an export, the default one first. */
export const EXPORT_FORMATS = {
  json: { media: 'application/json', extension: 'json', help: 'rows as arrays, below the names of the columns' },
  csv: {
    media: 'text/csv',
    extension: 'csv',
    help: 'UTF-8, RFC 4180, numbers in the shortest form that reads back to the same double',
  },
  arrow: {
    media: 'application/vnd.apache.arrow.stream',
    extension: 'arrow',
    help: 'an Arrow IPC stream, units and meanings with its fields',
  },
  parquet: {
    media: 'application/vnd.apache.parquet',
    extension: 'parquet',
    help: 'a Parquet file, uncompressed, dates and texts dictionary-coded, units and meanings in its metadata',
  },
  xlsx: {
    media: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    extension: 'xlsx',
    help: 'an Excel workbook with typed cells below a frozen header; rows beyond 1,048,576 continue in another sheet',
  },
} as const satisfies Readonly<
  Record<string, { readonly media: string; readonly extension: string; readonly help: string }>
>;

export type ExportFormat = keyof typeof EXPORT_FORMATS;
export const FORMAT_NAMES = Object.keys(EXPORT_FORMATS) as [ExportFormat, ...ExportFormat[]]; // Object.keys returns plain strings.

/** Position at which the next part of an export starts. */
export interface ExportPosition {
  /** Position in the source of the table; for a workbook, in bytes of the output. */
  readonly at: number;
  /** Number of rows before the position; not counted for a workbook. */
  readonly rows: number;
  /** Row groups before the position, for Parquet. */
  readonly groups?: WrittenRowGroups;
}

/** Row groups of a Parquet file that have been written; its footer lists them. */
export interface WrittenRowGroups {
  /** Current size of the file in bytes. */
  readonly fileBytes: number;
  readonly count: number;
  /** Encoded footer entries of the row groups. */
  readonly bytes: Uint8Array;
}

/** Formats whose parts can be produced independently. A workbook is a single continuous stream. */
export type RowFormat = Exclude<ExportFormat, 'xlsx'>;
