import type { Day } from '../time/days.js';

/** Rebalance with its date, and the session at whose close it took effect. */
export interface DatedRebalance {
  readonly date: Day;
  readonly session: Day;
}

/**
 * Returns the date of the rebalance in force on a day, on or before that day. It is the date of the rebalance. If that
 * date is later, as in an unadjusted schedule on a closed day, it is the session of the rebalance.
 */
export function findDateInForce({ date, session }: DatedRebalance, asOf: Day): Day {
  return date > asOf ? session : date;
}

/** Returns the date in force of a composition, whose session is given as an index of `sessions`. */
export function findCompositionDate({ date, session }: DatedRebalance, sessions: Int32Array, asOf: Day): Day {
  return findDateInForce({ date, session: sessions[session]! }, asOf);
}
