import type { Statistic } from './aggregates.js';
import type { Series } from './series.js';

/** Columns gathered at once: their windows stay in the first cache levels. */
const BLOCK = 64;

export interface Window {
  /** Last session of the window. */
  readonly end: number;
  /** Sessions in it; it may reach back before the first one, where there are no values. */
  readonly length: number;
  /** Values below which the statistic is missing. */
  readonly observationsMin: number;
}

/** Half of a window: with fewer of its sessions holding a value the statistic is missing. */
export function halfOf(length: number): number {
  return Math.ceil(length / 2);
}

/**
 * A statistic of each name's values over the trailing sessions of a window, NaN where it has too few.
 *
 * @param columns [n]
 * @returns       [n]
 * @cost          length * n cells read once, in blocks of columns
 */
export function overWindow(series: Series, statistic: Statistic, window: Window, columns: Int32Array): Float64Array {
  const start = Math.max(0, window.end - window.length + 1);
  const height = window.end - start + 1;
  const result = new Float64Array(columns.length).fill(NaN);
  if (height < Math.max(1, window.observationsMin)) return result;
  const tile = new Float64Array(BLOCK * height); // [BLOCK x height]: one name's values lie together
  const counts = new Int32Array(BLOCK);
  const row = new Float64Array(BLOCK);
  for (let from = 0; from < columns.length; from += BLOCK) {
    const block = columns.subarray(from, from + BLOCK);
    gather({ series, start, end: window.end, block, row: row.subarray(0, block.length), tile, counts });
    for (let k = 0; k < block.length; k++) {
      const count = counts[k]!;
      if (count > 0 && count >= window.observationsMin) result[from + k] = statistic(tile.subarray(k * height, k * height + count), count);
    }
  }
  return result;
}

interface Gathering {
  readonly series: Series;
  readonly start: number;
  readonly end: number;
  readonly block: Int32Array;
  readonly row: Float64Array;
  readonly tile: Float64Array;
  readonly counts: Int32Array;
}

/** Lays the values of a block out by name, missing ones left out, and counts them. */
function gather({ series, start, end, block, row, tile, counts }: Gathering): void {
  const height = end - start + 1;
  counts.fill(0);
  for (let session = start; session <= end; session++) {
    series.fill(session, block, row);
    for (let k = 0; k < row.length; k++) {
      const value = row[k]!;
      if (value === value) tile[k * height + counts[k]!++] = value;
    }
  }
}
