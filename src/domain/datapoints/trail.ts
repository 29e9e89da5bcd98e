import { glanceAt } from './glance.js';
import { layOut, type WindowReader } from './laid-out.js';
import type { Series } from './series.js';

/**
 * Cells a trail keeps at most: what it takes for a year's window of twenty thousand names, 64 MB. Longer windows of
 * more names are glances.
 */
const CELLS_MAX = 8_000_000;

/**
 * Sessions that a trail has room for beyond the windows asked of it, as a share of theirs: each value is moved once or
 * twice in all.
 */
const SLACK = 0.5;

/**
 * The latest values of a series laid out name by name, so that the window of a name lies together in memory. Decisions
 * move on through time: a session is read once for all the windows it is in.
 *
 * @param names Columns of the market.
 * @param cellsMax Cells that are kept at most.
 */
export function createTrail(series: Series, names: number, cellsMax = CELLS_MAX): WindowReader {
  const glance = glanceAt(series);
  let cells = new Float64Array(0);
  /** Cells of a name: odd, so that names never share a cache set. */
  let stride = 0;
  /** Session of the first cell of each name. */
  let origin = 0;
  /** Latest session laid out of each name, before the origin when there is none, [N]. */
  const until = new Int32Array(names).fill(-1);
  /** Longest way back from the newest session that any window reached. */
  let reach = 0;
  let newest = -1;

  /** Room for windows that start so early: cleared when they start before everything that is kept, or do not fit. */
  const makeRoom = (from: number, end: number): void => {
    newest = Math.max(newest, end);
    const back = newest - from + 1;
    if (back > reach || from < origin) {
      reach = Math.max(reach, back);
      if (roomFor(reach) > stride) {
        stride = roomFor(reach);
        cells = new Float64Array(names * stride);
      }
      newest = end;
      origin = from;
      until.fill(from - 1);
    } else if (end - origin >= stride) {
      moveTo(newest - reach + 1);
    }
  };
  const moveTo = (start: number): void => {
    const dropped = start - origin;
    for (let column = 0; column < names; column++) {
      const at = column * stride;
      const retained = until[column]! - start + 1;
      if (retained > 0) cells.copyWithin(at, at + dropped, at + dropped + retained);
      else until[column] = start - 1;
    }
    origin = start;
  };

  return {
    windows(from, end, columns, visit) {
      const back = Math.max(reach, Math.max(newest, end) - from + 1);
      if (names * roomFor(back) > cellsMax) {
        glance.windows(from, end, columns, visit);
        return;
      }
      makeRoom(from, end);
      const first = layOut({ series, cells, stride, origin, until, end, columns, places: columns });
      series.panel?.gaps?.clear({ cells, stride, origin }, { from: first, to: end });
      visit({ cells, starts: columns.map((column) => column * stride + from - origin), first: 0 });
    },
  };
}

/** Cells of a name for windows that reach back so far: odd, so that names never share a cache set. */
const roomFor = (reach: number): number => Math.ceil(reach * (1 + SLACK)) | 1;
