import type { Day } from '../time/days.js';
import type { VersionedClosures } from './closures.js';

/** Entry of the calendar list, available without expanding any calendar. */
export interface CalendarOption {
  /** Exchange MIC. */
  readonly code: string;
  readonly name: string;
  /** First segment of the IANA time zone. */
  readonly region: string;
  readonly tz: string;
  readonly coverage: CalendarCoverage;
}

export interface CalendarCoverage {
  /** First day that the calendar covers. */
  readonly from: Day;
  /** Last day whose closures come from a published list. */
  readonly publishedTo: Day;
  /** Last day that the calendar covers by rules; equals `publishedTo` for calendars based on tables. */
  readonly to: Day;
}

/** Sessions of one exchange over its whole coverage. */
export interface Calendar extends CalendarOption {
  /** Recorded changes of its sessions; absent if there are none. */
  readonly recorded?: VersionedClosures;
  /** Returns the name of the holiday for which a day is closed by the rules; undefined if there is none. */
  closureOn?(day: Day): string | undefined;
  /** Session days, ascending. */
  readonly sessions: Int32Array;
  /** @cost O(1), a bit test. Days outside the coverage are not sessions. */
  isSession(day: Day): boolean;
}

/** Calendars of the service. Expands a calendar at its first use and caches it. */
export interface Calendars {
  /** Returns every accepted code, in code order. */
  list(): readonly CalendarOption[];
  get(code: string): Calendar | undefined;
}
