import { headroomAt, type LimitRow } from './limit-row.js';
import { heaviestOf, TOLERANCE, type Holdings, type Move } from './measure.js';

/** What took holdings beyond a limit. */
export type BreachCause = 'price' | 'action' | 'rebalance';

export interface Breach {
  readonly row: string;
  /** Positions of dates: first and last in breach; `end` is null while it lasts at the last date. */
  readonly begin: number;
  readonly end: number | null;
  readonly cause: BreachCause;
  /** Date that is furthest beyond. */
  readonly worst: { readonly at: number; readonly value: number; readonly limit: number };
}

/** One date as it is watched. */
export interface WatchedDate {
  readonly at: number;
  readonly rows: readonly LimitRow[];
  readonly holdings: Holdings;
  /** What more than drift happened by the close, if anything, and the holdings before it. */
  readonly event: { readonly kind: Exclude<BreachCause, 'price'>; readonly before: Holdings | null } | null;
}

export interface RowSummary {
  readonly row: string;
  readonly side: LimitRow['side'];
  readonly unit: LimitRow['unit'];
  breachedDates: number;
  /** Date of the least headroom, the value there and its bound. */
  least: { at: number; value: number; limit: number; headroom: number };
}

export interface Watch {
  /** Positions of the dates reported. */
  readonly dates: readonly number[];
  /** Least headroom of the rows at each of them, NaN where no row applies. */
  readonly headroom: readonly number[];
  /** Distance to a breach at each of them, see `distanceToBreach`; empty unless asked for. */
  readonly distances: readonly (Move | null)[];
  /** Dates on which a row is beyond its bound. */
  readonly breachedDates: number;
  readonly rows: readonly RowSummary[];
  /** By begin, then as the rows. */
  readonly breaches: readonly Breach[];
}

interface OpenBreach extends Omit<Breach, 'end' | 'worst'> {
  worst: { at: number; value: number; limit: number; headroom: number };
}

export interface WatchOptions {
  /** First position that is reported: from the dates before it come the beginnings of breaches. */
  readonly from: number;
  readonly withDistances?: boolean | undefined;
}

/**
 * Watches limits over dates in ascending order.
 * @cost O(rows * H) a date
 */
export function watchLimits(watched: Iterable<WatchedDate>, { from, withDistances = false }: WatchOptions): Watch {
  const dates: number[] = [];
  const distances: (Move | null)[] = [];
  const headroom: number[] = [];
  const rows = new Map<string, RowSummary>();
  const open = new Map<string, OpenBreach>();
  const breaches: Breach[] = [];
  let breachedDates = 0;
  let last = -1;
  const close = (row: string, end: number | null) => {
    const { worst, ...breach } = open.get(row)!;
    if (end === null || end >= from)
      breaches.push({ ...breach, end, worst: { at: worst.at, value: worst.value, limit: worst.limit } });
    open.delete(row);
  };
  for (const date of watched) {
    let least = NaN;
    let isBreached = false;
    const seen = new Set<string>();
    for (const row of date.rows) {
      const value = row.measure.valueOf(date.holdings);
      const here = { at: date.at, value, limit: row.limit, headroom: headroomAt(row, value) };
      if (!(here.headroom >= least)) least = here.headroom;
      const isBeyond = here.headroom < -TOLERANCE;
      if (date.at >= from) summarise(rows, row, here, isBeyond);
      if (!isBeyond) continue;
      seen.add(row.row);
      isBreached = true;
      const known = open.get(row.row);
      if (known === undefined)
        open.set(row.row, { row: row.row, begin: date.at, cause: causeOf(row, date), worst: here });
      else if (here.headroom < known.worst.headroom) known.worst = here;
    }
    for (const row of open.keys()) if (!seen.has(row)) close(row, last);
    last = date.at;
    if (date.at < from) continue;
    dates.push(date.at);
    headroom.push(least);
    if (isBreached) breachedDates++;
    if (withDistances) distances.push(isBreached ? null : leastMove(date.rows, date.holdings));
  }
  for (const row of open.keys()) close(row, null);
  breaches.sort((a, b) => a.begin - b.begin);
  return { dates, headroom, distances, breachedDates, rows: [...rows.values()], breaches };
}

function summarise(
  rows: Map<string, RowSummary>,
  { row, side, unit }: LimitRow,
  here: RowSummary['least'],
  isBeyond: boolean,
) {
  const known = rows.get(row) ?? { row, side, unit, breachedDates: 0, least: here };
  rows.set(row, known);
  if (isBeyond) known.breachedDates++;
  if (here.headroom < known.least.headroom) known.least = here;
}

/** Prices, where the limit was passed before what else happened by the close; else that. */
function causeOf(row: LimitRow, { event }: WatchedDate): BreachCause {
  if (event === null) return 'price';
  if (event.before === null) return event.kind;
  return headroomAt(row, row.measure.valueOf(event.before)) < -TOLERANCE ? 'price' : event.kind;
}

/**
 * The least relative move of one name's price that takes holdings beyond a limit; null where one is passed already, or
 * no move of one name passes one. Of equal moves that of the first name.
 * @cost O(rows * (H + held names)), with the order of the issuers that are near a bound
 */
export function distanceToBreach(rows: readonly LimitRow[], holdings: Holdings): Move | null {
  const isBreached = rows.some((row) => headroomAt(row, row.measure.valueOf(holdings)) < -TOLERANCE);
  return isBreached ? null : leastMove(rows, holdings);
}

/** The same within every limit. */
function leastMove(rows: readonly LimitRow[], holdings: Holdings): Move | null {
  const { weights } = holdings;
  // The heaviest first: their moves tell soonest what the others cannot better.
  const order = heaviestOf(weights);
  const heaviest = order.slice();
  for (let name = 0; name < weights.length; name++) if (weights[name] !== 0) order.push(name);
  let nearest = -1;
  let least = Infinity;
  for (const row of rows) {
    const moveOf = row.measure.movesOf(holdings, row);
    for (const name of row.measure.movers?.(heaviest) ?? order) {
      if (weights[name] === 0) continue;
      const move = moveOf(name, Math.abs(least));
      if (move === Infinity || Math.abs(move) > Math.abs(least)) continue;
      if (Math.abs(move) === Math.abs(least) && name >= nearest) continue;
      nearest = name;
      least = move;
    }
  }
  return nearest < 0 ? null : { name: nearest, move: least };
}
