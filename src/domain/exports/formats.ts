/** The formats of an export, the default one first. */
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
} as const satisfies Readonly<
  Record<string, { readonly media: string; readonly extension: string; readonly help: string }>
>;

export type ExportFormat = keyof typeof EXPORT_FORMATS;
export const FORMAT_NAMES = Object.keys(EXPORT_FORMATS) as [ExportFormat, ...ExportFormat[]]; // Object.keys knows texts alone.

/** Where the next part of an export begins. */
export interface ExportPosition {
  /** Position in what the table is made from. */
  readonly at: number;
  /** Rows before it. */
  readonly rows: number;
}
