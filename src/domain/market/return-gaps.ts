import { readPanelRow, type SessionMarket } from './session-market.js';

/**
 * Sessions without a return, for securities after their first bar. A return needs bars on its session and on the
 * previous one, so a missing bar removes two returns. Ranges of sessions include both ends and begin after the first
 * session of the market.
 */
export interface ReturnGaps {
  /** Returns the gaps of some columns. @cost O(N + gaps of these sessions) */
  of(columns: Int32Array, { from, to }: GapSessions): GapsByColumn;
  /** Writes NaN to the cells of the gaps of every column. @cost O(N + gaps of these sessions) */
  clear({ cells, stride, origin }: ColumnPanel, { from, to }: GapSessions): void;
  /** Multiplies a value of each column by the growth over its gaps. @cost O(N + gaps of these sessions) */
  multiplyGrowth(values: Float64Array, columns: Int32Array, { from, to }: GapSessions): void;
}

export interface GapSessions {
  readonly from: number;
  readonly to: number;
}

export interface GapsByColumn {
  /** Position of the first gap session of each column, [n + 1]. */
  readonly starts: Int32Array;
  /** Gap sessions, ascending within a column. */
  readonly sessions: Int32Array;
}

/** Cells of consecutive sessions, column by column. */
export interface ColumnPanel {
  readonly cells: Float64Array;
  /** Number of cells per column. */
  readonly stride: number;
  /** Session of the first cell of each column. */
  readonly origin: number;
}

const gapsByGrowth = new WeakMap<Float64Array, ReturnGaps>();

/**
 * Finds the gaps of a growth panel. @param growth [S - first x N] from `computeGrowth`
 * @cost O(gaps), once per panel
 */
export function findReturnGaps(sm: SessionMarket, growth: Float64Array): ReturnGaps {
  const entry = gapsByGrowth.get(growth);
  if (entry) return entry;
  const gaps = computeGaps(sm, growth);
  gapsByGrowth.set(growth, gaps);
  return gaps;
}

function computeGaps(sm: SessionMarket, growth: Float64Array): ReturnGaps {
  const { securityCount, lastBar, first } = sm;
  const last = lastBar.subarray(lastBar.length - securityCount);
  const { starts, columns } = listGapsBySession(sm);
  let factors: Float64Array | undefined;
  const positionByColumn = new Int32Array(securityCount);
  const findPositions = (requestedColumns: Int32Array): Int32Array => {
    positionByColumn.fill(-1);
    for (let k = 0; k < requestedColumns.length; k++) positionByColumn[requestedColumns[k]!] = k;
    return positionByColumn;
  };
  return {
    of(requestedColumns, { from, to }) {
      const positions = findPositions(requestedColumns);
      const result = new Int32Array(requestedColumns.length + 1);
      for (let g = starts[from - first]!; g < starts[to - first + 1]!; g++) {
        const k = positions[columns[g]!]!;
        if (k >= 0) result[k + 1]!++;
      }
      for (let k = 0; k < requestedColumns.length; k++)
        result[k + 1]! += result[k]! + Math.max(0, to - Math.max(from - 1, last[requestedColumns[k]!]!));
      const next = result.slice();
      const sessions = new Int32Array(result.at(-1)!);
      for (let s = from; s <= to; s++) {
        for (let g = starts[s - first]!; g < starts[s - first + 1]!; g++) {
          const k = positions[columns[g]!]!;
          if (k >= 0) sessions[next[k]!++] = s;
        }
      }
      for (let k = 0; k < requestedColumns.length; k++)
        for (let s = Math.max(from, last[requestedColumns[k]!]! + 1); s <= to; s++) sessions[next[k]!++] = s;
      return { starts: result, sessions };
    },
    clear({ cells, stride, origin }, { from, to }) {
      for (let s = from; s <= to; s++)
        for (let g = starts[s - first]!; g < starts[s - first + 1]!; g++)
          cells[columns[g]! * stride + s - origin] = Number.NaN;
      for (let column = 0; column < securityCount; column++)
        for (let s = Math.max(from, last[column]! + 1); s <= to; s++) cells[column * stride + s - origin] = Number.NaN;
    },
    multiplyGrowth(values, requestedColumns, { from, to }) {
      factors ??= computeGrowthAtGaps(sm, growth, { starts, columns });
      const positions = findPositions(requestedColumns);
      for (let g = starts[from - first]!; g < starts[to - first + 1]!; g++) {
        const k = positions[columns[g]!]!;
        if (k >= 0) values[k]! *= factors[g]!;
      }
      for (let k = 0; k < requestedColumns.length; k++) {
        const column = requestedColumns[k]!;
        for (let s = Math.max(from, last[column]! + 1); s <= to; s++)
          values[k]! *= defaultToOne(growth[readPanelRow(sm, s) + column]!);
      }
    },
  };
}

/** Returns the factor, or 1 if it is missing. */
function defaultToOne(factor: number): number {
  return factor === factor ? factor : 1;
}

/** Columns without a return on each session, up to the last bar of each. */
interface GapsBySession {
  /** Position of the first column of each session, starting with the first session, [S - first + 1]. */
  readonly starts: Int32Array;
  readonly columns: Int32Array;
}

function listGapsBySession({ gaps, sessions, first }: SessionMarket): GapsBySession {
  const starts = new Int32Array(sessions.length - first + 1);
  for (let g = 0; g < gaps.length; g += 3)
    for (let s = Math.max(gaps[g + 1]!, first) + 1; s <= gaps[g + 2]!; s++) starts[s - first + 1]!++;
  for (let row = 1; row < starts.length; row++) starts[row]! += starts[row - 1]!;
  const next = starts.slice();
  const columns = new Int32Array(starts.at(-1)!);
  for (let g = 0; g < gaps.length; g += 3)
    for (let s = Math.max(gaps[g + 1]!, first) + 1; s <= gaps[g + 2]!; s++) columns[next[s - first]!++] = gaps[g]!;
  return { starts, columns };
}

function computeGrowthAtGaps(
  { securityCount }: SessionMarket,
  growth: Float64Array,
  { starts, columns }: GapsBySession,
): Float64Array {
  const factors = new Float64Array(columns.length);
  for (let row = 0; row < starts.length - 1; row++)
    for (let g = starts[row]!; g < starts[row + 1]!; g++)
      factors[g] = defaultToOne(growth[row * securityCount + columns[g]!]!);
  return factors;
}
