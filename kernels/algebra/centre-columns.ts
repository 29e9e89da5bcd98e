import { assert } from '../assert.js';

/** Weights of the rows of a panel. */
export interface RowWeights {
  /** Weights of the means, [rows], summing to 1; undefined for equal weights. */
  readonly weights: Float64Array | undefined;
  /**
   * Factors, [rows], not negative. Row t is multiplied by the square root of its factor, so the factor is the weight of
   * the row in X'X.
   */
  readonly factors: Float64Array;
}

/**
 * Subtracts the (weighted) mean of each column from a panel, in place. Then multiplies each row by the square root of
 * its factor, and sums the squares of each resulting column.
 * @param x        [rows x columns] row-major; becomes deviations from the column means by the roots of the factors.
 * @param rows     Weights of the means, and factors.
 * @param means    [columns], overwritten with the column means.
 * @param squares  [columns], overwritten with the sums of squares of the resulting columns.
 * @returns        Nothing; `x` is centred and scaled.
 * @throws         KernelFault on a shape mismatch.
 * @cost           Two passes over the panel.
 * @source         Definition. Each column is summed first row to last, independent of its neighbours: results are
 *                 bit-identical on every engine.
 */
export function centreColumns(x: Float64Array, rows: RowWeights, means: Float64Array, squares: Float64Array): void {
  const columns = means.length;
  const { weights, factors } = rows;
  const count = assertCentre(x, rows, means, squares);
  means.fill(0);
  for (let t = 0, row = 0; t < count; t++, row += columns) {
    const weight = weights === undefined ? 1 : weights[t]!;
    for (let i = 0; i < columns; i++) means[i]! += weight * x[row + i]!;
  }
  if (weights === undefined) for (let i = 0; i < columns; i++) means[i]! /= count;
  squares.fill(0);
  for (let t = 0, row = 0; t < count; t++, row += columns) {
    const scale = Math.sqrt(factors[t]!);
    for (let i = 0; i < columns; i++) {
      const value = scale * (x[row + i]! - means[i]!);
      x[row + i] = value;
      squares[i]! += value * value;
    }
  }
}

/** Checks the arguments and returns the number of rows of the panel. @throws KernelFault */
export function assertCentre(
  x: Float64Array,
  { weights, factors }: RowWeights,
  means: Float64Array,
  squares: Float64Array,
): number {
  const rows = x.length / means.length;
  assert(means.length >= 1 && Number.isInteger(rows), `x: ${x.length} values over ${means.length} columns`);
  assert(weights === undefined || weights.length === rows, `weights: ${weights?.length} for ${rows} rows`);
  assert(factors.length === rows, `factors: ${factors.length} for ${rows} rows`);
  assert(squares.length === means.length, `squares: ${squares.length} for ${means.length} columns`);
  return rows;
}
