import type { Day } from '../time/days.js';

/** Rebalance by its date, and the session at whose close it took effect. */
export interface DatedRebalance {
  readonly date: Day;
  readonly session: Day;
}

/**
 * Returns the date, on or before a day, of a rebalance in force on it: its own date, or that of its session if its own
 * date is still to come, as with an unadjusted schedule on a closed day.
 */
export function dateInForce({ date, session }: DatedRebalance, asOf: Day): Day {
  return date > asOf ? session : date;
}

/** Same for a composition, whose session is a position. */
export function compositionDate({ date, session }: DatedRebalance, sessions: Int32Array, asOf: Day): Day {
  return dateInForce({ date, session: sessions[session]! }, asOf);
}
