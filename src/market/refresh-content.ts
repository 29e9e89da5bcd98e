import { formatDay, type Day } from '#domain/days.js';
import { compareText } from '#domain/findings.js';
import type { MarketContent } from './content.js';
import type { Dataset } from './datasets.js';
import { roomyMemory, takenDays, withoutEmptyLines, type Panels } from './panels.js';

export interface RefreshOptions {
  /** Last day to bring in; days that are held already stay. Null: whatever there is. */
  readonly until: Day | null;
  /** Take every value from the source, rather than only days after the last one held. */
  readonly full: boolean;
  /** Tables that are as they are held: nothing of them came. */
  readonly kept?: readonly Dataset[];
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

/** A content after a refresh, and what is new in it. */
export interface Refreshed {
  readonly content: MarketContent;
  readonly report: RefreshReport;
  /** Days of the panels' memory that are taken, for the next refresh to write behind them; undefined when nobody may. */
  readonly taken: SharedArrayBuffer | undefined;
}

/**
 * The content of a store after a refresh. Without `full` the bars held stay as they are and bars of later days are added;
 * with it every bar is that of the source. Tables are those of the source either way.
 * @param taken days of the held panels' memory that are taken: behind them later days are written without copying what is held.
 * @cost one pass over the cells of both; over those added alone while the names and fields are those held and there is room
 */
export function refreshContent(held: MarketContent, fresh: MarketContent, { until, full, kept = [] }: RefreshOptions, taken?: SharedArrayBuffer): Refreshed {
  const lastHeld = held.dates.at(-1)!;
  const lastWanted = Math.max(lastHeld, until ?? Infinity);
  const isAdded = (day: Day) => (full || day > lastHeld) && day <= lastWanted;
  const part = { panels: fresh, rows: rowsWhere(fresh.dates, isAdded) };
  const tables = {
    reference: kept.includes('reference') ? held.reference : fresh.reference,
    actions: kept.includes('corporate_actions') ? held.actions : fresh.actions,
    universes: kept.includes('universes') ? held.universes : fresh.universes,
  };
  if (!full && part.rows.length === 0) return { content: { ...held, ...tables }, report: addition(held, held), taken };
  if (!full && addsOnlyDays(held, part)) {
    const isTaken = takeRoom(held, taken, part.rows.length);
    const panels = withLaterDays(held, part, isTaken);
    return { content: { ...panels, ...tables }, report: addition(held, panels), taken: isTaken ? taken! : takenDays(panels.dates.length) };
  }
  const parts = full ? [part] : [{ panels: held, rows: rowsWhere(held.dates, () => true) }, part];
  const panels = withoutEmptyLines(combine(parts));
  return { content: { ...panels, ...tables }, report: full ? compare(held, panels) : addition(held, panels), taken: takenDays(panels.dates.length) };
}

/** Whether the names and fields of a part are among those held. */
function addsOnlyDays(held: Panels, { panels }: Part): boolean {
  const names = new Set(held.identifiers);
  return panels.identifiers.every((identifier) => names.has(identifier)) && [...panels.fields.keys()].every((name) => held.fields.has(name));
}

/** Takes the memory behind the days held; false when there is too little of it or another version took it. */
function takeRoom(held: Panels, taken: SharedArrayBuffer | undefined, days: number): boolean {
  const bytes = (held.dates.length + days) * held.identifiers.length * Float64Array.BYTES_PER_ELEMENT;
  const hasRoom = [...held.fields.values()].every(({ buffer, byteOffset }) => buffer instanceof SharedArrayBuffer && byteOffset === 0 && buffer.byteLength >= bytes);
  return taken !== undefined && hasRoom && Atomics.compareExchange(new Int32Array(taken), 0, held.dates.length, held.dates.length + days) === held.dates.length;
}

/** The panels held with later days of the same names and fields behind them: in the same memory when it was taken. */
function withLaterDays(held: Panels, { panels, rows }: Part, isTaken: boolean): Panels {
  const width = held.identifiers.length;
  const before = held.dates.length * width;
  const cells = before + rows.length * width;
  const position = new Map(held.identifiers.map((identifier, n) => [identifier, n]));
  const columns = Int32Array.from(panels.identifiers, (identifier) => position.get(identifier)!); // its names are held
  const fields = new Map([...held.fields].map(([name, old]) => {
    const panel = new Float64Array(isTaken ? old.buffer : roomyMemory(held.dates.length + rows.length, width), 0, cells);
    if (!isTaken) panel.set(old);
    panel.fill(Number.NaN, before);
    const source = panels.fields.get(name);
    if (source === undefined) return [name, panel] as const;
    rows.forEach((t, i) => {
      const to = before + i * width;
      for (let n = 0; n < columns.length; n++) panel[to + columns[n]!] = source[t * columns.length + n]!;
    });
    return [name, panel] as const;
  }));
  return { identifiers: held.identifiers, dates: Int32Array.from([...held.dates, ...rows.map((t) => panels.dates[t]!)]), fields };
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
    const panel = new Float64Array(roomyMemory(dates.length, width), 0, dates.length * width);
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
