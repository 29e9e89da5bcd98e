import { findFirstAtLeast, findLastAtMost } from '../numbers/search.js';
import { parseValidDay } from '../time/days.js';

/** Returns the sessions between two dates, both inclusive. */
export function listSessionsBetween(sessions: Int32Array, start: string, end: string): Int32Array {
  return sessions.slice(
    findFirstAtLeast(sessions, parseValidDay(start)),
    findLastAtMost(sessions, parseValidDay(end)) + 1,
  );
}
