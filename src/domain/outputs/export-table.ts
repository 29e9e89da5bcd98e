/** Kinds of values in a column: a day, a text, a number, or an integer count. */
export type ColumnType = 'date' | 'text' | 'number' | 'count';

export interface ExportColumn<T extends ColumnType = ColumnType> {
  readonly type: T;
  /** Unit of the numbers: `fraction`, `money`, `points`; null without a unit. */
  readonly unit: string | null;
  readonly meaning: string;
  /** Reference column of the store that this column repeats. If the store lacks it, tables omit this column. */
  readonly ofStore?: string;
}

/**
 * Table that can be exported from a stored run, with its columns in order. `#views/exports/tables` produces its rows.
 */
export interface ExportTable {
  readonly help: string;
  readonly row: string;
  /** Present if the table reads the current market. The current market must then be the market of the run. */
  readonly readsMarket?: true;
  /** Present if the rows require that the decisions of the run are repeated on its market. */
  readonly readsDefinition?: true;
  /** Present if the rows belong to one session, which `date` selects. */
  readonly isOfSession?: true;
  /** Kind of groups into which a reference column divides the securities. The client may choose the column. */
  readonly isGrouped?: 'groups' | 'issuers';
  readonly columns: Readonly<Record<string, ExportColumn>>;
}

const createColumn =
  <T extends ColumnType>(type: T) =>
  (meaning: string, unit: string | null = null): ExportColumn<T> => ({ type, unit, meaning });

export const createDateColumn = createColumn('date');
export const createTextColumn = createColumn('text');
/** Returns a column that repeats a text of the reference data, for stores that have it. */
export const createStoreColumn = (name: string): ExportColumn<'text'> => ({
  ...createTextColumn(`${name} of the reference data.`),
  ofStore: name,
});
export const countColumn = createColumn('count');
export const createNumberColumn = createColumn('number');
export const createFractionColumn = (meaning: string): ExportColumn<'number'> =>
  createNumberColumn(meaning, 'fraction');
export const createMoneyColumn = (meaning: string): ExportColumn<'number'> => createNumberColumn(meaning, 'money');
export const createPointsColumn = (meaning: string): ExportColumn<'number'> => createNumberColumn(meaning, 'points');

/** Formats of an export, the default one first. */
export const EXPORT_FORMATS = {
  json: { media: 'application/json', extension: 'json', help: 'rows as arrays, and a list of the column names' },
  csv: {
    media: 'text/csv',
    extension: 'csv',
    help: 'UTF-8 as defined in RFC 4180; numbers have the smallest number of digits from which the same double can be read',
  },
  arrow: {
    media: 'application/vnd.apache.arrow.stream',
    extension: 'arrow',
    help: 'an Arrow IPC stream; the metadata of the fields contains units and meanings',
  },
  parquet: {
    media: 'application/vnd.apache.parquet',
    extension: 'parquet',
    help: 'an uncompressed Parquet file; dates and texts are dictionary-encoded, and the metadata contains units and meanings',
  },
  xlsx: {
    media: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    extension: 'xlsx',
    help: 'an Excel workbook with typed cells and a frozen header row; rows beyond 1,048,576 are in further sheets',
  },
} as const satisfies Readonly<
  Record<string, { readonly media: string; readonly extension: string; readonly help: string }>
>;

export type ExportFormat = keyof typeof EXPORT_FORMATS;
export const FORMAT_NAMES = Object.keys(EXPORT_FORMATS) as [ExportFormat, ...ExportFormat[]]; // Object.keys returns plain strings.

/** Position at which the next part of an export starts. */
export interface ExportPosition {
  /** Position in the source of the table. For a workbook, this is a position in the bytes of the output. */
  readonly at: number;
  /** Number of rows before the position; not counted for a workbook. */
  readonly rows: number;
  /** Row groups before the position, for Parquet. */
  readonly groups?: WrittenRowGroups;
}

/** Row groups of a Parquet file that have been written; its footer lists them. */
export interface WrittenRowGroups {
  readonly fileBytes: number;
  readonly count: number;
  /** Encoded footer entries of the row groups. */
  readonly bytes: Uint8Array;
}

/** Formats whose parts can be produced independently. A workbook is a single continuous stream. */
export type RowFormat = Exclude<ExportFormat, 'xlsx'>;
