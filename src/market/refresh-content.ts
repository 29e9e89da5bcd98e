import { formatDay, type Day } from '#domain/days.js';
import { compareText } from '#domain/findings.js';
import type { MarketContent } from './content.js';
import { withoutEmptyLines, type Panels } from './panels.js';

export interface RefreshOptions {
  /** Last day to bring in; days that are held already stay. Null: whatever there is. */
  readonly until: Day | null;
  /** Take every value from the source, rather than only days after the last one held. */
  readonly full: boolean;
}

/** A value that the source has changed, null where there is none. */
export interface Restatement {
  readonly identifier: string;
  readonly date: string;
  readonly column: string;
  readonly before: number | null;
  readonly after: number | null;
}

/** What a refresh did, as its job reports it. */
export interface RefreshReport {
  readonly rows_added: number;
  readonly rows_changed: number;
  readonly dates_added: number;
  readonly identifiers_added: number;
  readonly start: string;
  readonly end: string;
  readonly restatements: readonly Restatement[];
  readonly restatements_total: number;
}

/** Restatements that are listed; the others are counted. */
export const RESTATEMENTS_MAX = 1000;

/**
 * The content of a store after a refresh, and what is new in it. Without `full` the bars held stay as they are and bars
 * of later days are added; with it every bar is that of the source. Tables are those of the source either way.
 * @cost one pass over the cells of both
 */
export function refreshContent(held: MarketContent, fresh: MarketContent, { until, full }: RefreshOptions): { readonly content: MarketContent; readonly report: RefreshReport } {
  const lastHeld = held.dates.at(-1)!;
  const lastWanted = Math.max(lastHeld, until ?? Infinity);
  const isAdded = (day: Day) => (full || day > lastHeld) && day <= lastWanted;
  const parts: Part[] = [{ panels: fresh, rows: rowsWhere(fresh.dates, isAdded) }];
  if (!full) parts.unshift({ panels: held, rows: rowsWhere(held.dates, () => true) });
  const panels = withoutEmptyLines(combine(parts));
  const content = { ...panels, reference: fresh.reference, actions: fresh.actions, universes: fresh.universes };
  return { content, report: full ? compare(held, panels) : addition(held, panels) };
}

/** What was added after the last day held, which is all that can differ then. */
function addition(held: Panels, now: Panels): RefreshReport {
  const known = new Set(held.identifiers);
  const panels = [...now.fields.values()];
  let added = 0;
  for (let cell = held.dates.length * now.identifiers.length; cell < now.dates.length * now.identifiers.length; cell++) if (holdsAny(panels, cell)) added += 1;
  return {
    rows_added: added,
    rows_changed: 0,
    dates_added: now.dates.length - held.dates.length,
    identifiers_added: now.identifiers.reduce((count, identifier) => (known.has(identifier) ? count : count + 1), 0),
    start: formatDay(now.dates[0]!),
    end: formatDay(now.dates.at(-1)!),
    restatements: [],
    restatements_total: 0,
  };
}

interface Part {
  readonly panels: Panels;
  /** Rows of it that are taken. */
  readonly rows: readonly number[];
}

function rowsWhere(dates: Int32Array, isTaken: (day: Day) => boolean): number[] {
  const rows: number[] = [];
  for (let t = 0; t < dates.length; t++) if (isTaken(dates[t]!)) rows.push(t);
  return rows;
}

/** Rows of several panels in one; no two parts hold the same day. */
function combine(parts: readonly Part[]): Panels {
  const identifiers = [...new Set(parts.flatMap(({ panels, rows }) => (rows.length === 0 ? [] : panels.identifiers)))].sort(compareText);
  const columnOf = new Map(identifiers.map((identifier, n) => [identifier, n]));
  const days = parts.flatMap(({ panels, rows }) => rows.map((t) => panels.dates[t]!));
  const dates = Int32Array.from(days).sort();
  const rowOf = new Map([...dates].map((day, t) => [day, t]));
  const names = [...new Set(parts.flatMap(({ panels }) => [...panels.fields.keys()]))];
  const width = identifiers.length;
  const fields = new Map(names.map((name) => {
    const panel = new Float64Array(new SharedArrayBuffer(dates.length * width * Float64Array.BYTES_PER_ELEMENT));
    for (const { panels, rows } of parts) {
      const source = panels.fields.get(name);
      const step = panels.identifiers.length;
      const isSameAxis = step === width && panels.identifiers.every((identifier, n) => identifier === identifiers[n]);
      const columns = Int32Array.from(panels.identifiers, (identifier) => columnOf.get(identifier) ?? -1);
      for (const t of rows) {
        const to = rowOf.get(panels.dates[t]!)! * width;
        if (source !== undefined && isSameAxis) {
          panel.set(source.subarray(t * step, (t + 1) * step), to);
          continue;
        }
        panel.fill(Number.NaN, to, to + width);
        if (source !== undefined) for (let n = 0; n < step; n++) panel[to + columns[n]!] = source[t * step + n]!;
      }
    }
    return [name, panel] as const;
  }));
  return { identifiers, dates, fields };
}

function compare(before: Panels, after: Panels): RefreshReport {
  const names = [...new Set([...before.fields.keys(), ...after.fields.keys()])].sort(compareText);
  const oldRow = new Map([...before.dates].map((day, t) => [day, t]));
  const newRow = new Map([...after.dates].map((day, t) => [day, t]));
  const identifiers = [...new Set([...before.identifiers, ...after.identifiers])].sort(compareText);
  const oldColumn = new Map(before.identifiers.map((identifier, n) => [identifier, n]));
  const newColumn = new Map(after.identifiers.map((identifier, n) => [identifier, n]));
  const columns = names.map((name) => ({ name, old: before.fields.get(name), now: after.fields.get(name) }));
  const restatements: Restatement[] = [];
  let total = 0;
  let added = 0;
  let changed = 0;
  const olds = columns.map(({ old }) => old);
  const nows = columns.map(({ now }) => now);
  const oldColumns = Int32Array.from(identifiers, (identifier) => oldColumn.get(identifier) ?? -1);
  const newColumns = Int32Array.from(identifiers, (identifier) => newColumn.get(identifier) ?? -1);
  for (const day of [...new Set([...before.dates, ...after.dates])].sort((a, b) => a - b)) {
    const t = oldRow.get(day) ?? -1;
    const u = newRow.get(day) ?? -1;
    for (let i = 0; i < identifiers.length; i++) {
      const was = t < 0 || oldColumns[i]! < 0 ? -1 : t * before.identifiers.length + oldColumns[i]!;
      const is = u < 0 || newColumns[i]! < 0 ? -1 : u * after.identifiers.length + newColumns[i]!;
      if (!holdsAny(olds, was)) {
        if (holdsAny(nows, is)) added += 1;
        continue;
      }
      let isChanged = false;
      for (let f = 0; f < columns.length; f++) {
        const x = olds[f]?.[was] ?? Number.NaN;
        const y = is < 0 ? Number.NaN : (nows[f]?.[is] ?? Number.NaN);
        if (x === y || (x !== x && y !== y)) continue;
        isChanged = true;
        total += 1;
        if (restatements.length < RESTATEMENTS_MAX) {
          restatements.push({ identifier: identifiers[i]!, date: formatDay(day), column: columns[f]!.name, before: x === x ? x : null, after: y === y ? y : null });
        }
      }
      if (isChanged) changed += 1;
    }
  }
  return {
    rows_added: added,
    rows_changed: changed,
    dates_added: after.dates.reduce((count, day) => (oldRow.has(day) ? count : count + 1), 0),
    identifiers_added: after.identifiers.reduce((count, identifier) => (oldColumn.has(identifier) ? count : count + 1), 0),
    start: formatDay(after.dates[0]!),
    end: formatDay(after.dates.at(-1)!),
    restatements,
    restatements_total: total,
  };
}

/** Whether any field has a value in a cell; none has when there is no such cell. */
function holdsAny(panels: readonly (Float64Array | undefined)[], cell: number): boolean {
  if (cell < 0) return false;
  for (let f = 0; f < panels.length; f++) {
    const value = panels[f]?.[cell];
    if (value !== undefined && value === value) return true;
  }
  return false;
}
