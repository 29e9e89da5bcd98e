import type { Day } from '../time/days.js';
import type { VersionedClosures } from './closures.js';

/** Entry of the calendar list, available without expanding the calendar. */
export interface CalendarOption {
  /** Market identifier code (MIC) of the exchange. */
  readonly code: string;
  readonly name: string;
  /** First segment of the IANA time zone. */
  readonly region: string;
  readonly tz: string;
  readonly coverage: CalendarCoverage;
  /** Sources of the sessions; absent if they are unknown. */
  readonly sources?: readonly string[];
}

export interface CalendarCoverage {
  /** First day that the calendar covers. */
  readonly from: Day;
  /** Last day whose closures come from a published list. */
  readonly publishedTo: Day;
  /** Last day that the calendar covers by rules. A calendar based on tables ends with `publishedTo`. */
  readonly to: Day;
}

/** Session that closes before the usual time by a rule of the calendar. */
export interface EarlyClose {
  /** Local closing time, `HH:MM`. */
  readonly closes: string;
  /** Name of the rule, for example of the holiday before which the session closes early. */
  readonly name: string;
}

/** Sessions of one exchange over its whole coverage. */
export interface Calendar extends CalendarOption {
  /** Recorded changes of its sessions; absent if there are none. */
  readonly recorded?: VersionedClosures;
  /** Returns the name of the holiday on which the rules close a day. Returns undefined if there is none. */
  closureOn?(day: Day): string | undefined;
  /** Returns the early close that the rules schedule on a session. Returns undefined if there is none. */
  earlyCloseOn?(day: Day): EarlyClose | undefined;
  /** Session days, ascending. */
  readonly sessions: Int32Array;
  /** Returns true if a day is a session. Days outside the coverage are not. @cost O(1), a bit test */
  isSession(day: Day): boolean;
}

/** Calendars of the service. They are expanded at their first use and cached. */
export interface Calendars {
  /** Returns every accepted code, in code order. */
  list(): readonly CalendarOption[];
  get(code: string): Calendar | undefined;
}
