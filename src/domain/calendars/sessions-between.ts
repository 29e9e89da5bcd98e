import { findFirstAtLeast, findLastAtMost } from '../numbers/search.js';
import { parseValidDay } from '../time/days.js';

/** Sessions from one date to another, both included. */
export function countSessionsBetween(sessions: Int32Array, start: string, end: string): Int32Array {
  return sessions.slice(
    findFirstAtLeast(sessions, parseValidDay(start)),
    findLastAtMost(sessions, parseValidDay(end)) + 1,
  );
}
