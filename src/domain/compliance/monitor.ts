import { computeHeadroom, type LimitRow } from './limit-row.js';
import { findHeaviest, TOLERANCE, type Holdings, type PriceMove } from './measure.js';

/** Event by which holdings exceeded a limit. */
export type BreachCause = 'price' | 'action' | 'rebalance';

export interface Breach {
  readonly row: string;
  /** Date indices of the first and the last date in breach; `end` is null if the breach lasts to the last date. */
  readonly begin: number;
  readonly end: number | null;
  readonly cause: BreachCause;
  /** Date with the largest excess. */
  readonly worst: { readonly at: number; readonly value: number; readonly limit: number };
}

/** Holdings and limits on one date. */
export interface WatchedDate {
  readonly at: number;
  readonly rows: readonly LimitRow[];
  readonly holdings: Holdings;
  /** Event other than price changes since the previous close, with the holdings before it. Null without an event. */
  readonly event: { readonly kind: Exclude<BreachCause, 'price'>; readonly before: Holdings | null } | null;
}

/** Watched date whose values are computed on demand. */
export interface MeasuredDate {
  readonly at: number;
  readonly rows: readonly LimitRow[];
  /** Returns the value of the k-th row. */
  valueOf(k: number): number;
  /** Returns the event by which a row exceeded its bound; called when a breach begins. */
  causeOf(k: number): BreachCause;
  /** Returns the distance to a breach (see `measureDistanceToBreach`); called only if every row is within its bound. */
  distance(): PriceMove | null;
}

export interface RowSummary {
  readonly row: string;
  readonly side: LimitRow['side'];
  readonly unit: LimitRow['unit'];
  breachedDates: number;
  /** Date of the least headroom, with its value and bound. */
  least: { at: number; value: number; limit: number; headroom: number };
  /** Last date with the row, with its value and bound. */
  latest: { at: number; value: number; limit: number };
}

export interface LimitWatch {
  /** Indices of the reported dates. */
  readonly dates: readonly number[];
  /** Smallest headroom of all rows on each date; NaN if no row applies. */
  readonly headroom: readonly number[];
  /** Distance to a breach on each date (see `measureDistanceToBreach`); empty if not requested. */
  readonly distances: readonly (PriceMove | null)[];
  /** Number of dates on which any row exceeds its bound. */
  readonly breachedDates: number;
  readonly rows: readonly RowSummary[];
  /** Breaches sorted by begin, then in row order. */
  readonly breaches: readonly Breach[];
}

interface OpenBreach extends Omit<Breach, 'end' | 'worst'> {
  worst: { at: number; value: number; limit: number; headroom: number };
}

export interface WatchOptions {
  /** Index of the first reported date. Breaches that began on earlier dates keep their start. */
  readonly from: number;
  readonly withDistances?: boolean | undefined;
}

/**
 * Watches limits over dates in ascending order.
 * @cost O(rows * H) per date
 */
export function watchLimits(watched: Iterable<WatchedDate>, options: WatchOptions): LimitWatch {
  return watchMeasuredDates(listMeasuredDates(watched), options);
}

function* listMeasuredDates(watched: Iterable<WatchedDate>): Iterable<MeasuredDate> {
  for (const date of watched) yield measureDate(date);
}

/** Returns the measures of a date, computed from its holdings while these are valid. */
export function measureDate(date: WatchedDate): MeasuredDate {
  const { at, rows, holdings } = date;
  return {
    at,
    rows,
    valueOf: (k) => rows[k]!.measure.valueOf(holdings),
    causeOf: (k) => findCause(rows[k]!, date),
    distance: () => findLeastMove(rows, holdings),
  };
}

/** Watches limits over dates with measured values. */
export function watchMeasuredDates(
  measured: Iterable<MeasuredDate>,
  { from, withDistances = false }: WatchOptions,
): LimitWatch {
  const dates: number[] = [];
  const distances: (PriceMove | null)[] = [];
  const headroom: number[] = [];
  const rows = new Map<string, RowSummary>();
  const openBreaches = new Map<string, OpenBreach>();
  const breaches: Breach[] = [];
  let breachedDates = 0;
  let last = -1;
  const closeBreach = (row: string, end: number | null) => {
    const { worst, ...breach } = openBreaches.get(row)!;
    if (end === null || end >= from)
      breaches.push({ ...breach, end, worst: { at: worst.at, value: worst.value, limit: worst.limit } });
    openBreaches.delete(row);
  };
  for (const date of measured) {
    let least = NaN;
    let isBreached = false;
    const rowsOfDate = new Set<string>();
    for (const [k, row] of date.rows.entries()) {
      const value = date.valueOf(k);
      const observation = { at: date.at, value, limit: row.limit, headroom: computeHeadroom(row, value) };
      if (!(observation.headroom >= least)) least = observation.headroom;
      const isBeyond = !isWithin(row, value);
      if (date.at >= from) updateRowSummary(rows, row, observation, isBeyond);
      if (!isBeyond) continue;
      rowsOfDate.add(row.row);
      isBreached = true;
      const openBreach = openBreaches.get(row.row);
      if (openBreach === undefined)
        openBreaches.set(row.row, { row: row.row, begin: date.at, cause: date.causeOf(k), worst: observation });
      else if (observation.headroom < openBreach.worst.headroom) openBreach.worst = observation;
    }
    for (const row of openBreaches.keys()) if (!rowsOfDate.has(row)) closeBreach(row, last);
    last = date.at;
    if (date.at < from) continue;
    dates.push(date.at);
    headroom.push(least);
    if (isBreached) breachedDates++;
    if (withDistances) distances.push(isBreached ? null : date.distance());
  }
  for (const row of openBreaches.keys()) closeBreach(row, null);
  breaches.sort((a, b) => a.begin - b.begin);
  return { dates, headroom, distances, breachedDates, rows: [...rows.values()], breaches };
}

function updateRowSummary(
  rows: Map<string, RowSummary>,
  { row, side, unit }: LimitRow,
  observation: RowSummary['least'],
  isBeyond: boolean,
) {
  const rowSummary = rows.get(row) ?? { row, side, unit, breachedDates: 0, least: observation, latest: observation };
  rows.set(row, rowSummary);
  rowSummary.latest = observation;
  if (isBeyond) rowSummary.breachedDates++;
  if (observation.headroom < rowSummary.least.headroom) rowSummary.least = observation;
}

/** Returns true if a value is within the bound of its row, up to rounding. */
export function isWithin(row: LimitRow, value: number): boolean {
  return !(computeHeadroom(row, value) < -TOLERANCE);
}

/** Returns the cause of a breach: `price` if the limit was exceeded already before the event, otherwise the event. */
function findCause(row: LimitRow, { event }: WatchedDate): BreachCause {
  if (event === null) return 'price';
  if (event.before === null) return event.kind;
  return isWithin(row, row.measure.valueOf(event.before)) ? event.kind : 'price';
}

/**
 * Returns the smallest relative price move of one security that takes holdings beyond a limit. Of several equal moves,
 * returns that of the first security. Returns null if a limit is already exceeded, or if no such move exists.
 * @cost O(rows * (H + held securities)), plus sorting the issuers near a bound
 */
export function measureDistanceToBreach(rows: readonly LimitRow[], holdings: Holdings): PriceMove | null {
  const isBreached = rows.some((row) => !isWithin(row, row.measure.valueOf(holdings)));
  return isBreached ? null : findLeastMove(rows, holdings);
}

/** Returns the smallest price move that reaches any limit. */
function findLeastMove(rows: readonly LimitRow[], holdings: Holdings): PriceMove | null {
  const { weights } = holdings;
  // The heaviest securities come first, because their moves give the tightest limit for the others.
  const heaviest = findHeaviest(weights);
  const nearest = { name: -1, move: Infinity };
  for (const row of rows) {
    const { least = 0, moveOf } = row.measure.movesOf(holdings, row);
    const considerSecurity = (name: number): void => {
      const leastDistance = Math.abs(nearest.move);
      const size = Math.abs(weights[name]!);
      if (size === 0 || leastDistance * size < least) return;
      const move = moveOf(name, leastDistance);
      if (move === Infinity || Math.abs(move) > leastDistance) return;
      if (Math.abs(move) === leastDistance && name >= nearest.name) return;
      nearest.name = name;
      nearest.move = move;
    };
    const movers = row.measure.movers?.(heaviest);
    for (const name of movers ?? heaviest) considerSecurity(name);
    if (movers === undefined) for (let name = 0; name < weights.length; name++) considerSecurity(name);
  }
  return nearest.name < 0 ? null : nearest;
}
