import type { Statistic, WindowRows } from './aggregates.js';
import type { Series } from './series.js';

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

/** Names whose window is worked on at once: what is kept of them stays in the first cache level. */
const BLOCK = 256;

/**
 * A statistic of each name's values over the trailing sessions of a window, NaN where it has too few.
 *
 * @param columns [n]
 * @returns       [n]
 * @cost          length * n cells read
 */
export function overWindow(series: Series, statistic: Statistic, window: Window, columns: Int32Array): Float64Array {
  const result = new Float64Array(columns.length).fill(NaN);
  const enough = Math.max(1, window.observationsMin);
  const start = Math.max(0, window.end - window.length + 1);
  if (window.end - start + 1 < enough) return result;
  const counts = new Int32Array(BLOCK);
  for (let from = 0; from < columns.length; from += BLOCK) {
    const block = columns.subarray(from, from + BLOCK);
    const values = statistic(windowRows(series, start, window.end, block), counts);
    for (let k = 0; k < values.length; k++) if (counts[k]! >= enough) result[from + k] = values[k]!;
  }
  return result;
}

function windowRows(series: Series, start: number, end: number, columns: Int32Array): WindowRows {
  const shape = { names: columns.length, height: end - start + 1 };
  const { panel } = series;
  if (panel !== undefined) {
    return {
      ...shape,
      at: columns,
      forEach(visit) {
        for (let session = start; session <= end; session++) {
          const from = panel.rowAt(session);
          if (from >= 0) visit(panel.cells, from);
        }
      },
    };
  }
  const row = new Float64Array(columns.length);
  return {
    ...shape,
    at: Int32Array.from(columns, (_, k) => k),
    forEach(visit) {
      for (let session = start; session <= end; session++) {
        series.fill(session, columns, row);
        visit(row, 0);
      }
    },
  };
}
