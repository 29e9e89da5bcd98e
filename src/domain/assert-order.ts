import { parseDay } from './days.js';
import { Refusal } from './refusal.js';

/** Dates as a request has them, and their names in it. */
interface DateRange {
  readonly start?: string | null | undefined;
  readonly end?: string | null | undefined;
}
type Names = readonly [start: string, end: string];
const NAMES: Names = ['start', 'end'];

/** @throws Refusal INVALID_RANGE */
export function assertOrder({ start, end }: DateRange, names = NAMES): void {
  if (start != null && end != null && start > end) throw reversed(start, end, names);
}

/** Whether two values as a client sent them are real days, the first after the second: of no day that is told alone. */
export function isReversed({ start, end }: { readonly start?: unknown; readonly end?: unknown }): boolean {
  return isDay(start) && isDay(end) && start > end;
}

const isDay = (value: unknown): value is string => typeof value === 'string' && parseDay(value) !== undefined;

/** A range that begins after its end. */
export function reversed(start: string, end: string, [first, last] = NAMES): Refusal {
  return new Refusal('INVALID_RANGE', `${first} ${start} is after ${last} ${end}.`, {
    path: first,
    [first]: start,
    [last]: end,
  });
}
