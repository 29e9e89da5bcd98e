import type { SweepRow } from '#clients/typescript/divisor.js';
import type { JsonObject } from '../../words/paths.js';
import { formatPatch } from './values.js';

/** JSON pointers of the two parameters of a map. */
export interface MapAxes {
  readonly across: string;
  readonly down: string;
}

/** Varied parameter that is not an axis of the map. Its values are in the order of the request. */
export interface HiddenParameter {
  readonly pointer: string;
  readonly values: readonly string[];
  /** Value for which the map is shown. If it is null, each cell shows its best variant over all values. */
  readonly fixed: string | null;
}

/**
 * Returns the varied parameters that are not axes of the map.
 * @param fixed selected values as text, by pointer
 */
export function listHiddenParameters(
  rows: readonly SweepRow[],
  pointers: readonly string[],
  { across, down, fixed }: MapAxes & { readonly fixed: JsonObject },
): readonly HiddenParameter[] {
  return pointers
    .filter((pointer) => pointer !== across && pointer !== down)
    .map((pointer) => {
      const values = listValues(rows, pointer);
      return { pointer, values, fixed: values.find((value) => value === fixed[pointer]) ?? null };
    });
}

/** Returns the values of a parameter in the requested order. */
export function listValues(rows: readonly SweepRow[], pointer: string): readonly string[] {
  const inOrder = rows.toSorted((a, b) => a.variant - b.variant);
  return [...new Set(inOrder.filter(({ patch }) => pointer in patch).map(({ patch }) => formatPatch(patch[pointer])))];
}

interface Cell extends MapAxes {
  readonly column: string;
  readonly line: string;
  readonly hidden: readonly HiddenParameter[];
}

/** Returns the best variant of a cell. Returns undefined if none of its variants is ranked. */
export function findShownVariant(
  rows: readonly SweepRow[],
  { across, down, column, line, hidden }: Cell,
): SweepRow | undefined {
  return rows
    .filter(
      ({ patch, rank }) =>
        rank !== null &&
        formatPatch(patch[across]) === column &&
        formatPatch(patch[down]) === line &&
        hidden.every(({ pointer, fixed }) => fixed === null || formatPatch(patch[pointer]) === fixed),
    )
    .toSorted((a, b) => (a.rank ?? 0) - (b.rank ?? 0))[0];
}

/** Match the end of the pointers to the number of selected securities and to the cap. */
const COUNT_POINTER = /\/params\/count$/;
const CAP_POINTER = /\/weighting\/cap$/;

/**
 * Returns the weight of all selected securities if each has its cap. If it is below 1, the cap cannot be kept. Returns
 * null for a variant that does not set both.
 */
export function findCapacity(patch: SweepRow['patch']): number | null {
  const getValueAt = (end: RegExp) => Object.entries(patch).find(([pointer]) => end.test(pointer))?.[1];
  const [count, cap] = [getValueAt(COUNT_POINTER), getValueAt(CAP_POINTER)];
  return typeof count === 'number' && typeof cap === 'number' ? count * cap : null;
}
