import type { RunColumns } from '#domain/backtest/run-file/columns.js';
import type { MarketData } from '#domain/market/market-data.js';
import type {
  ColumnType,
  ExportColumn,
  ExportPosition,
  EXPORTS,
  ExportTableName,
  WrittenRowGroups,
} from '#domain/outputs/exports.js';
import type { FigureCache } from '../dated-figures.js';
import type { AnnouncedFile } from '../index-files.js';
import type { RequestedDates } from '../run-columns.js';

/** Texts as positions in a list. All batches of a table share the list. A missing text is -1. */
export interface TextValues {
  readonly codes: Int32Array;
  readonly texts: readonly string[];
}

/** Value that marks a missing day or count. A missing number is NaN. */
export const MISSING_INTEGER = -0x8000_0000;

interface ValuesOf {
  readonly date: Int32Array;
  readonly count: Int32Array;
  readonly number: Float64Array;
  readonly text: TextValues;
}

export type ColumnValues<T extends ColumnType = ColumnType> = ValuesOf[T];

type TypeOf<C> = C extends ExportColumn<infer T> ? T : never;

/** Rows of a table, as one array per column. They are valid until the next batch is requested. */
export interface Batch<T extends ExportTableName> {
  readonly count: number;
  readonly columns: {
    readonly [C in keyof (typeof EXPORTS)[T]['columns']]: ColumnValues<TypeOf<(typeof EXPORTS)[T]['columns'][C]>>;
  };
  /** Position of the first row after the batch. */
  readonly end: number;
}

export interface NamedColumn {
  readonly name: string;
  readonly type: ColumnType;
  readonly values: ColumnValues;
}

export interface ExportSource {
  readonly columns: RunColumns;
  readonly window: RequestedDates;
  /** Served market if the run was computed on it and the table needs it; otherwise null. */
  readonly market: MarketData | null;
  /** Announced composition of the index on the session. Only for a table of pro forma holdings. */
  readonly announced?: AnnouncedFile | undefined;
  /** Reference column by which the table groups securities, or IDENTIFIER. Default: the default column of the table. */
  readonly by?: string | undefined;
  /**
   * Returns a cache for figures of the run; absent if there is no memory. Figures that depend on the market have their
   * own cache.
   */
  readonly keep?: ((market: MarketData | null) => FigureCache) | undefined;
}

/**
 * Function that yields the rows of a table from a position. Positions start at 0; each table defines what a position
 * counts.
 */
export type Producer<T extends ExportTableName> = (source: ExportSource, from: number) => Iterable<Batch<T>>;

/** Approximate number of rows of a batch. The text of a batch then fits into a second-level processor cache. */
export const BATCH_ROWS = 8192;

export function* yieldBatches<T extends ExportTableName>(
  { count, columns }: Omit<Batch<T>, 'end'>,
  from: number,
): Iterable<Batch<T>> {
  for (let offset = from; offset < count; offset += BATCH_ROWS) {
    const end = Math.min(count, offset + BATCH_ROWS);
    const parts = Object.entries(columns as Readonly<Record<string, ColumnValues>>).map(([name, values]) => [
      name,
      slicePart(values, offset, end),
    ]);
    yield { count: end - offset, columns: Object.fromEntries(parts) as Batch<T>['columns'], end }; // the object has all members of the type
  }
}

function slicePart(values: ColumnValues, from: number, to: number): ColumnValues {
  return 'codes' in values
    ? { codes: values.codes.subarray(from, to), texts: values.texts }
    : values.subarray(from, to);
}

/** Converts the texts of rows to positions in a list without duplicates. */
export function toTextValues(texts: readonly (string | null)[]): TextValues {
  const codeByText = new Map<string, number>();
  const codes = Int32Array.from(texts, (text) => {
    if (text === null) return -1;
    const code = codeByText.get(text) ?? codeByText.size;
    codeByText.set(text, code);
    return code;
  });
  return { codes, texts: [...codeByText.keys()] };
}

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
