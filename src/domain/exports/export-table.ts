/** Kinds of values in a column: a day, a text, a number, or a whole number of things. */
export type ColumnType = 'date' | 'text' | 'number' | 'count';

export interface ExportColumn<T extends ColumnType = ColumnType> {
  readonly type: T;
  /** What a number counts: `fraction`, `money`, `points`; null for what has no unit. */
  readonly unit: string | null;
  readonly meaning: string;
  /** Reference column of the store that it repeats; a store without it has no such column in its tables. */
  readonly ofStore?: string;
}

/**
 * A table that is exported of a stored run: its columns, in their order. How its rows are made stands in
 * `#views/exports/tables`.
 */
export interface ExportTable {
  readonly help: string;
  /** What a row stands for. */
  readonly row: string;
  /** Present if it reads the served market, where that is the market of the run. */
  readonly readsMarket?: true;
  /** Present if its rows are decided again by the definition of the run, on its market. */
  readonly readsDefinition?: true;
  /** What names are taken together in it, by a reference column that the client may name. */
  readonly isGrouped?: 'groups' | 'issuers';
  readonly columns: Readonly<Record<string, ExportColumn>>;
}

const column =
  <T extends ColumnType>(type: T) =>
  (meaning: string, unit: string | null = null): ExportColumn<T> => ({ type, unit, meaning });

export const date = column('date');
export const text = column('text');
/** A text of the reference data, in tables of stores that have its column. */
export const ofStore = (name: string): ExportColumn<'text'> => ({
  ...text(`${name} of the reference data.`),
  ofStore: name,
});
export const count = column('count');
export const number = column('number');
export const fraction = (meaning: string): ExportColumn<'number'> => number(meaning, 'fraction');
export const money = (meaning: string): ExportColumn<'number'> => number(meaning, 'money');
export const points = (meaning: string): ExportColumn<'number'> => number(meaning, 'points');
