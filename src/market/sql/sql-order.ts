import type { ColumnType } from '#domain/exports/export-table.js';
import type { RowFormat } from '#domain/exports/formats.js';
import type { ListCell, ListViewName, MarketViewName, RunViewName, SqlViewName } from '#domain/sql/views.js';

/** Query with its limits and output. */
export interface SqlOrder {
  readonly query: string;
  readonly format: RowFormat;
  /** Ids of indices with a run that the client may read. */
  readonly runs: readonly string[];
  /** Columns of each view, by name. */
  readonly columns: Readonly<Record<SqlViewName, Readonly<Record<string, SqlColumnType>>>>;
  /** File to which the result is written. */
  readonly resultFile: string;
  /** Module that exports `createResultWriter`, which encodes rows. */
  readonly encoder: string;
  readonly limits: SqlLimits;
}

export type SqlColumnType = ColumnType | 'flag';

export interface SqlLimits {
  /** Maximum number of runs whose tables a query may read. */
  readonly runs: number;
  readonly rows: number;
  readonly bytes: number;
}

/** Tables that a query reads. Conditions of the query on `index_id` limit them. */
export interface SqlNeeds {
  readonly runs: readonly { readonly view: RunViewName; readonly indexId: string }[];
  /** Views with the columns in the query. Null selects all columns. */
  readonly market: readonly { readonly view: MarketViewName; readonly columns: readonly string[] | null }[];
  readonly lists: readonly ListViewName[];
}

/** Inputs of a query: Parquet files, in the order in which they were requested, and rows of lists. */
export interface SqlInputs {
  readonly runs: readonly string[];
  readonly market: readonly { readonly file: string; readonly columns: readonly string[] }[];
  readonly lists: readonly (readonly (readonly ListCell[])[])[];
}

export interface SqlOutcome {
  readonly rows: number;
  /** True if rows beyond the limit were dropped. */
  readonly isTruncated: boolean;
}

/** Values of a column. They are days or counts, numbers, or positions in a list of texts. */
export type ResultValues =
  | Int32Array
  | Float64Array
  | { readonly codes: Int32Array; readonly texts: readonly string[] };

export interface ResultColumn {
  readonly name: string;
  readonly type: ColumnType;
  readonly values: ResultValues;
}

/** Writer of result rows in a format. */
export interface ResultWriter {
  rows(columns: readonly ResultColumn[], count: number): void;
  end(isTruncated: boolean): void;
}

export type CreateResultWriter = (
  format: RowFormat,
  columns: Readonly<Record<string, ColumnType>>,
  append: (bytes: Uint8Array) => void,
) => ResultWriter;
