import { allocateRetainedIntegersBelow } from '#base/memory/retained-memory.js';
import type { Day } from '../time/days.js';
import type { MarketData } from './market-data.js';

/**
 * Rows of the panels of a market by session. A row between two sessions, such as one of another exchange on a holiday,
 * belongs to the later session, where it supplies the values that later rows lack. Rows before the first session belong
 * to it.
 */
export interface SessionRows {
  /** Returns true if a session has a row of another day. */
  isMerged(session: number): boolean;
  /** True if any session has such a row. */
  readonly isAnyMerged: boolean;
  /** Returns the start of the row of a session that has only one row; negative without a row. */
  startOf(session: number): number;
  /** Returns the cells of a session, [N] from `from` on; `from` is negative without a row. */
  read(panel: Float64Array, session: number): { readonly cells: Float64Array; readonly from: number };
  valueAt(panel: Float64Array, session: number, column: number): number;
  /** Returns the day of the value of a session. Returns NaN without a value. */
  dayOf(panel: Float64Array, session: number, column: number): Day;
}

/** @cost O(S + T) */
export function createSessionRows(
  sessions: Int32Array,
  { dates, identifiers }: Pick<MarketData, 'dates' | 'identifiers'>,
): SessionRows {
  const width = identifiers.length;
  /** Last row on or before each session. */
  const last = new Int32Array(sessions.length).fill(-1);
  for (let s = 0, row = 0; s < sessions.length; s++) {
    while (row < dates.length && dates[row]! <= sessions[s]!) row++;
    last[s] = row - 1;
  }
  const readFirst = (session: number): number => (session === 0 ? 0 : last[session - 1]! + 1);
  const isMerged = (session: number): boolean => {
    const [from, to] = [readFirst(session), last[session]!];
    return from < to || (from === to && dates[to] !== sessions[session]);
  };
  let isAnyMerged = false;
  for (let s = 0; s < sessions.length; s++) if (isMerged(s)) isAnyMerged = true;
  const findRow = (panel: Float64Array, session: number, column: number): number => {
    for (let row = last[session]!; row >= readFirst(session); row--)
      if (!Number.isNaN(panel[row * width + column]!)) return row;
    return -1;
  };
  const merge = (panel: Float64Array, session: number): Float64Array => {
    const to = last[session]!;
    const cells = panel.slice(to * width, (to + 1) * width);
    for (let row = to - 1; row >= readFirst(session); row--)
      for (let i = 0; i < width; i++) if (Number.isNaN(cells[i]!)) cells[i] = panel[row * width + i]!;
    return cells;
  };
  return {
    isMerged,
    isAnyMerged,
    startOf: (session) => (last[session]! < readFirst(session) ? -1 : last[session]! * width),
    read(panel, session) {
      const to = last[session]!;
      if (to < readFirst(session)) return { cells: panel, from: -1 };
      return readFirst(session) < to ? { cells: merge(panel, session), from: 0 } : { cells: panel, from: to * width };
    },
    valueAt(panel, session, column) {
      const row = findRow(panel, session, column);
      return row < 0 ? Number.NaN : panel[row * width + column]!;
    },
    dayOf(panel, session, column) {
      const row = findRow(panel, session, column);
      return row < 0 ? Number.NaN : dates[row]!;
    },
  };
}

interface Panel {
  readonly close: Float64Array;
  readonly rows: SessionRows;
  /** Number of sessions. */
  readonly count: number;
  readonly securityCount: number;
}

/** Returns the latest bars by session and the gaps between bars. @param mark state after which the bars are listed */
export function createLastBars(
  { close, rows, count: sessionCount, securityCount }: Panel,
  mark: { readonly session: number; readonly lastBar: Int32Array } | undefined,
): { readonly lastBar: Int16Array | Int32Array; readonly gaps: Int32Array } {
  const first = mark ? mark.session : 0;
  const bars = allocateRetainedIntegersBelow(sessionCount, (sessionCount - first) * securityCount);
  if (mark) bars.set(mark.lastBar);
  else if (sessionCount > 0) {
    const { cells, from } = rows.read(close, 0);
    for (let i = 0; i < securityCount; i++) bars[i] = hasBar(cells, from + i) ? 0 : -1;
  }
  const resumedSessions = new Int32Array(securityCount);
  /** Column, session before and session after of each gap. */
  let gaps = new Int32Array(3 * securityCount);
  let count = 0;
  for (let session = first + 1; session < sessionCount; session++) {
    const to = (session - first) * securityCount;
    const { cells, from } = rows.read(close, session);
    if (from < 0) {
      bars.copyWithin(to, to - securityCount, to);
      continue;
    }
    const resumedCount = takeBars({ close: cells, from, bars, to, session }, resumedSessions);
    if (3 * (count + resumedCount) > gaps.length) gaps = widenBars(gaps);
    for (let k = 0; k < resumedCount; k++) {
      const column = resumedSessions[k]!;
      const before = bars[to - securityCount + column]!;
      if (before < 0) continue;
      gaps[3 * count] = column;
      gaps[3 * count + 1] = before;
      gaps[3 * count++ + 2] = session;
    }
  }
  return { lastBar: bars, gaps: gaps.subarray(0, 3 * count) };
}

function widenBars(values: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const wide = new Int32Array(2 * values.length);
  wide.set(values);
  return wide;
}

/** Returns true if there is a close at a position. The position is negative for a session without closes. */
function hasBar(close: Float64Array, position: number): boolean {
  return position >= 0 && !Number.isNaN(close[position]!);
}

interface BarUpdate {
  readonly close: Float64Array;
  /** Position of the first close of the session. */
  readonly from: number;
  /** Latest bars by session; the row of the session is overwritten. */
  readonly bars: Int16Array | Int32Array;
  readonly to: number;
  readonly session: number;
}

/** Updates the latest bars. Writes the columns whose bars resume after a gap to `resumed`; returns their number. */
function takeBars({ close, from, bars, to, session }: BarUpdate, resumed: Int32Array): number {
  const securityCount = resumed.length;
  const previous = to - securityCount;
  let count = 0;
  for (let i = 0; i < securityCount; i++) {
    const price = close[from + i]!;
    const before = bars[previous + i]!;
    if (price === price) {
      bars[to + i] = session;
      if (before !== session - 1) resumed[count++] = i;
    } else {
      bars[to + i] = before;
    }
  }
  return count;
}
