import { assert } from '../assert.js';

/** Columns to select from a wider panel, and a constant to subtract from their values. */
export interface ColumnSelection {
  /** Number of columns of the wider panel. */
  readonly width: number;
  /** Indices of the selected columns, each below `width`, in the order of the result. */
  readonly columns: Int32Array;
  /** Constant subtracted from every value: 1 turns growth factors into returns. */
  readonly less: number;
}

/**
 * Copies columns of a panel into a narrower one.
 *
 * @param x          [rows x width] row-major.
 * @param selection  Selected columns, and the constant to subtract.
 * @param out        [rows x columns] row-major, overwritten.
 * @returns          Nothing; `out` holds the columns.
 * @throws           KernelFault on a shape mismatch or a column outside the panel.
 * @cost             One pass over both panels.
 * @source           Definition: results are bit-identical on every engine.
 */
export function selectColumns(x: Float64Array, selection: ColumnSelection, out: Float64Array): void {
  const rows = assertSelection(x, selection, out);
  const { width, columns, less } = selection;
  const n = columns.length;
  for (let t = 0; t < rows; t++) {
    for (let k = 0; k < n; k++) out[t * n + k] = x[t * width + columns[k]!]! - less;
  }
}

/** Checks the arguments and returns the number of rows of the panel. @throws KernelFault */
export function assertSelection(x: Float64Array, { width, columns }: ColumnSelection, out: Float64Array): number {
  const rows = x.length / width;
  assert(width >= 1 && Number.isInteger(rows), `x: ${x.length} values over ${width} columns`);
  assert(
    columns.every((column) => column >= 0 && column < width),
    `columns: one of ${columns.length} is outside the ${width} of the panel`,
  );
  assert(out.length === rows * columns.length, `out: ${out.length} values for ${rows} x ${columns.length}`);
  return rows;
}
