import type { TableColumn, TableContent } from './table-content.js';

export interface Table extends TableContent {
  /** Note printed below the table. */
  readonly note: string | null;
  /** Further remarks below the note, one per paragraph. */
  readonly remarks?: readonly string[];
}

export const createTextColumn = (head: string): TableColumn => ({ head, isFigure: false });
export const createFigureColumn = (head: string): TableColumn => ({ head, isFigure: true });

/** Table column with the function that creates its cells. If all cells are empty, the column is left out. */
export interface Field<R> {
  readonly column: TableColumn;
  readonly cell: (row: R) => string;
  readonly isShown?: boolean;
}

export function toTable<R>(fields: readonly Field<R>[], rows: readonly R[], note: string | null): Table {
  const shownFields = fields.filter(({ isShown = true }) => isShown);
  return {
    columns: shownFields.map(({ column }) => column),
    rows: rows.map((row) => ({ cells: shownFields.map(({ cell }) => cell(row)) })),
    note,
  };
}
