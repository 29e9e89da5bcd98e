import type { RecordedClosures } from './closures.js';

/** Calendars that stored indices are on, as checks of a market use them. */
export interface UsedCalendars {
  readonly codes: readonly string[];
  /** Recorded changes of calendars; absent if there are none. */
  readonly closures?: RecordedClosures | undefined;
}
