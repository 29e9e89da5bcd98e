import type { Health, StaleState } from '#clients/typescript/divisor.js';
import { formatDaysTo, subtractDays } from './dates.js';
import { countValues } from './numbers.js';

/** Sessions that the data of a store lack, compared with a calendar of its indices. */
export interface StoreLag {
  readonly behind: number;
  /** Newest session of the calendar. */
  readonly expected: string;
}

/** Returns the largest lag of a store. Returns undefined if no index uses the store. */
export function findLag(freshness: Health['freshness'] | undefined, storeId: string | null): StoreLag | undefined {
  const [largest] = (freshness ?? [])
    .filter(({ store_id: id }) => id === storeId)
    .toSorted((a, b) => b.sessions_behind - a.sessions_behind);
  return largest && { behind: largest.sessions_behind, expected: largest.latest_session };
}

/** Describes a lag, for example `current` or `3 sessions behind`. */
export const formatLag = ({ behind }: StoreLag): string =>
  behind === 0 ? 'current' : `${countValues(behind, 'session')} behind`;

/** Describes the newest session of the calendar. The service expects it on the next day. */
export const describeDue = ({ expected }: StoreLag): string => `${expected} was due on ${subtractDays(expected, -1)}`;

/**
 * Returns the note of the last date of a store: the number of missing sessions with the newest due session. The note of
 * a store without an index is the age of its last date.
 */
export function createEndNote(
  lag: StoreLag | undefined,
  end: string | null,
): { readonly note?: string; readonly kind?: string } {
  if (end === null) return {};
  if (lag === undefined) return { note: formatDaysTo(end) };
  return lag.behind === 0
    ? { note: formatLag(lag) }
    : { note: `${formatLag(lag)}; ${describeDue(lag)}`, kind: 'warning' };
}

/** Start of a reason about the data or the engine. */
const OTHER_REASON = /^The (?:store|run was made) /;

/** Reason of a run whose index has a store that does not exist. */
const MISSING_STORE_REASON = /^The store .+ of the index is not registered\.$/;

/**
 * Returns a short text about what has changed since a run, for example `calendar changed`, or the store of the run if
 * only another store is served. The page of the run has the full reasons.
 */
export function formatStale({ definition, data, engine, reasons, store_id: store }: StaleState): string {
  if (store !== null && !definition && !engine) return `ran on ${store}`;
  // A change of a calendar is a change of the definition.
  const ofDefinition = reasons.filter((reason) => !OTHER_REASON.test(reason));
  const ofCalendar = ofDefinition.filter((reason) => reason.startsWith('The calendar '));
  const isStoreMissing = reasons.some((reason) => MISSING_STORE_REASON.test(reason));
  const parts = [
    definition && ofCalendar.length > 0 && 'calendar',
    definition && (ofCalendar.length === 0 || ofCalendar.length < ofDefinition.length) && 'definition',
    data && !isStoreMissing && 'data',
    engine && 'engine',
  ].filter(Boolean);
  const changes = parts.length === 0 ? [] : [`${parts.join(', ')} changed`];
  const texts = isStoreMissing ? [...changes, 'store missing'] : changes;
  return texts.length === 0 ? 'out of date' : texts.join(', ');
}

/** Adds a mark to the name of a stale run. */
export const addStale = (name: string, stale: StaleState | null): string => (stale === null ? name : `${name} (stale)`);
