import { z } from 'zod';
import type { Finding } from './findings.js';
import { Refusal } from './refusals.js';
import { formatDay, isMoment, MOMENT, parseDay, parseValidDay } from './time.js';

/**
 * Maximum number of days between the last prices and a requested date. This many days can be a weekend with holidays
 * and are not a gap in the data.
 */
const GAP_DAYS_MAX = 7;

/** Warns about a date outside the data. @param dates dates of the market, ascending */
export function checkAsOf(asOf: string, dates: ArrayLike<number>): Finding[] {
  const [first, last] = [dates[0], dates[dates.length - 1]];
  if (first === undefined || last === undefined) return [];
  const day = parseValidDay(asOf);
  const createWarning = (code: Finding['code'], message: string): Finding[] => [
    { severity: 'warning', code, path: 'as_of', message, value: asOf },
  ];
  if (day < first)
    return createWarning(
      'INVALID_RANGE',
      `as_of ${asOf} is before the first date of the data, ${formatDay(first)}, so no security can be selected.`,
    );
  if (day > last + GAP_DAYS_MAX)
    return createWarning(
      'WINDOW_CUT',
      `as_of ${asOf} is after the last date of the data, ${formatDay(last)}. Decisions use that date.`,
    );
  return [];
}

/** Form of a point in time, or of the number of a version. */
const MOMENT_OR_VERSION = /^([1-9]\d{0,8}|\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?)?)$/;
const message = 'must be a version, a date or a time, such as 12, 2024-01-31 or 2024-01-31T17:30:00Z';
const description =
  'Version of the data: a number, or the newest version known at a time (for a date: its end, in UTC).';

/** Point in time or version whose data are used. Default: the last version. */
export const AsKnownOn = z
  .union([z.int().min(1), z.string().regex(MOMENT, { message, abort: true }).refine(isMoment, { message })])
  .optional()
  .meta({ description });
export type AsKnownOn = NonNullable<z.infer<typeof AsKnownOn>>;

/** Query parameter form of `AsKnownOn`, where a number is a text. */
export const AsKnownOnText = z
  .string()
  .regex(MOMENT_OR_VERSION, { message, abort: true })
  .refine((text) => parseVersionNumber(text) !== undefined || isMoment(text), { message })
  .optional()
  .meta({ description });

/** Returns the number of a version. Returns undefined for a point in time. */
export function parseVersionNumber(asKnownOn: AsKnownOn): number | undefined {
  return typeof asKnownOn === 'number' || /^\d{1,9}$/.test(asKnownOn) ? Number(asKnownOn) : undefined;
}

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

export function refuseReversedRange(start: string, end: string, [first, last] = DEFAULT_NAMES): Refusal {
  return new Refusal('INVALID_RANGE', `${first} ${start} is after ${last} ${end}.`, {
    path: first,
    [first]: start,
    [last]: end,
  });
}
