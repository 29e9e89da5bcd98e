import type { RecordedClosures } from './closures.js';

/** Calendars of the indices that use a store, for checks of its market. */
export interface UsedCalendars {
  readonly codes: readonly string[];
  /** Recorded changes of calendars; absent if there are none. */
  readonly closures?: RecordedClosures | undefined;
}

/**
 * Returns the calendars of the indices that use a store.
 * @param isActive true if the store is active, or will be: indices without a store then use it. Default: whether it is
 */
export type CalendarsInUse = (datasetId: string, isActive?: boolean) => Promise<UsedCalendars>;
