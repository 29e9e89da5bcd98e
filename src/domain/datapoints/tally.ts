import { listPositions } from './ranking.js';
import type { Series } from './series.js';

/**
 * Number of values of each security over a moving window. It is updated for the sessions that enter and leave the
 * window.
 */
export interface Tally {
  /**
   * Counts the values of every security between two sessions, inclusive. The result is valid until the next call.
   * @param from not negative.
   * @returns [N]
   * @cost N for each session that enters or leaves, or the whole window if that is less
   */
  counts(from: number, end: number): Int32Array;
}

/** Creates a tally. @param securityCount number of columns of the market */
export function createTally(series: Series, securityCount: number): Tally {
  const counts = new Int32Array(securityCount);
  const columns = listPositions(counts);
  const panel = series.panel?.gaps === null ? series.panel : undefined;
  const row = new Float64Array(panel === undefined ? securityCount : 0);
  let first = 0;
  let last = -1;

  const addSessions = (start: number, end: number, sign: 1 | -1): void => {
    for (let session = start; session <= end; session++) {
      const position = panel === undefined ? 0 : panel.rowAt(session);
      if (position < 0) continue;
      if (panel === undefined) series.fill(session, columns, row);
      addRow(counts, panel?.cells ?? row, position, sign);
    }
  };
  return {
    counts(from, end) {
      const distance = Math.abs(from - first) + Math.abs(end - last);
      if (from > last || end < first || distance > end - from) {
        counts.fill(0);
        addSessions(from, end, 1);
      } else {
        addSessions(from, first - 1, 1);
        addSessions(first, from - 1, -1);
        addSessions(last + 1, end, 1);
        addSessions(end + 1, last, -1);
      }
      first = from;
      last = end;
      return counts;
    },
  };
}

function addRow(counts: Int32Array, cells: Float64Array, from: number, sign: 1 | -1): void {
  for (let column = 0; column < counts.length; column++) {
    const value = cells[from + column]!;
    if (value === value) counts[column]! += sign;
  }
}
