import type { Mapping } from '#domain/documents/mapping.js';
import { readText, type Cell } from '../formats/cells.js';
import { getColumnName, isKnownColumn } from '../tables/table-kinds.js';
import { ADJUSTED_CLOSE, findPosition } from './mapped-columns.js';
import { findStatedName, readsStatedActions } from './own-dividends.js';

/** Column of a wide table: one field of one security. */
export interface WideColumn {
  readonly identifier: string;
  readonly field: string;
}

/**
 * Columns of a wide table. Contains the position of the date column and the content of each other column, which is
 * undefined for an ignored column.
 */
export interface WideColumns {
  readonly date: number;
  /** Position of the date column for each column. Present for a table with a date column next to each security. */
  readonly days?: readonly number[];
  readonly columns: readonly (WideColumn | undefined)[];
}

/** Matches headings that pandas writes for an unnamed index. */
const NAMELESS_INDEX = /^(__index_level_0__|Unnamed: 0)?$/;

/** Matches a column with two levels as named by pandas in Parquet files: ('Close', 'AAPL'). */
const TWO_LEVELS = /^\(\s*(['"])(.*)\1\s*,\s*(['"])(.*)\3\s*\)$/;

/**
 * Returns the date column of a wide table. It is the mapped column, otherwise the column named date, otherwise the
 * first column.
 */
function findDateColumn({ columns }: Mapping, written: readonly string[]): number {
  const dateColumn = findPosition(written, columns['date'] ?? 'date');
  return dateColumn >= 0 ? dateColumn : 0;
}

/** Returns the columns of a table with a single field. */
export function createFieldColumns(mapping: Mapping, field: string, written: readonly string[]): WideColumns {
  const date = findDateColumn(mapping, written);
  const name = getField(mapping, field);
  const isDay = markDateColumns(mapping, written);
  return {
    ...createDayColumns(date, isDay),
    columns: written.map((identifier, i) =>
      i === date || isDay[i] || identifier.trim() === '' || mapping.ignore.includes(identifier)
        ? undefined
        : { identifier: identifier.trim(), field: name },
    ),
  };
}

/** Returns true for each column with the name of a date column. */
const markDateColumns = ({ columns }: Mapping, written: readonly string[]): readonly boolean[] =>
  written.map((name) => name.trim().toLowerCase() === (columns['date'] ?? 'date').trim().toLowerCase());

/**
 * Returns the position of the date column for each column. If there are several, it is the nearest date column on its
 * left.
 */
function createDayColumns(date: number, isDay: readonly boolean[]): Pick<WideColumns, 'date' | 'days'> {
  if (isDay.filter(Boolean).length < 2) return { date };
  let last = date;
  return { date, days: isDay.map((is, i) => (is ? (last = i) : last)) };
}

/**
 * Returns the columns of a table whose names are tuples of two levels, as pandas writes them. Returns undefined if no
 * column has such a name.
 */
export function findTupleColumns(mapping: Mapping, written: readonly string[]): WideColumns | undefined {
  const levels = written.map(findLevels);
  const tuples = findFieldLevels(written);
  if (tuples === undefined) return undefined;
  const isFieldFirst = areFields(
    mapping,
    tuples.map(([first]) => first),
    tuples.map(([, second]) => second),
  );
  const namelessColumn = written.findIndex((column, i) => levels[i] === undefined && NAMELESS_INDEX.test(column));
  const dates = levels.findIndex((level) => level !== undefined && /^date(time)?$/i.test(level[0]) && level[1] === '');
  const dateColumn = findPosition(written, mapping.columns['date'] ?? 'date');
  return {
    date: dateColumn >= 0 ? dateColumn : dates >= 0 ? dates : Math.max(namelessColumn, 0),
    columns: levels.map((level) => level && createColumn(mapping, isFieldFirst ? level : [level[1], level[0]])),
  };
}

/** Returns the two levels of a column name. Returns undefined if the name has another form. */
function findLevels(column: string): readonly [string, string] | undefined {
  const match = TWO_LEVELS.exec(column.trim());
  return match === null ? undefined : [match[2]!, match[4]!];
}

/** Returns the levels of all two-level column names; undefined if there are none. */
export function findFieldLevels(written: readonly string[]): readonly (readonly [string, string])[] | undefined {
  const levels = written.map(findLevels).filter((each) => each !== undefined);
  return levels.length === 0 ? undefined : levels;
}

/** Returns the columns of a table with two header rows: fields and identifiers, in either order. */
export function createTwoRowColumns(
  mapping: Mapping,
  first: readonly string[],
  cells: readonly (Cell | undefined)[],
): WideColumns {
  const secondRow = first.map((_, i) => readText(cells[i]) ?? '');
  const firstDateColumn = findPosition(first, mapping.columns['date'] ?? 'date');
  const secondDateColumn = findPosition(secondRow, mapping.columns['date'] ?? 'date');
  const date = Math.max(firstDateColumn >= 0 ? firstDateColumn : secondDateColumn, 0);
  const otherColumns = first.flatMap((_, i) => (i === date ? [] : [i]));
  const isFieldFirst = areFields(
    mapping,
    otherColumns.map((i) => first[i]!),
    otherColumns.map((i) => secondRow[i]!),
  );
  const isDay = markDateColumns(mapping, firstDateColumn >= 0 ? first : secondRow);
  let spannedLabel = '';
  const upperLabels = first.map((text, i) =>
    i === date && !isDay[i] ? text : (spannedLabel = text.trim() || spannedLabel),
  );
  return {
    ...createDayColumns(date, isDay),
    columns: first.map((_, i) =>
      i === date || isDay[i]
        ? undefined
        : createColumn(mapping, isFieldFirst ? [upperLabels[i]!, secondRow[i]!] : [secondRow[i]!, upperLabels[i]!]),
    ),
  };
}

function createColumn(mapping: Mapping, [field, identifier]: readonly [string, string]): WideColumn | undefined {
  if (field.trim() === '' || identifier.trim() === '') return undefined;
  const name = getField(mapping, field);
  const isIgnored = mapping.ignore.includes(field) && name !== findStatedName(field);
  if (isIgnored || mapping.ignore.includes(identifier)) return undefined;
  return { identifier: identifier.trim(), field: name };
}

/** Returns true if the first of two levels contains the fields. The level with more known fields counts. */
function areFields(mapping: Mapping, first: readonly string[], second: readonly string[]): boolean {
  const countFields = (names: readonly string[]) => names.filter((name) => isField(mapping, name)).length;
  const [a, b] = [countFields(first), countFields(second)];
  return a === b ? new Set(first).size <= new Set(second).size : a > b;
}

const isField = (mapping: Mapping, name: string) =>
  getField(mapping, name) !== name.trim() || isKnownColumn('market', name);

/** Returns the field with the name in a table. */
export function getField(mapping: Mapping, written: string): string {
  const { columns, adjusted_close: adjusted } = mapping;
  const isLike = (name: string | null) => name !== null && findPosition([written], name) === 0;
  if (isLike(adjusted)) return ADJUSTED_CLOSE;
  const mappedField = Object.entries(columns).find(([, from]) => isLike(from));
  if (mappedField !== undefined) return getColumnName('market', mappedField[0]);
  return (readsStatedActions(mapping) ? findStatedName(written) : undefined) ?? getColumnName('market', written);
}

/** Matches a label without digits, such as the label of an attribute row between the identifiers and the first day. */
export const LABEL_WITHOUT_DIGITS = /^[\p{L} ._-]+$/u;
