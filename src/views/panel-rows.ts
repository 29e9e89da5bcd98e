import type { RunColumns } from '#domain/backtest/run-file/read.js';
import type { BlockName } from '#domain/backtest/run-file/schema.js';

/** Number of panel values that are read at a time. They take 256 KB and fit into a second-level cache. */
const PART = 1 << 15;

/**
 * Reader of the rows of a stored panel. Rows must be requested in ascending order. They are read in parts into the same
 * memory.
 */
export interface PanelRows {
  /** Returns a row. The row and the row after it are valid until a later row is requested. */
  at(row: number): Float64Array;
  /** Returns the row after the last requested one. */
  next(): Float64Array;
}

/**
 * Opens a reader of a stored panel.
 * @param rows first and last row to be requested
 */
export function openPanelRows(
  columns: RunColumns,
  block: BlockName,
  { from, to }: { readonly from: number; readonly to: number },
): PanelRows {
  const width = columns.header.names.length;
  const count = Math.max(0, Math.min(to - from + 1, Math.max(2, Math.floor(PART / width))));
  const part = new Float64Array(count * width);
  const views = Array.from({ length: count }, (_, k) => part.subarray(k * width, (k + 1) * width));
  let first = from;
  let end = from;
  let request = from;
  return {
    at(row) {
      request = row;
      if (row >= end || (row + 1 === end && row < to)) {
        first = row;
        end = Math.min(row + count, to + 1);
        columns.fill(block, first * width, part.subarray(0, (end - first) * width));
      }
      return views[row - first]!;
    },
    next: () => views[request + 1 - first]!,
  };
}
