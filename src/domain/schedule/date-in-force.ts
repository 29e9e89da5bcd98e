import type { Day } from '../time/days.js';

/** A rebalance by its date, and the session at whose close it took effect. */
export interface DatedRebalance {
  readonly date: Day;
  readonly session: Day;
}

/**
 * Date on or before a day of a rebalance in force on it: its own, or that of its session where its own date is still to
 * come, as that of an unadjusted schedule on a closed day is.
 */
export function dateInForce({ date, session }: DatedRebalance, asOf: Day): Day {
  return date > asOf ? session : date;
}

/** The same of a composition, whose session is a position. */
export function compositionDate({ date, session }: DatedRebalance, sessions: Int32Array, asOf: Day): Day {
  return dateInForce({ date, session: sessions[session]! }, asOf);
}
