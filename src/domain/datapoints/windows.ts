import type { Statistic } from './aggregates.js';
import type { WindowReader } from './window-layout.js';
import type { Tally } from './tally.js';

export interface Window {
  /** Last session of the window. */
  readonly end: number;
  /** Number of sessions. The window may begin before the first session; its values there are missing. */
  readonly length: number;
  /** Minimum number of values; with fewer values the statistic is missing. */
  readonly observationsMin: number;
}

/** Returns half of the length of a window, the default of `observationsMin`. */
export function computeHalf(length: number): number {
  return Math.ceil(length / 2);
}

/**
 * Computes a statistic of each security over the trailing sessions of a window; NaN with too few values.
 * @param columns [n]
 * @returns [n]
 * @cost length * n cells read
 */
export function computeOverWindow(
  reader: WindowReader,
  statistic: Statistic,
  { end, length, observationsMin }: Window,
  columns: Int32Array,
): Float64Array {
  const result = new Float64Array(columns.length).fill(NaN);
  const observationsRequired = Math.max(1, observationsMin);
  const from = Math.max(0, end - length + 1);
  const sessions = end - from + 1;
  if (sessions < observationsRequired) return result;
  reader.windows(from, end, columns, ({ cells, starts, first }) => {
    statistic(
      { cells, starts, length: sessions, enough: observationsRequired },
      result.subarray(first, first + starts.length),
    );
  });
  return result;
}

/**
 * Counts the values of each security over the trailing sessions of a window. The count is NaN if it is lower than
 * required.
 * @returns [n]
 */
export function countOver(tally: Tally, { end, length, observationsMin }: Window, columns: Int32Array): Float64Array {
  const result = new Float64Array(columns.length);
  if (end >= 0) {
    const counts = tally.counts(Math.max(0, end - length + 1), end);
    for (let k = 0; k < result.length; k++) result[k] = counts[columns[k]!]!;
  }
  for (let k = 0; k < result.length; k++) if (result[k]! < observationsMin) result[k] = NaN;
  return result;
}

/**
 * Returns the values of each security on the trailing sessions of a window in time order; NaN is a missing value.
 * @returns [n * length]
 * @cost length * n cells read
 */
export function readTrailingValues(
  reader: WindowReader,
  { end, length }: Pick<Window, 'end' | 'length'>,
  columns: Int32Array,
): Float64Array {
  const values = new Float64Array(columns.length * length).fill(NaN);
  const from = Math.max(0, end - length + 1);
  const missingSessions = length - (end - from + 1);
  reader.windows(from, end, columns, ({ cells, starts, first }) => {
    for (let k = 0; k < starts.length; k++) {
      const start = starts[k]!;
      values.set(cells.subarray(start, start + length - missingSessions), (first + k) * length + missingSessions);
    }
  });
  return values;
}
