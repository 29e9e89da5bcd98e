import { assert } from '../assert.js';

/**
 * Subtracts the (weighted) mean of each column of a panel in place.
 *
 * @param x        [rows x columns] row-major; becomes deviations from the column means.
 * @param weights  [rows] summing to 1, or undefined for equal weights.
 * @param means    [columns], overwritten with the column means.
 * @returns        Nothing; `x` is centred.
 * @throws         KernelFault on a shape mismatch.
 * @cost           Two passes over the panel.
 * @source         Definition. Each column is summed first row to last, whatever stands beside it: every engine gives
 *   the same bits.
 */
export function centreColumns(x: Float64Array, weights: Float64Array | undefined, means: Float64Array): void {
  const columns = means.length;
  const rows = assertCentre(x, weights, means);
  means.fill(0);
  for (let t = 0, row = 0; t < rows; t++, row += columns) {
    const weight = weights === undefined ? 1 : weights[t]!;
    for (let i = 0; i < columns; i++) means[i]! += weight * x[row + i]!;
  }
  if (weights === undefined) for (let i = 0; i < columns; i++) means[i]! /= rows;
  for (let t = 0, row = 0; t < rows; t++, row += columns) subtractRow(x, row, means);
}

/** @returns the rows of a panel. @throws KernelFault */
export function assertCentre(x: Float64Array, weights: Float64Array | undefined, means: Float64Array): number {
  const rows = x.length / means.length;
  assert(means.length >= 1 && Number.isInteger(rows), `x: ${x.length} values over ${means.length} columns`);
  assert(weights === undefined || weights.length === rows, `weights: ${weights?.length} for ${rows} rows`);
  return rows;
}

function subtractRow(x: Float64Array, row: number, means: Float64Array): void {
  for (let i = 0; i < means.length; i++) x[row + i]! -= means[i]!;
}
