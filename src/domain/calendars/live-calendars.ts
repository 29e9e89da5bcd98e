import type { RecordedClosures } from './closures.js';
import { correctCalendars } from './correct-calendars.js';
import type { ExchangeCalendars } from './calendars.js';

/** Calendars of the service with the latest recorded changes. */
export interface LiveCalendars extends ExchangeCalendars {
  /** Calendars without recorded changes. */
  readonly base: ExchangeCalendars;
  /** Replaces the recorded changes. */
  record(closures: RecordedClosures): void;
}

export function createLiveCalendars(base: ExchangeCalendars): LiveCalendars {
  let currentCalendars = base;
  return {
    base,
    list: () => base.list(),
    get: (code) => currentCalendars.get(code),
    record: (closures) => void (currentCalendars = correctCalendars(base, closures)),
  };
}
