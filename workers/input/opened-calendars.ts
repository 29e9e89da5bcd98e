import type { RecordedClosures } from '#domain/calendars/closures.js';
import { correctCalendars } from '#domain/calendars/correct-calendars.js';
import type { ExchangeCalendars } from '#domain/calendars/calendars.js';
import { toCanonicalJson } from '#domain/json/canonical-json.js';
import { openCalendars } from '#market/serving/calendar-files.js';

/**
 * Maximum number of sets of recorded changes whose calendars are cached. Consecutive tasks usually have the same set.
 */
const CACHED_SETS_MAX = 4;

let calendars: ExchangeCalendars | undefined;
const calendarsByKey = new Map<string, ExchangeCalendars>();

/**
 * Returns the calendars of the service with recorded changes. A thread opens them once per set of changes. The changes
 * come from the task, so that its results depend only on its input.
 */
export function openCachedCalendars(closures: RecordedClosures = {}): ExchangeCalendars {
  calendars ??= openCalendars();
  if (Object.keys(closures).length === 0) return calendars;
  const key = toCanonicalJson(closures);
  const exchangeCalendars = calendarsByKey.get(key) ?? correctCalendars(calendars, closures);
  calendarsByKey.delete(key);
  calendarsByKey.set(key, exchangeCalendars);
  if (calendarsByKey.size > CACHED_SETS_MAX) calendarsByKey.delete(calendarsByKey.keys().next().value!);
  return exchangeCalendars;
}
