import { listPositions } from './ranking.js';
import { layOutWindows, type WindowReader } from './window-layout.js';
import type { Series } from './series.js';

/** Number of cells laid out at a time: 256 KB, which stay in the cache of a core until they are read. */
const CELLS_PER_BATCH = 32_768;

/** Memory shared by all reads of the thread; results do not refer to it. */
let cellBuffer = new Float64Array(0);

/**
 * Creates a reader of windows for a single decision. It lays out a number of securities at a time, without caching.
 * @param cellsMax Maximum number of cells laid out at a time, unless one window is longer.
 */
export function createSampleReader(series: Series, cellsMax = CELLS_PER_BATCH): WindowReader {
  return {
    windows(from, end, columns, visit) {
      const gaps = series.panel?.gaps?.of(columns, { from, to: end });
      const stride = (end - from + 1) | 1; // odd, so that securities never share a cache set
      const step = Math.min(columns.length, Math.max(1, Math.floor(cellsMax / stride)));
      if (cellBuffer.length < step * stride) cellBuffer = new Float64Array(Math.max(CELLS_PER_BATCH, step * stride));
      const positions = listPositions({ length: step });
      const starts = positions.map((place) => place * stride);
      const latestSessions = new Int32Array(step);
      for (let first = 0; first < columns.length; first += step) {
        const request = columns.subarray(first, first + step);
        latestSessions.fill(from - 1);
        layOutWindows({
          series,
          cells: cellBuffer,
          stride,
          origin: from,
          until: latestSessions,
          end,
          columns: request,
          places: positions,
        });
        if (gaps !== undefined) {
          for (let k = 0; k < request.length; k++)
            for (let g = gaps.starts[first + k]!; g < gaps.starts[first + k + 1]!; g++)
              cellBuffer[k * stride + gaps.sessions[g]! - from] = NaN;
        }
        visit({ cells: cellBuffer, starts: starts.subarray(0, request.length), first });
      }
    },
  };
}
