import { formatDay, type Day } from '#domain/time/days.js';
import type { Panels } from '../panels/panels.js';
import type { Restatement, RowCounts } from './restatements.js';

/** Differences between two versions of the bars of one security. */
export interface ChangedBars {
  added: number;
  changed: number;
  removed: number;
  /** Day of the first difference. */
  readonly from: Day;
  /** First differences, at most three. */
  readonly first: Restatement[];
}

/** Late bars of one security. */
export interface LateBars {
  count: number;
  /** Day of the first late bar. */
  readonly from: Day;
}

/** Stored bars that differ in a source, by security. */
export interface ChangedHistories {
  /** Securities whose stored bars differ, and new securities that have bars on stored days. */
  readonly changed: ReadonlyMap<string, ChangedBars>;
  /** Changed securities that already have stored bars. */
  readonly storedIdentifiers: ReadonlySet<string>;
  /** Bars without a stored close that arrived late. */
  readonly late: ReadonlyMap<string, LateBars>;
}

/** Maximum number of differences listed for one security. */
export const DIFFERENCES_MAX = 3;

/** Number of stored dates, counted from the last one, on which a missing close may arrive late. */
const LATE_DATES = 5;

/**
 * Returns the day of the last stored close of each security. A row with other values is no bar yet: its close may be
 * late. @cost one pass backwards from the last day, which ends at the last close of each security
 */
export function findLastDays({ identifiers, dates, fields }: Panels): Int32Array {
  const close = fields.get('CLOSE')!;
  return Int32Array.from(identifiers, (_, n) => {
    let t = dates.length - 1;
    while (t > 0 && Number.isNaN(close[t * identifiers.length + n]!)) t -= 1;
    return dates[t]!;
  });
}

/**
 * Compares the bars of a source with the stored bars, in the stored columns. Compares stored securities up to their
 * last close, and new securities up to the last day of the store. A bar that gets its close late is no change.
 * @param until last day of accepted bars
 * @cost one pass over the cells of both
 */
export function findChangedHistories(
  heldPanels: Panels,
  fresh: Panels,
  lastOf: Int32Array,
  until: Day,
): ChangedHistories {
  const axes = alignVersions(heldPanels, fresh);
  const changedBars = new Map<string, ChangedBars>();
  const heldNames = new Set<string>();
  const lateBars = new Map<string, LateBars>();
  const lateFrom = heldPanels.dates.at(-LATE_DATES) ?? -Infinity;
  const [heldClose, freshClose] = [heldPanels.fields.get('CLOSE'), fresh.fields.get('CLOSE')];
  for (const [day, row] of axes.rows) {
    for (const { identifier, from, to, n } of axes.columns) {
      const oldCell = row[0] < 0 || from < 0 ? -1 : row[0] + from;
      const newCell = row[1] < 0 || to < 0 ? -1 : row[1] + to;
      const kind = classifyDifference(axes.fields, oldCell, newCell);
      if (kind === undefined) continue;
      const isAfterLast = n >= 0 && day > lastOf[n]!;
      const isLateClose =
        Number.isNaN(getValue(heldClose, oldCell)) && !Number.isNaN(getValue(freshClose, newCell)) && day >= lateFrom;
      if (n >= 0 && isLateClose && day <= until) {
        const late = lateBars.get(identifier);
        if (late === undefined) lateBars.set(identifier, { count: 1, from: day });
        else late.count += 1;
        continue;
      }
      if (isAfterLast) continue;
      if (n >= 0) heldNames.add(identifier);
      let bars = changedBars.get(identifier);
      if (bars === undefined)
        changedBars.set(identifier, (bars = { added: 0, changed: 0, removed: 0, from: day, first: [] }));
      bars[kind] += 1;
      if (bars.first.length < DIFFERENCES_MAX)
        bars.first.push(...listRestatements(axes.fields, [oldCell, newCell], { identifier, day }));
    }
  }
  for (const { first } of changedBars.values()) first.splice(DIFFERENCES_MAX);
  return { changed: changedBars, storedIdentifiers: heldNames, late: lateBars };
}

interface Column {
  readonly identifier: string;
  /** Column of each version, -1 if it is absent; `from` is the column in the stored version. */
  readonly from: number;
  readonly to: number;
  readonly n: number;
}

interface Field {
  readonly name: string;
  readonly was: Float64Array;
  readonly is: Float64Array | undefined;
}

/**
 * Returns both versions on their combined axes, up to the last stored day. Each day has the first cell of its row in
 * both versions, which is -1 if a version lacks the day.
 */
function alignVersions(heldPanels: Panels, fresh: Panels) {
  const [before, after] = [heldPanels.identifiers.length, fresh.identifiers.length];
  const freshPositions = new Map(fresh.identifiers.map((identifier, n) => [identifier, n]));
  const storedIdentifiers = new Set(heldPanels.identifiers);
  const columns: Column[] = [
    ...heldPanels.identifiers.map((identifier, n) => ({
      identifier,
      from: n,
      to: freshPositions.get(identifier) ?? -1,
      n,
    })),
    ...fresh.identifiers.flatMap((identifier, to) =>
      storedIdentifiers.has(identifier) ? [] : [{ identifier, from: -1, to, n: -1 }],
    ),
  ];
  const lastDay = heldPanels.dates.at(-1)!;
  const rows = new Map<Day, [number, number]>();
  heldPanels.dates.forEach((day, t) => rows.set(day, [t * before, -1]));
  fresh.dates.forEach((day, t) => {
    const row = rows.get(day);
    if (row !== undefined) row[1] = t * after;
    else if (day <= lastDay) rows.set(day, [-1, t * after]);
  });
  const fields: Field[] = [...heldPanels.fields].map(([name, was]) => ({ name, was, is: fresh.fields.get(name) }));
  return { columns, fields, rows: new Map([...rows].toSorted(([a], [b]) => a - b)) };
}

type Cells = readonly [was: number, is: number];

const getValue = (panel: Float64Array | undefined, cell: number): number =>
  cell < 0 ? Number.NaN : (panel?.[cell] ?? Number.NaN);

/** Returns the kind of difference of a bar; undefined if the bars are equal. */
function classifyDifference(fields: readonly Field[], was: number, is: number): keyof RowCounts | undefined {
  let [isOther, isHeld, isFresh] = [false, false, false];
  for (const field of fields) {
    const x = getValue(field.was, was);
    const y = getValue(field.is, is);
    if (x === x) isHeld = true;
    if (y === y) isFresh = true;
    if (x !== y && (x === x || y === y)) isOther = true;
  }
  if (!isOther) return undefined;
  return isHeld && isFresh ? 'changed' : isHeld ? 'removed' : 'added';
}

/** Returns the values of a bar that differ. */
function listRestatements(
  fields: readonly Field[],
  [was, is]: Cells,
  { identifier, day }: { readonly identifier: string; readonly day: Day },
): Restatement[] {
  return fields.flatMap(({ name, was: before, is: after }) => {
    const [x, y] = [getValue(before, was), getValue(after, is)];
    if (x === y || (x !== x && y !== y)) return [];
    return {
      dataset: 'market' as const,
      identifier,
      date: formatDay(day),
      column: name,
      before: x === x ? x : null,
      after: y === y ? y : null,
    };
  });
}
