import { createSampleReader } from './sample-series.js';
import { layOutWindows, type WindowReader } from './window-layout.js';
import type { Series } from './series.js';

/**
 * Maximum number of cells in a cache: 64 MB, which suffices for a one-year window of 20,000 securities. Larger windows
 * are not cached.
 */
const CELLS_MAX = 8_000_000;

/**
 * Additional space of a cache, relative to the requested windows. With this space each value is moved only once or
 * twice in total.
 */
const EXTRA_SPACE_FRACTION = 0.5;

/**
 * Creates a reader that lays out the latest values of a series by security, so that the window of a security is
 * contiguous in memory. Decisions move forward in time, so each session is read only once for all windows that contain
 * it.
 * @param securityCount Number of columns of the market.
 * @param cellsMax Maximum number of cached cells.
 */
export function createTrail(series: Series, securityCount: number, cellsMax = CELLS_MAX): WindowReader {
  const sampleReader = createSampleReader(series);
  let cells = new Float64Array(0);
  /** Number of cells per security: odd, so that securities never share a cache set. */
  let stride = 0;
  /** Session of the first cell of each security. */
  let origin = 0;
  /** Latest session laid out for each security; before the origin if there is none, [N]. */
  const latestSessions = new Int32Array(securityCount).fill(-1);
  /** Longest look-back from the newest session of all windows so far. */
  let reach = 0;
  let newest = -1;

  /**
   * Makes space for windows that start on a session. Clears the cache if they start before its first session or do not
   * fit.
   */
  const reserveSpace = (from: number, end: number): void => {
    newest = Math.max(newest, end);
    const back = newest - from + 1;
    if (back > reach || from < origin) {
      reach = Math.max(reach, back);
      if (computeStride(reach) > stride) {
        stride = computeStride(reach);
        cells = new Float64Array(securityCount * stride);
      }
      newest = end;
      origin = from;
      latestSessions.fill(from - 1);
    } else if (end - origin >= stride) {
      moveTo(newest - reach + 1);
    }
  };
  const moveTo = (start: number): void => {
    const droppedCount = start - origin;
    for (let column = 0; column < securityCount; column++) {
      const position = column * stride;
      const retainedCount = latestSessions[column]! - start + 1;
      if (retainedCount > 0)
        cells.copyWithin(position, position + droppedCount, position + droppedCount + retainedCount);
      else latestSessions[column] = start - 1;
    }
    origin = start;
  };

  return {
    windows(from, end, columns, visit) {
      const back = Math.max(reach, Math.max(newest, end) - from + 1);
      if (securityCount * computeStride(back) > cellsMax) {
        sampleReader.windows(from, end, columns, visit);
        return;
      }
      reserveSpace(from, end);
      const first = layOutWindows({
        series,
        cells,
        stride,
        origin,
        until: latestSessions,
        end,
        columns,
        places: columns,
      });
      series.panel?.gaps?.clear({ cells, stride, origin }, { from: first, to: end });
      visit({ cells, starts: columns.map((column) => column * stride + from - origin), first: 0 });
    },
  };
}

/**
 * Returns the number of cells per security for windows with a look-back. The number is odd, so that securities never
 * share a cache set.
 */
const computeStride = (reach: number): number => Math.ceil(reach * (1 + EXTRA_SPACE_FRACTION)) | 1;
