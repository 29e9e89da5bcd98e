import { formatDay, type Day } from '#domain/time/days.js';
import { compareText } from '#domain/refusals/findings.js';
import type { Panels } from '../panels/panels.js';
import { createRestatements, type RowChanges } from './restatements.js';

/** Differences between two versions of the bars. */
export interface MarketChanges extends RowChanges {
  /** New securities with bars, in code-point order. */
  readonly gained: readonly string[];
}

export interface ComparedColumns {
  /** Columns to compare. Default: all columns of both versions. */
  readonly columns?: readonly string[];
  /** Last day to compare. Default: all days are compared. */
  readonly to?: Day;
  /** Last day of new bars whose values are reported as well. Default: no values of new bars are reported. */
  readonly lateTo?: Day;
}

/**
 * Compares the bars of two versions. A bar without a value in any compared column counts as absent.
 * @cost one pass over the cells of both, except for the leading days that share memory
 */
export function compareBars(
  before: Panels,
  after: Panels,
  { columns: comparedColumns, to = Infinity, lateTo = -Infinity }: ComparedColumns = {},
): MarketChanges {
  const names = (comparedColumns ?? [...new Set([...before.fields.keys(), ...after.fields.keys()])]).toSorted(
    compareText,
  );
  const identifiers = [...new Set([...before.identifiers, ...after.identifiers])].sort(compareText);
  const [old, now] = [createSide(before, identifiers, names), createSide(after, identifiers, names)];
  const restatements = createRestatements();
  const gainedColumns = new Set<string>();
  const counts = { added: 0, changed: 0, removed: 0 };
  const reportCells = (day: Day, i: number, [was, is]: readonly [number, number]): boolean => {
    let isChanged = false;
    for (let f = 0; f < names.length; f++) {
      const [x, y] = [old.valueAt(f, was), now.valueAt(f, is)];
      if (x === y || (x !== x && y !== y)) continue;
      isChanged = true;
      restatements.add(() => ({
        dataset: 'market',
        identifier: identifiers[i]!,
        date: formatDay(day),
        column: names[f]!,
        before: x === x ? x : null,
        after: y === y ? y : null,
      }));
    }
    return isChanged;
  };
  const [oldDays, nowDays] = listUnsharedDays(before, after, names);
  for (const day of [...new Set([...oldDays, ...nowDays])].sort((a, b) => a - b)) {
    if (day > to) break;
    for (let i = 0; i < identifiers.length; i++) {
      const [was, is] = [old.cellOf(day, i), now.cellOf(day, i)];
      const isHeld = now.holdsAny(is);
      if (!old.holdsAny(was)) {
        if (!isHeld) continue;
        counts.added += 1;
        gainedColumns.add(identifiers[i]!);
        if (day <= lateTo) reportCells(day, i, [was, is]);
        continue;
      }
      const isChanged = reportCells(day, i, [was, is]);
      if (!isHeld) counts.removed += 1;
      else if (isChanged) counts.changed += 1;
    }
  }
  return { ...counts, gained: [...gainedColumns].toSorted(compareText), ...restatements.listRestatements() };
}

/**
 * Returns the days of each version after their common beginning. The bars of the common beginning are in the same
 * memory and therefore equal.
 */
function listUnsharedDays(
  before: Panels,
  after: Panels,
  names: readonly string[],
): readonly [readonly Day[], readonly Day[]] {
  const [old, now] = [[...before.dates], [...after.dates]];
  const isShared = names.every((name) => {
    const [was, is] = [before.fields.get(name), after.fields.get(name)];
    return was?.buffer === is?.buffer && was?.byteOffset === is?.byteOffset;
  });
  const hasSameColumns =
    before.identifiers.length === after.identifiers.length &&
    before.identifiers.every((identifier, n) => identifier === after.identifiers[n]);
  if (!isShared || !hasSameColumns) return [old, now];
  const count = old.findIndex((day, t) => day !== now[t]);
  const sharedCount = count < 0 ? old.length : count;
  return [old.slice(sharedCount), now.slice(sharedCount)];
}

/**
 * Returns functions that read one version on the combined axes of both. Cells of missing days and securities are -1.
 */
function createSide(panels: Panels, identifiers: readonly string[], names: readonly string[]) {
  const width = panels.identifiers.length;
  const rowByDay = new Map([...panels.dates].map((day, t) => [day, t]));
  const columnByIdentifier = new Map(panels.identifiers.map((identifier, n) => [identifier, n]));
  const columns = Int32Array.from(identifiers, (identifier) => columnByIdentifier.get(identifier) ?? -1);
  const fields = names.map((name) => panels.fields.get(name));
  return {
    cellOf: (day: Day, i: number): number => {
      const t = rowByDay.get(day);
      return t === undefined || columns[i]! < 0 ? -1 : t * width + columns[i]!;
    },
    valueAt: (f: number, cell: number): number => (cell < 0 ? Number.NaN : (fields[f]?.[cell] ?? Number.NaN)),
    holdsAny: (cell: number): boolean => hasAnyValue(fields, cell),
  };
}

/** Returns true if any field has a value in a cell. Returns false if the cell does not exist. */
export function hasAnyValue(panels: readonly (Float64Array | undefined)[], cell: number): boolean {
  if (cell < 0) return false;
  for (let f = 0; f < panels.length; f++) {
    const value = panels[f]?.[cell];
    if (value !== undefined && value === value) return true;
  }
  return false;
}

/** Returns columns that only the later version has. They must have values up to a day. */
export function findNewColumns(before: Panels, after: Panels, to: Day): string[] {
  const rows = after.dates.reduce((count, day) => (day <= to ? count + 1 : count), 0);
  return [...after.fields]
    .flatMap(([name, panel]) =>
      before.fields.has(name) || !hasValue(panel.subarray(0, rows * after.identifiers.length)) ? [] : [name],
    )
    .toSorted(compareText);
}

function hasValue(panel: Float64Array): boolean {
  for (let cell = 0; cell < panel.length; cell++) if (panel[cell] === panel[cell]) return true;
  return false;
}
