import { formatDay, parseDay } from '../time/days.js';
import { Refusal } from '../refusals/refusal.js';

/** Dates of a request, with the names of their fields. */
interface DateRange {
  readonly start?: string | null | undefined;
  readonly end?: string | null | undefined;
}
type FieldNames = readonly [start: string, end: string];
const DEFAULT_NAMES: FieldNames = ['start', 'end'];

/** Asserts that a range does not begin after its end. @throws Refusal INVALID_RANGE */
export function assertOrder({ start, end }: DateRange, names = DEFAULT_NAMES): void {
  if (start != null && end != null && start > end) throw refuseReversedRange(start, end, names);
}

interface DataRange {
  /** First and last date with data, YYYY-MM-DD. */
  readonly first: string;
  readonly last: string;
  /** Description of the data. */
  readonly of: string;
}

/**
 * Asserts that a range overlaps with the data. @throws Refusal NO_DATA_IN_RANGE for a range that ends before the first
 * date or begins after the last date of the data
 */
export function assertOverlaps(
  { start, end }: DateRange,
  { first, last, of }: DataRange,
  [from, to] = DEFAULT_NAMES,
): void {
  const request = { start: start ?? null, end: end ?? null, first, last };
  if (start != null && start > last)
    throw new Refusal('NO_DATA_IN_RANGE', `${from} ${start} is after the last date of ${of}, ${last}.`, {
      path: from,
      ...request,
    });
  if (end != null && end < first)
    throw new Refusal('NO_DATA_IN_RANGE', `${to} ${end} is before the first date of ${of}, ${first}.`, {
      path: to,
      ...request,
    });
}

interface DatedStore {
  readonly datasetId: string;
  /** Days with data, ascending, [T]. */
  readonly dates: Int32Array;
}

/** Asserts that a range contains a date of a market. @throws Refusal NO_DATA_IN_RANGE */
export function assertHasDates({ datasetId, dates }: DatedStore, range: DateRange): void {
  const [first, last] = [dates[0], dates.at(-1)];
  if (first === undefined || last === undefined) return;
  assertOverlaps(range, { first: formatDay(first), last: formatDay(last), of: `the store ${datasetId}` });
}

/**
 * Returns true if both values of a request are valid days and the first is after the second. Other checks report
 * invalid days.
 */
export function isReversed({ start, end }: { readonly start?: unknown; readonly end?: unknown }): boolean {
  return isDay(start) && isDay(end) && start > end;
}

const isDay = (value: unknown): value is string => typeof value === 'string' && parseDay(value) !== undefined;

/** Returns the refusal of a range that begins after its end. */
export function refuseReversedRange(start: string, end: string, [first, last] = DEFAULT_NAMES): Refusal {
  return new Refusal('INVALID_RANGE', `${first} ${start} is after ${last} ${end}.`, {
    path: first,
    [first]: start,
    [last]: end,
  });
}
