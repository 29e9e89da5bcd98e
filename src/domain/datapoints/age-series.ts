import type { SessionMarket } from '../market/session-market.js';

/** Value for a security whose first price bar has not been searched yet. */
const NOT_SEARCHED = -1;

interface AgeSeries {
  fill(session: number, columns: Int32Array, out: Float64Array): void;
}

/**
 * Creates the series of a security's age: the number of sessions since its first price bar. The age is 0 on the session
 * of that bar and missing before it.
 */
export function createAgeSeries({ market, sessions, rows }: SessionMarket): AgeSeries {
  const close = market.fields.get('CLOSE')!;
  const first = new Int32Array(market.identifiers.length).fill(NOT_SEARCHED);
  /**
   * Searches the bars before the first session too, because securities may be older than the first session of this
   * market.
   * @cost number of sessions before the axis
   */
  const findFirstBar = (column: number): number => {
    for (let session = 0; session < sessions.length; session++)
      if (!Number.isNaN(rows.valueAt(close, session, column))) return session;
    return sessions.length;
  };
  return {
    fill(session: number, columns: Int32Array, out: Float64Array) {
      for (let i = 0; i < columns.length; i++) {
        const column = columns[i]!;
        if (first[column] === NOT_SEARCHED) first[column] = findFirstBar(column);
        const firstBar = first[column]!;
        out[i] = firstBar > session ? NaN : session - firstBar;
      }
    },
  };
}
