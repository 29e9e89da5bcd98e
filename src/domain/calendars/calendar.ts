import type { Day } from '../time/days.js';

/** One entry of the calendar list, known without expanding any calendar. */
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
  /** First day the calendar can speak for. */
  readonly from: Day;
  /** Last day whose closures are taken from a published list. */
  readonly publishedTo: Day;
  /** Last day the calendar can speak for by rule alone; equals `publishedTo` where tables rule. */
  readonly to: Day;
}

/** The sessions of one exchange over its whole coverage. */
export interface Calendar extends CalendarOption {
  /** Session days, ascending. */
  readonly sessions: Int32Array;
  /** @cost O(1), a bit test. Days outside the coverage are no sessions. */
  isSession(day: Day): boolean;
}

/** The calendars of the service. Expands a calendar at its first use and keeps it. */
export interface Calendars {
  /** Every accepted code, in code order. */
  list(): readonly CalendarOption[];
  get(code: string): Calendar | undefined;
}
