import { findNearestName } from '#base/nearest-name.js';
import type { Finding } from '../base/findings.js';
import { refuseWithFindings } from '../base/refusals.js';
import { type Day, formatDay } from '../base/time.js';
import {
  createReferenceSpells,
  listGroupSpells,
  type MarketData,
  readClassification,
  UNCLASSIFIED,
} from '../market/market-data.js';
import {
  type BoundedMeasure,
  type BoundSide,
  computeHeadroom,
  computeRatio,
  createHoldingCount,
  effectiveNumber,
  findHeaviest,
  grossExposure,
  type Holdings,
  leastHolding,
  limitMove,
  type LimitRow,
  measureNthLargestIssuer,
  measureSumAbove,
  type PriceMove,
  TOLERANCE,
} from './compliance.js';
import {
  type ConstraintRow,
  COUNT_MAX,
  type Limit,
  type MissingValues,
  NO_GROUP,
  type ProgramRow,
  type RowContext,
} from './constraint-class.js';
import { findConstraintClass } from './constraints.js';

/**
 * Data of a close that monitored optimiser rows may read. It has holdings and datapoints, but no parent index, trades
 * or forecasts.
 */
export interface WatchedContext extends Pick<RowContext, 'identifiers' | 'numbers' | 'categories' | 'covers'> {
  /** Receives the missing values of a row, with the position of the row. Default: no action. */
  missing?(lack: MissingValues, position: number): void;
}

/** Error of a constraint class that needs data other than holdings. */
class HoldingsOnlyError extends Error {}

/**
 * Converts rows of the optimiser to limits on one close.
 * @throws Refusal VALIDATION_FAILED for a row that measures against a parent index, trades or forecasts of risk
 */
export function createLimitRows(rows: readonly ConstraintRow[], watched: WatchedContext): LimitRow[] {
  const rejectAbsent = (): never => {
    throw new HoldingsOnlyError();
  };
  const createRowContextAt = (position: number): RowContext => ({
    ...watched,
    get index(): never {
      return rejectAbsent();
    },
    reference: rejectAbsent,
    medianValueTraded: rejectAbsent,
    covarianceTimesIndex: rejectAbsent,
    expectedReturns: rejectAbsent,
    tail: rejectAbsent,
    missing: (lack) => watched.missing?.(lack, position),
  });
  return rows.flatMap((row, position) => {
    const entry = findConstraintClass(row.type);
    if (entry === undefined) throw new Error(`constraint class ${row.type} was not validated`);
    const params = entry.params.parse(row.params);
    const name = `${row.type}[${row.id === '' ? position : row.id}]`;
    try {
      return entry.toRows(params, createRowContextAt(position)).flatMap((expanded) =>
        listLimits(expanded, params).map((limit) => ({
          ...limit,
          row: nameRow(name, limit, expanded),
          unit: entry.unit,
        })),
      );
    } catch (error) {
      if (error instanceof HoldingsOnlyError) throw createNotWatchedError(row, position);
      throw error;
    }
  });
}

type UnnamedLimit = Pick<LimitRow, 'side' | 'limit' | 'measure'> & { readonly part?: string };

function nameRow(name: string, { side, part = side }: UnnamedLimit, { member }: ProgramRow): string {
  return `${name}:${part}${member === null ? '' : `:${member === NO_GROUP ? UNCLASSIFIED : member}`}`;
}

function listLimits(row: ProgramRow, params: Readonly<Record<string, unknown>>): UnnamedLimit[] {
  switch (row.form) {
    case 'name':
      return createBounds(row, measureWeight(row.name));
    case 'linear': {
      if (row.average === undefined) return createBounds(row, computeRatio(row.coefficients, null));
      const { numerator, denominator } = row.average;
      const side: BoundSide = row.lower === null ? 'upper' : 'lower';
      return [{ side, limit: params[side] as number, measure: computeRatio(numerator, denominator) }]; // the row exists because this parameter is set
    }
    case 'norm':
      if (row.metric === 'covariance' || row.centre !== null) throw new HoldingsOnlyError();
      return [{ side: row.side, limit: params[row.limit.parameter!] as number, measure: effectiveNumber }]; // the row exists because this parameter is set
    case 'count':
      return [
        { side: 'lower', limit: row.minimum, measure: createHoldingCount(row.members) },
        ...(row.maximum === COUNT_MAX
          ? []
          : [{ side: 'upper' as const, limit: row.maximum, measure: createHoldingCount(row.members) }]),
      ];
    case 'threshold':
      return [{ side: 'lower', limit: row.threshold, measure: leastHolding }];
    case 'concentration':
      return [
        { side: 'upper', limit: row.single, measure: measureNthLargestIssuer(1), part: 'single' },
        { side: 'upper', limit: row.aggregate, measure: measureSumAbove(row.trigger), part: 'aggregate' },
      ];
    case 'distance':
      // Of the distances, only the one from zero weights is measured from holdings only.
      if (row.reference.some((weight) => weight !== 0)) throw new HoldingsOnlyError();
      return [{ side: 'upper', limit: row.limit.value, measure: grossExposure }];
    case 'tail':
      throw new HoldingsOnlyError();
  }
}

function createBounds(
  { lower, upper }: { readonly lower: Limit | null; readonly upper: Limit | null },
  measure: BoundedMeasure,
): UnnamedLimit[] {
  return [
    ...(lower === null ? [] : [{ side: 'lower' as const, limit: lower.value, measure }]),
    ...(upper === null ? [] : [{ side: 'upper' as const, limit: upper.value, measure }]),
  ];
}

/**
 * Measures the weight of one security. The weight responds most to the security's own price, then to the price of the
 * largest security.
 */
function measureWeight(position: number): BoundedMeasure {
  return {
    movers: (heaviest) => [position, ...heaviest],
    valueOf: ({ weights }) => weights[position]!,
    movesOf({ weights }, { limit }) {
      const ownWeight = weights[position]!;
      return {
        moveOf(name) {
          const weight = weights[name]!;
          return limitMove((limit - ownWeight) / (weight * ((name === position ? 1 : 0) - limit)), weight);
        },
      };
    },
  };
}

function createNotWatchedError({ id, type }: ConstraintRow, position: number): Error {
  return refuseWithFindings('body', [
    {
      severity: 'error',
      code: 'NOT_IN_CHOICES',
      message: `${type} needs a parent index, trades, expected returns or a risk forecast. Only limits on holdings can be monitored.`,
      path: `rows[${position}].type`,
      row_id: id === '' ? null : id,
      value: type,
    },
  ]);
}

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

/** Data for the checks of the constraints that a run is monitored for. */
export interface RowWatch {
  /** Securities that the run held at any time. */
  readonly names: readonly string[];
  /** Market data; null if no row reads them. */
  readonly market: MarketData | null;
  /** Last day of the run. */
  readonly day: Day;
}

/**
 * Reports rows that match no holdings, and securities without a group. Securities without a group form one group
 * together.
 */
export function listRowFindings(rows: readonly ConstraintRow[], watched: RowWatch): Finding[] {
  const { market } = watched;
  return rows.flatMap((row, position) => [
    ...listNeverHeld(row, position, watched.names),
    ...(market === null ? [] : listGroupFindings(row, position, { ...watched, market })),
  ]);
}

const createWarning = (
  { id }: ConstraintRow,
  { code, path, message, all }: Pick<Finding, 'code' | 'path' | 'message'> & { readonly all: readonly string[] },
): Finding => ({
  severity: 'warning',
  code,
  message,
  path,
  row_id: id === '' ? null : id,
  count: all.length,
  places: all.slice(0, 5),
});

/** Formats unknown identifiers. Names the first with the closest known identifier, and counts the others. */
function formatFirst(absent: readonly string[], candidates: Iterable<string>): string {
  const nearestName = findNearestName(absent[0]!, candidates);
  const hint = nearestName === undefined ? '' : ` (did you mean ${nearestName}?)`;
  return `${absent[0]}${hint}${absent.length === 1 ? '' : ` and ${absent.length - 1} more`}`;
}

function listNeverHeld(row: ConstraintRow, position: number, names: readonly string[]): Finding[] {
  const { params } = row;
  const nameSet = new Set(names);
  const member = 'coefficients' in params ? 'coefficients' : 'identifiers';
  const list: unknown = params[member] ?? [];
  const listedNames = Array.isArray(list) ? (list as string[]) : Object.keys(list as object); // as the schema of the constraint class requires
  const absentNames = listedNames.filter((name) => !nameSet.has(name));
  if (absentNames.length === 0) return [];
  const message = `The run never held ${formatFirst(absentNames, names)}. This part of the constraint has no effect.`;
  const path = `rows[${position}].params.${member}`;
  return [createWarning(row, { code: 'UNKNOWN_IDENTIFIER', path, message, all: absentNames })];
}

/** Reports groups without securities, and securities without a group. */
function listGroupFindings(
  row: ConstraintRow,
  position: number,
  { names, market, day }: RowWatch & { readonly market: MarketData },
): Finding[] {
  const { field, groups = null } = row.params as { field?: unknown; groups?: readonly string[] | null }; // as the schema of the constraint class requires
  if (typeof field !== 'string' || !('groups' in row.params || row.type.startsWith('Group'))) return [];
  if (!market.reference.columns.includes(field)) return [];
  if (groups === null) return listUngrouped(row, position, { field, names, day, of: listGroupSpells(market, field) });
  const heldNames = new Set(names);
  const knownGroups = new Set(
    createReferenceSpells(market, field).flatMap((spells, column) =>
      heldNames.has(market.identifiers[column]!) ? spells.map(({ value }) => readClassification(value)) : [],
    ),
  );
  const absentGroups = groups.filter((group) => group !== '' && !knownGroups.has(group));
  if (absentGroups.length === 0) return [];
  const path = `rows[${position}].params.groups`;
  const message = `No security of the run has the ${field} ${formatFirst(absentGroups, knownGroups)}. This part of the constraint has no effect.`;
  return [createWarning(row, { code: 'UNKNOWN_IDENTIFIER', path, message, all: absentGroups })];
}

interface GroupCheck extends Pick<RowWatch, 'names' | 'day'> {
  readonly field: string;
  readonly of: ReturnType<typeof listGroupSpells>;
}

/**
 * Reports securities without a group, because they form one group together. In a published rule, each security without
 * an issuer counts separately.
 */
function listUngrouped(row: ConstraintRow, position: number, { field, names, day, of }: GroupCheck): Finding[] {
  const unclassifiedNames = names.filter((name) => of(name, day).group === UNCLASSIFIED);
  if (unclassifiedNames.length < 2) return [];
  const message = `${unclassifiedNames.length} of ${names.length} securities have no ${field} on ${formatDay(day)} and are grouped as ${UNCLASSIFIED}.`;
  const path = `rows[${position}].params.field`;
  return [createWarning(row, { code: 'UNKNOWN_FIELD_NAME', path, message, all: unclassifiedNames })];
}
