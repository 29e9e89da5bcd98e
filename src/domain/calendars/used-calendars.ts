import type { RecordedClosures } from './closures.js';

/** Calendars of stored indices, for checks of a market. */
export interface UsedCalendars {
  readonly codes: readonly string[];
  /** Recorded changes of calendars; absent if there are none. */
  readonly closures?: RecordedClosures | undefined;
}
