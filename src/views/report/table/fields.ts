import type { TableColumn, TableContent } from './table-content.js';

export interface Table extends TableContent {
  /** Printed below. */
  readonly note: string | null;
  /** Printed below the note, each by itself. */
  readonly remarks?: readonly string[];
}

export const text = (head: string): TableColumn => ({ head, isFigure: false });
export const figure = (head: string): TableColumn => ({ head, isFigure: true });

/** Column with the text of each row; dropped if all texts are empty. */
export interface Field<R> {
  readonly column: TableColumn;
  readonly cell: (row: R) => string;
  readonly isShown?: boolean;
}

export function toTable<R>(fields: readonly Field<R>[], rows: readonly R[], note: string | null): Table {
  const shown = fields.filter(({ isShown = true }) => isShown);
  return {
    columns: shown.map(({ column }) => column),
    rows: rows.map((row) => ({ cells: shown.map(({ cell }) => cell(row)) })),
    note,
  };
}
