import type { RunColumns } from '#domain/backtest/run-file/read.js';
import type { BlockName } from '#domain/backtest/run-file/schema.js';

/** Values of a panel read at a time: a quarter of a megabyte, which stays in a processor's second cache. */
const PART = 1 << 15;

/** The rows of a stored panel, to be asked for in ascending order: they are read by parts into the same memory. */
export interface PanelRows {
  /** A row; it is valid, and so is the one behind it, until a later row is asked for. */
  at(row: number): Float64Array;
  /** The row behind the one that was asked for last. */
  next(): Float64Array;
}

/** @param rows first and last row that are to be asked for, of a panel of the run's names */
export function panelRows(
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
