import { findFirstAtLeast, findLastAtMost } from '../numbers/search.js';
import { dayFrom } from '../time/days.js';

/** Sessions from one date to another, both included. */
export function countSessionsBetween(sessions: Int32Array, start: string, end: string): Int32Array {
  return sessions.slice(findFirstAtLeast(sessions, dayFrom(start)), findLastAtMost(sessions, dayFrom(end)) + 1);
}
