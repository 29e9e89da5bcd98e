import { readPanelRow, type SessionMarket } from './session-market.js';

/** Securities without a bar on each session, after their first bar. */
export interface Absences {
  /** Columns of the securities, by session then column. */
  readonly columns: Int32Array;
  /** Position in `columns` of the first security of each session, [S + 1]. */
  readonly starts: Int32Array;
}

/**
 * Maximum age of the last bar of a listed security, in sessions of its exchange. A book that carries securities for
 * longer adds them itself: see `findGaps`.
 */
const AGE_MAX = 64;

const cache = new WeakMap<SessionMarket, Absences>();

/**
 * Returns the securities without a bar on each session after an earlier bar. A security is no longer listed when its
 * last bar is more than `AGE_MAX` sessions old.
 * @cost O(S N), once per market
 */
export function listAbsences(sm: SessionMarket): Absences {
  let absences = cache.get(sm);
  if (!absences) cache.set(sm, (absences = findAbsences(sm)));
  return absences;
}

function findAbsences(sm: SessionMarket): Absences {
  const { securityCount, sessions, lastBar } = sm;
  const columns: number[] = [];
  const starts = new Int32Array(sessions.length + 1);
  for (let s = sm.mark ? sm.mark.session + 1 : 0; s < sessions.length; s++) {
    const row = readPanelRow(sm, s);
    for (let i = 0; i < securityCount; i++) {
      const bar = lastBar[row + i]!;
      if (bar >= 0 && (bar !== s || !sm.hasBar(s, i)) && sm.barAge(s, i) <= AGE_MAX) columns.push(i);
    }
    starts[s + 1] = columns.length;
  }
  return { columns: Int32Array.from(columns), starts };
}
