import { assert } from '../assert.js';

/**
 * Sums the squared deviations from the mean for each column of a panel.
 * @param x    [rows x columns] row-major; not changed.
 * @param out  [columns], overwritten.
 * @returns    Nothing; the sums are in `out`.
 * @throws     KernelFault on a shape mismatch.
 * @cost       Two passes over the panel.
 * @source     Definition; bit-identical to `centreColumns` with factors of 1 on every engine.
 */
export function computeColumnDeviations(x: Float64Array, out: Float64Array): void {
  const columns = out.length;
  const rows = assertColumns(x, out);
  const means = new Float64Array(columns);
  for (let row = 0; row < x.length; row += columns) for (let i = 0; i < columns; i++) means[i]! += x[row + i]!;
  for (let i = 0; i < columns; i++) means[i]! /= rows;
  out.fill(0);
  for (let row = 0; row < x.length; row += columns) {
    for (let i = 0; i < columns; i++) {
      const deviation = x[row + i]! - means[i]!;
      out[i]! += deviation * deviation;
    }
  }
}

/** Checks the arguments and returns the number of rows of the panel. @throws KernelFault */
export function assertColumns(x: Float64Array, out: Float64Array): number {
  const rows = x.length / out.length;
  assert(out.length >= 1 && Number.isInteger(rows), `x: ${x.length} values over ${out.length} columns`);
  return rows;
}
