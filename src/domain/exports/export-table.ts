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
  /** Description of a row. */
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
