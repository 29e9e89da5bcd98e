/** Kinds of values in a column: a day, a text, a number, or an integer count. */
export type ColumnType = 'date' | 'text' | 'number' | 'count';

export interface ExportColumn<T extends ColumnType = ColumnType> {
  readonly type: T;
  /** Unit of the numbers: `fraction`, `money`, `points`; null if there is none. */
  readonly unit: string | null;
  readonly meaning: string;
  /** Reference column of the store that it repeats; absent from tables of a store without it. */
  readonly ofStore?: string;
}

/** Table that can be exported from a stored run: its columns, in order. `#views/exports/tables` produces its rows. */
export interface ExportTable {
  readonly help: string;
  /** Meaning of a row. */
  readonly row: string;
  /** Present if it reads the current market, provided that it is the market of the run. */
  readonly readsMarket?: true;
  /** Present if its rows are decided again by the definition of the run, on its market. */
  readonly readsDefinition?: true;
  /** Present if its rows belong to one session, which `date` selects. */
  readonly isOfSession?: true;
  /** Kind of grouping of securities, by a reference column that the client may choose. */
  readonly isGrouped?: 'groups' | 'issuers';
  readonly columns: Readonly<Record<string, ExportColumn>>;
}

const column =
  <T extends ColumnType>(type: T) =>
  (meaning: string, unit: string | null = null): ExportColumn<T> => ({ type, unit, meaning });

export const date = column('date');
export const text = column('text');
/** Text of the reference data, in tables of stores that have its column. */
export const ofStore = (name: string): ExportColumn<'text'> => ({
  ...text(`${name} of the reference data.`),
  ofStore: name,
});
export const count = column('count');
export const number = column('number');
export const fraction = (meaning: string): ExportColumn<'number'> => number(meaning, 'fraction');
export const money = (meaning: string): ExportColumn<'number'> => number(meaning, 'money');
export const points = (meaning: string): ExportColumn<'number'> => number(meaning, 'points');
