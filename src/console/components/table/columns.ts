import type { ComponentChildren } from 'preact';
import { tabSeparated, type CellValue } from '../../words/tabular.js';

export interface Column<R> {
  readonly id: string;
  readonly title: string;
  /** Help for the column, for example its unit. */
  readonly help?: string;
  /** Minimum width in pixels. */
  readonly width: number;
  /** Width in pixels for which columns of low priority are hidden. Default: the minimum. */
  readonly ideal?: number;
  /** Share of the remaining width. Default: a small one. */
  readonly grow?: number;
  /** 1 is always shown; the highest are hidden first in narrow tables. Default: 1. */
  readonly priority?: number;
  readonly align?: 'right';
  /** Returns the sort key of the column. */
  value(row: R): number | string | null;
  /** Returns the content of a cell. Default: the value. */
  show?(row: R): ComponentChildren;
  /** Returns the value in a copy, where the sort key is another. */
  copy?(row: R): CellValue;
  /** Shown in place of the title. */
  readonly head?: ComponentChildren;
  /** Writes the sum over a group of rows, where values add up. */
  total?(sum: number): ComponentChildren;
}

/** A column of numbers: one value, and how it is written. */
interface NumericColumn<R, V extends number | null> extends Omit<Column<R>, 'align' | 'value' | 'show'> {
  of(row: R): V;
  write(value: V | number): ComponentChildren;
  /** True if values of several rows can be added. */
  readonly adds?: boolean;
}

/** Creates a numeric column. Numbers are right-aligned and sorted by value. */
export const numeric = <R, V extends number | null = number | null>({
  of,
  write,
  adds = false,
  ...column
}: NumericColumn<R, V>): Column<R> => ({
  ...column,
  align: 'right',
  value: of,
  show: (row) => write(of(row)),
  ...(adds ? { total: write } : {}),
});

export interface Sort {
  readonly column: string;
  readonly direction: 'asc' | 'desc';
}

export interface Selection {
  readonly keys: readonly string[];
  onChange(keys: readonly string[]): void;
}

export interface TableProps<R> {
  /** Description of the table for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<R>[];
  readonly rows: readonly R[];
  keyOf(row: R): string;
  /** Returns the address to which a row links. */
  addressOf?(row: R): string;
  /** Opens a row that is not a link. */
  onOpen?(row: R): void;
  /** Name of order and search in the address. Default: not stored. */
  readonly name?: string;
  readonly sort?: Sort;
  /** Returns the searched text of a row. Default: no search. */
  searchIn?(row: R): string;
  /** Height in pixels above which the rows scroll. */
  readonly height?: number;
  /** Text shown if the table is empty or the search finds no row. */
  readonly empty?: string;
  /** Key of the row that is open. */
  readonly openKey?: string | null;
  /** Rows that are selected by their checkboxes, by their keys. */
  readonly selection?: Selection;
  /** Controls next to the search. */
  readonly tools?: ComponentChildren;
}

/** Returns columns whose money titles show the currency. */
export const inCurrency = <R>(
  columns: readonly Column<R>[],
  money: readonly string[],
  currency: string,
): readonly Column<R>[] =>
  columns.map((column) =>
    money.includes(column.id) ? { ...column, title: `${column.title} ${currency}`.trim() } : column,
  );

/** Highest priority of a column that is not hidden to give others their ideal width. */
const IMPORTANT = 3;

/** Returns the columns that fit. */
export function selectFitting<R>(columns: readonly Column<R>[], width: number): readonly Column<R>[] {
  let kept = columns;
  for (let priority = 9; priority > 1 && neededFor(kept, priority) > width; priority--)
    kept = kept.filter((column) => (column.priority ?? 1) < priority);
  return kept;
}

const neededFor = <R>(columns: readonly Column<R>[], priority: number): number =>
  priority > IMPORTANT
    ? columns.reduce((sum, column) => sum + Math.max(column.width, column.ideal ?? 0), 0)
    : widthOf(columns);

/** Returns the minimum width of columns, in pixels. */
export const widthOf = <R>(columns: readonly Column<R>[]): number =>
  columns.reduce((sum, column) => sum + column.width, 0);

/** Columns without a title, such as checkboxes, and pinned or resized columns keep their width; the others share the rest. */
export const templateOf = <R>(columns: readonly Column<R>[], isFixed: (column: Column<R>) => boolean): string =>
  columns
    .map((column) =>
      isFixed(column) || column.title === ''
        ? `${column.width}px`
        : `minmax(${column.width}px, ${column.grow ?? GROWTH}fr)`,
    )
    .join(' ');

/** Default share of the remaining width. */
const GROWTH = 0.4;

/** `level:desc` and back; undefined for what is no order. */
export const sortText = ({ column, direction }: Sort): string => `${column}:${direction}`;

export function parseSort(text: string | null): Sort | undefined {
  const match = /^([\w-]+):(asc|desc)$/.exec(text ?? '');
  return match === null ? undefined : { column: match[1]!, direction: match[2] as Sort['direction'] };
}

const texts = new Intl.Collator('en-GB', { numeric: true, sensitivity: 'base' });

/** Order of two values: numbers by size, texts by the alphabet. */
export function compareValues(a: number | string, b: number | string): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : texts.compare(String(a), String(b));
}

/** Rows for a spreadsheet, with a header. Columns without a title are buttons. */
export function copyOf<R>(columns: readonly Column<R>[], rows: readonly R[]): string {
  const titled = columns.filter(({ title }) => title !== '');
  return tabSeparated(
    titled.map(({ title }) => title),
    rows.map((row) => titled.map((column) => (column.copy ?? column.value)(row))),
  );
}
