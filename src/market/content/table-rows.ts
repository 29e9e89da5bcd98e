import type { Day } from '#domain/time/days.js';
import { isAssetIdentifier } from '#domain/schema/shape.js';
import { findInstant, isTimeOfDay, readDay, readText, formatWrittenCell, type Cell } from '../formats/cells.js';
import { describeBadIdentifier } from '../tables/key-problems.js';
import type { Problems } from '../tables/problems.js';
import { restoreName } from '../tables/slashless-names.js';

/** Reader of the rows of a dataset, cell by cell. */
export interface CheckedRows<T> {
  /**
   * Begins a file and returns a function that reads its rows. Returns undefined if the columns do not belong to the
   * dataset. A null row is unreadable and only counted.
   */
  beginFile(
    label: string,
    written: readonly string[],
  ): ((cells: readonly (Cell | undefined)[] | null) => void) | undefined;
  readonly rows: number;
  toTable(): T;
}

/** Function that returns the location of a cell. It is called only if the cell has a problem. */
export type CellLocation = () => string;

/** Column of a file. It is -1 if the column is missing; the check of the header reports this. */
interface Column {
  readonly column: number;
  readonly path: CellLocation;
}

/**
 * Returns a function that reads a cell of a required column. It returns undefined if the cell is rejected or the column
 * is missing.
 */
export function createNeededReader(cells: readonly (Cell | undefined)[], problems: Problems) {
  return <T>(
    { column, path }: Column,
    read: (cell: Cell | undefined, path: CellLocation, problems: Problems) => T | undefined,
  ): T | undefined => (column < 0 ? undefined : read(cells[column], path, problems));
}

/** Returns an asset identifier. If the cell contains none, returns undefined and adds a finding. */
export function readIdentifier(cell: Cell | undefined, path: CellLocation, problems: Problems): string | undefined {
  const text = readText(cell);
  const name = text === null ? null : restoreName(text, problems);
  if (name !== null && isAssetIdentifier(name)) return name;
  problems.error(describeBadIdentifier(path(), text));
  return undefined;
}

/** Returns a day, null for an empty cell. For any other content, returns undefined and adds a finding. */
export function readDate(cell: Cell | undefined, path: CellLocation, problems: Problems): Day | null | undefined {
  const text = formatWrittenCell(cell).slice(0, 80);
  if (isTimeOfDay(findInstant(cell) ?? 0)) {
    problems.error({
      code: 'BAD_DATE',
      path: path(),
      message: `${JSON.stringify(text)} is an instant, and its local day depends on the time zone; it must be a date, YYYY-MM-DD.`,
      value: text,
    });
    return undefined;
  }
  const day = readDay(cell);
  if (day === undefined) {
    problems.error({
      code: 'BAD_DATE',
      path: path(),
      message: `${JSON.stringify(text)} is not a valid date; it must be a date, YYYY-MM-DD.`,
      value: text,
    });
  }
  return day;
}
