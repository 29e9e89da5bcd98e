import type { ExportColumn, ColumnType } from '#domain/exports/export-table.js';
import type { EXPORTS, ExportTableName } from '#domain/exports/catalogue.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { KeepFigures } from '../exposures/dated-figures.js';
import type { AnnouncedFile } from './announced-file.js';
import type { AskedWindow } from '../run-window.js';

/** Texts as positions in a list, which is the same in every batch of a table; -1 for a missing text. */
export interface TextValues {
  readonly codes: Int32Array;
  readonly texts: readonly string[];
}

/** Marks a missing day or count. NaN marks a missing number. */
export const NONE = -0x8000_0000;

interface ValuesOf {
  readonly date: Int32Array;
  readonly count: Int32Array;
  readonly number: Float64Array;
  readonly text: TextValues;
}

export type ColumnValues<T extends ColumnType = ColumnType> = ValuesOf[T];

type TypeOf<C> = C extends ExportColumn<infer T> ? T : never;

/** Rows of a table by column, valid until the next batch is requested. */
export interface Batch<T extends ExportTableName> {
  readonly count: number;
  readonly columns: {
    readonly [C in keyof (typeof EXPORTS)[T]['columns']]: ColumnValues<TypeOf<(typeof EXPORTS)[T]['columns'][C]>>;
  };
  /** Position of the rows behind these. */
  readonly end: number;
}

/** Columns of a table with the values of a batch. */
export interface NamedColumn {
  readonly name: string;
  readonly type: ColumnType;
  readonly values: ColumnValues;
}

export interface ExportSource {
  readonly columns: RunColumns;
  readonly window: AskedWindow;
  /** Served market, if it is that of the run and the table reads it. */
  readonly market: MarketData | null;
  /** Announced composition of the index on the session, of a table that is decided again. */
  readonly announced?: AnnouncedFile | undefined;
  /** Reference column of a table of groups, or IDENTIFIER. Default: the table's own column. */
  readonly by?: string | undefined;
  /** Caches figures of the run if there is memory, with or without data of the market. */
  readonly keep?: ((market: MarketData | null) => KeepFigures) | undefined;
}

/** Yields the rows of a table from a position, 0 at first. Positions are defined by the table. */
export type Producer<T extends ExportTableName> = (source: ExportSource, from: number) => Iterable<Batch<T>>;

/** Rows of a batch, about: text of them fits into a processor's second cache. */
export const BATCH_ROWS = 8192;

/** Yields the rows of a complete table in batches. */
export function* yieldBatches<T extends ExportTableName>(
  { count, columns }: Omit<Batch<T>, 'end'>,
  from: number,
): Iterable<Batch<T>> {
  for (let at = from; at < count; at += BATCH_ROWS) {
    const end = Math.min(count, at + BATCH_ROWS);
    const parts = Object.entries(columns as Readonly<Record<string, ColumnValues>>).map(([name, values]) => [
      name,
      partOf(values, at, end),
    ]);
    yield { count: end - at, columns: Object.fromEntries(parts) as Batch<T>['columns'], end }; // All members of the batch type.
  }
}

function partOf(values: ColumnValues, from: number, to: number): ColumnValues {
  return 'codes' in values
    ? { codes: values.codes.subarray(from, to), texts: values.texts }
    : values.subarray(from, to);
}

/** Texts of rows, each once in the list. */
export function textValues(texts: readonly (string | null)[]): TextValues {
  const codeOf = new Map<string, number>();
  const codes = Int32Array.from(texts, (text) => {
    if (text === null) return -1;
    const code = codeOf.get(text) ?? codeOf.size;
    codeOf.set(text, code);
    return code;
  });
  return { codes, texts: [...codeOf.keys()] };
}
