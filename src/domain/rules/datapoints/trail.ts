import { allOf } from '../ranking.js';
import type { Series } from './series.js';

/**
 * Cells a trail keeps: what it takes for a year's window of ten thousand names, 64 MB. Longer windows of more names are laid out
 * anew, so many names at a time, for each question.
 */
const CELLS_MAX = 8_000_000;

/** Sessions that a trail has room for beyond the windows asked of it, as a share of theirs: each value is moved once or twice in all. */
const SLACK = 0.5;

/**
 * The latest values of a series laid out name by name, so that the window of a name lies together in memory. Decisions move on
 * through time: a session is read once for all the windows it is in.
 */
export interface Trail {
  /**
   * Calls back with stretches of the columns whose windows are laid out: the window of `columns[k]` starts at the cell `starts[k]`.
   * @param from    First session of the windows, not negative.
   * @param end     Last session of the windows.
   * @param columns Ascending, [n].
   */
  windows(from: number, end: number, columns: Int32Array, visit: (laid: LaidOut) => void): void;
}

export interface LaidOut {
  readonly cells: Float64Array;
  /** Where the windows start, [m]. */
  readonly starts: Int32Array;
  /** Position in the columns asked for of the first of these, the others follow. */
  readonly first: number;
}

/**
 * @param names Columns of the market.
 * @param cellsMax Cells that are kept at most.
 */
export function createTrail(series: Series, names: number, cellsMax = CELLS_MAX): Trail {
  let cells = new Float64Array(0);
  /** Cells of a name: odd, so that names never share a cache set. */
  let stride = 0;
  /** Names with a place; fewer than there are when all of them would take too much room. */
  let places = 0;
  /** Session of the first cell of each place. */
  let origin = 0;
  /** Latest session laid out of each place, before the origin when there is none, [places]. */
  let until = new Int32Array(0);
  /** Longest way back from the newest session that any window reached. */
  let reach = 0;
  let newest = -1;

  /** Room for windows that start so early: cleared when they start before everything that is kept, or do not fit. */
  const makeRoom = (from: number, end: number): void => {
    newest = Math.max(newest, end);
    const back = newest - from + 1;
    if (back > reach || from < origin) {
      reach = Math.max(reach, back);
      const room = Math.ceil(reach * (1 + SLACK)) | 1;
      if (room > stride) {
        stride = room;
        places = Math.min(names, Math.max(1, Math.floor(cellsMax / stride)));
        cells = new Float64Array(places * stride);
        until = new Int32Array(places);
      }
      newest = end;
      clear(from);
    } else if (end - origin >= stride) {
      moveTo(newest - reach + 1);
    }
  };
  const clear = (from: number): void => {
    origin = from;
    until.fill(from - 1);
  };
  const moveTo = (start: number): void => {
    const gone = start - origin;
    for (let place = 0; place < places; place++) {
      const at = place * stride;
      const kept = until[place]! - start + 1;
      if (kept > 0) cells.copyWithin(at, at + gone, at + gone + kept);
      else until[place] = start - 1;
    }
    origin = start;
  };

  return {
    windows(from, end, columns, visit) {
      makeRoom(from, end);
      const hasPlaceEach = places === names;
      const step = hasPlaceEach ? columns.length : places;
      for (let first = 0; first < columns.length; first += step) {
        const asked = columns.subarray(first, first + step);
        if (!hasPlaceEach) clear(from);
        const placesOf = hasPlaceEach ? asked : allOf(asked);
        layOut({ series, cells, stride, origin, until, end, columns: asked, places: placesOf });
        const starts = new Int32Array(asked.length);
        for (let k = 0; k < asked.length; k++) starts[k] = placesOf[k]! * stride + from - origin;
        visit({ cells, starts, first });
      }
    },
  };
}

interface LayOutInput {
  readonly series: Series;
  readonly cells: Float64Array;
  readonly stride: number;
  readonly origin: number;
  readonly until: Int32Array;
  readonly end: number;
  readonly columns: Int32Array;
  /** Place of each column, [n]. */
  readonly places: Int32Array;
}

/** Sessions read side by side: as many values as a cache line holds, so that each line of a place is written once. */
const ROWS = 8;

/** Reads the sessions that the places of some columns lack. */
function layOut({ series, cells, stride, origin, until, end, columns, places }: LayOutInput): void {
  const n = columns.length;
  let oldest = end;
  for (let k = 0; k < n; k++) oldest = Math.min(oldest, until[places[k]!]!);
  const { panel } = series;
  const values = panel === undefined ? new Float64Array(ROWS * n) : panel.cells;
  const at = panel === undefined ? allOf(columns) : columns;
  const rows = new Int32Array(ROWS);
  for (let session = oldest + 1; session <= end; session += ROWS) {
    const count = Math.min(ROWS, end - session + 1);
    for (let r = 0; r < count; r++) {
      rows[r] = panel === undefined ? r * n : panel.rowAt(session + r);
      if (panel === undefined) series.fill(session + r, columns, values.subarray(r * n, (r + 1) * n));
    }
    for (let k = 0; k < n; k++) {
      const place = places[k]!;
      const to = place * stride + session - origin;
      for (let r = Math.max(0, until[place]! - session + 1); r < count; r++) {
        const row = rows[r]!;
        if (row < 0) cells[to + r] = NaN;
        else cells[to + r] = values[row + at[k]!]!;
      }
    }
  }
  for (let k = 0; k < n; k++) if (until[places[k]!]! < end) until[places[k]!] = end;
}
