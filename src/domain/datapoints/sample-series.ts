import { listAllPositions } from './ranking.js';
import { layOut, type WindowReader } from './window-layout.js';
import type { Series } from './series.js';

/** Number of cells laid out at a time: 256 KB, which stay in the cache of a core until they are read. */
const CELLS_AT_ONCE = 32_768;

/** Memory shared by all reads of the thread; results do not refer to it. */
let cells = new Float64Array(0);

/**
 * Creates a reader of windows for a single decision. It lays out a number of securities at a time, without caching.
 * @param cellsMax Maximum number of cells laid out at a time, unless one window is longer.
 */
export function createSampleReader(series: Series, cellsMax = CELLS_AT_ONCE): WindowReader {
  return {
    windows(from, end, columns, visit) {
      const gaps = series.panel?.gaps?.of(columns, { from, to: end });
      const stride = (end - from + 1) | 1; // odd, so that securities never share a cache set
      const step = Math.min(columns.length, Math.max(1, Math.floor(cellsMax / stride)));
      if (cells.length < step * stride) cells = new Float64Array(Math.max(CELLS_AT_ONCE, step * stride));
      const places = listAllPositions({ length: step });
      const starts = places.map((place) => place * stride);
      const until = new Int32Array(step);
      for (let first = 0; first < columns.length; first += step) {
        const request = columns.subarray(first, first + step);
        until.fill(from - 1);
        layOut({ series, cells, stride, origin: from, until, end, columns: request, places });
        if (gaps !== undefined) {
          for (let k = 0; k < request.length; k++)
            for (let g = gaps.starts[first + k]!; g < gaps.starts[first + k + 1]!; g++)
              cells[k * stride + gaps.sessions[g]! - from] = NaN;
        }
        visit({ cells, starts: starts.subarray(0, request.length), first });
      }
    },
  };
}
