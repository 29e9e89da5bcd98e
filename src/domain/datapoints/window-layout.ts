import { listPositions } from './ranking.js';
import type { Series } from './series.js';

/** Reader of the windows of a series. */
export interface WindowReader {
  /**
   * Calls `visit` for groups of consecutive columns whose windows are laid out. The window of `columns[k]` starts at
   * cell `starts[k]`.
   * @param from First session of the windows, not negative.
   * @param end Last session of the windows.
   * @param columns Ascending, [n].
   */
  windows(from: number, end: number, columns: Int32Array, visit: (laid: WindowLayout) => void): void;
}

/** Windows of some securities. The cells of each window are contiguous. Valid until the callback returns. */
export interface WindowLayout {
  readonly cells: Float64Array;
  /** First cell of each window, [m]. */
  readonly starts: Int32Array;
  /** Position of the first laid-out security in the requested columns; the others follow. */
  readonly first: number;
}

export interface WindowLayoutInput {
  readonly series: Series;
  readonly cells: Float64Array;
  /** Number of cells per security. */
  readonly stride: number;
  /** Session of the first cell of each slot. */
  readonly origin: number;
  /** Latest session laid out in each slot, updated to `end`, [places]. */
  readonly until: Int32Array;
  readonly end: number;
  readonly columns: Int32Array;
  /** Slot of each column, [n]. */
  readonly places: Int32Array;
}

/** Number of sessions read together. A cache line holds that many values, so each line is written only once. */
const ROWS = 8;

/** Memory for the sessions of series without a panel, shared by all readers of the thread. */
let filledCells = new Float64Array(0);

/** Lays out the sessions that the slots of some columns lack. @returns the first session that was laid out */
export function layOutWindows({
  series,
  cells,
  stride,
  origin,
  until,
  end,
  columns,
  places,
}: WindowLayoutInput): number {
  const n = columns.length;
  let oldest = end;
  let newest = -1;
  for (let k = 0; k < n; k++) {
    oldest = Math.min(oldest, until[places[k]!]!);
    newest = Math.max(newest, until[places[k]!]!);
  }
  const { panel } = series;
  if (panel === undefined && filledCells.length < ROWS * n) filledCells = new Float64Array(ROWS * n);
  const values = panel === undefined ? filledCells : panel.cells;
  const panelColumns = panel === undefined ? listPositions(columns) : columns;
  const rowOffset = panel === undefined ? 0 : panel.less;
  const rows = new Int32Array(ROWS);
  for (let session = oldest + 1; session <= end; session += ROWS) {
    const count = Math.min(ROWS, end - session + 1);
    for (let r = 0; r < count; r++) {
      rows[r] = panel === undefined ? r * n : panel.rowAt(session + r);
      if (panel === undefined) series.fill(session + r, columns, values.subarray(r * n, (r + 1) * n));
    }
    if (count === ROWS && newest < session && hasAllValues(rows)) {
      copyRows({ values, less: rowOffset, rows, at: panelColumns, cells, first: session - origin, stride, places });
      continue;
    }
    for (let k = 0; k < n; k++) {
      const position = places[k]!;
      const to = position * stride + session - origin;
      for (let r = Math.max(0, until[position]! - session + 1); r < count; r++) {
        const row = rows[r]!;
        if (row < 0) cells[to + r] = NaN;
        else cells[to + r] = values[row + panelColumns[k]!]! - rowOffset;
      }
    }
  }
  for (let k = 0; k < n; k++) if (until[places[k]!]! < end) until[places[k]!] = end;
  return oldest + 1;
}

function hasAllValues(rows: Int32Array): boolean {
  for (let r = 0; r < ROWS; r++) if (rows[r]! < 0) return false;
  return true;
}

interface CopyRows {
  readonly values: Float64Array;
  readonly less: number;
  /** Position of the first cell of each session, [ROWS]. */
  readonly rows: Int32Array;
  /** Column of each security in a session, [n]. */
  readonly at: Int32Array;
  readonly cells: Float64Array;
  /** Position of the first laid-out session in each slot. */
  readonly first: number;
  readonly stride: number;
  /** Slots of the securities, at least [n]. */
  readonly places: Int32Array;
}

/**
 * Copies sessions that every slot lacks and the series has. This is the usual case; without checks it is 4 times as
 * fast.
 */
function copyRows({ values, less, rows, at, cells, first, stride, places }: CopyRows): void {
  const [r0, r1, r2, r3, r4, r5, r6, r7] = [
    rows[0]!,
    rows[1]!,
    rows[2]!,
    rows[3]!,
    rows[4]!,
    rows[5]!,
    rows[6]!,
    rows[7]!,
  ];
  for (let k = 0; k < at.length; k++) {
    const column = at[k]!;
    const to = places[k]! * stride + first;
    cells[to] = values[r0 + column]! - less;
    cells[to + 1] = values[r1 + column]! - less;
    cells[to + 2] = values[r2 + column]! - less;
    cells[to + 3] = values[r3 + column]! - less;
    cells[to + 4] = values[r4 + column]! - less;
    cells[to + 5] = values[r5 + column]! - less;
    cells[to + 6] = values[r6 + column]! - less;
    cells[to + 7] = values[r7 + column]! - less;
  }
}
