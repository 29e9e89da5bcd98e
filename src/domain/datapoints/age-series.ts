import type { SessionMarket } from '../market/session-market.js';

/** A name whose first bar has not been looked for. */
const UNKNOWN = -1;

interface AgeSeries {
  fill(session: number, columns: Int32Array, out: Float64Array): void;
}

/** Sessions since the first bar: 0 on it, missing before it. */
export function ageSeries({ market, rowOf, names }: SessionMarket): AgeSeries {
  const close = market.fields.get('CLOSE')!;
  const first = new Int32Array(names).fill(UNKNOWN);
  /**
   * Read where the bars lie: a market that is there from a session on has names that are older.
   * @cost the sessions before it
   */
  const firstBar = (column: number): number => {
    for (let session = 0; session < rowOf.length; session++) {
      const row = rowOf[session]!;
      if (row >= 0 && !Number.isNaN(close[row * names + column]!)) return session;
    }
    return rowOf.length;
  };
  return {
    fill(session: number, columns: Int32Array, out: Float64Array) {
      for (let i = 0; i < columns.length; i++) {
        const column = columns[i]!;
        if (first[column] === UNKNOWN) first[column] = firstBar(column);
        const since = first[column]!;
        out[i] = since > session ? NaN : session - since;
      }
    },
  };
}
