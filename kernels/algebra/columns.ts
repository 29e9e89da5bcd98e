import { assert } from '../assert.js';

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

export interface ColumnGroups {
  /** Group of each column, [columns], each below `count`. */
  readonly groupAt: Int32Array;
  /** Number of groups, each with at least one column. */
  readonly count: number;
}

/**
 * Subtracts the mean of each group of columns from the values of the group, row by row, in place.
 *
 * @param x       [rows x columns] row-major, finite; becomes deviations from the means of the groups.
 * @param groups  Assignment of columns to groups.
 * @param means   [rows x count], overwritten with the means.
 * @throws        KernelFault on a shape mismatch or a group without columns.
 * @cost          Reads each value twice and divides once per mean.
 * @source        Least squares on indicators: fitted values are group means. Each group is summed from first to last
 *                column, regardless of the columns between them: results are bit-identical on every engine.
 */
export function centreGroups(x: Float64Array, groups: ColumnGroups, means: Float64Array): void {
  const { rows, sizes } = assertGroups(x, groups, means);
  const { groupAt, count } = groups;
  const columns = groupAt.length;
  means.fill(0);
  for (let t = 0; t < rows; t++) {
    const row = t * columns;
    const position = t * count;
    for (let i = 0; i < columns; i++) means[position + groupAt[i]!]! += x[row + i]!;
    for (let g = 0; g < count; g++) means[position + g]! /= sizes[g]!;
    for (let i = 0; i < columns; i++) x[row + i]! -= means[position + groupAt[i]!]!;
  }
}

/** Checks the arguments and returns the number of rows and of columns per group. @throws KernelFault */
export function assertGroups(
  x: Float64Array,
  { groupAt, count }: ColumnGroups,
  means: Float64Array,
): { readonly rows: number; readonly sizes: Int32Array } {
  const columns = groupAt.length;
  const rows = x.length / columns;
  assert(columns >= 1 && Number.isInteger(rows), `x: ${x.length} values over ${columns} columns`);
  const sizes = new Int32Array(count);
  for (const group of groupAt) {
    assert(group >= 0 && group < count, `groups: ${group} of ${count}`);
    sizes[group]!++;
  }
  assert(
    sizes.every((size) => size > 0),
    `groups: one of ${count} has no column`,
  );
  assert(means.length === rows * count, `means: ${means.length} values for ${rows} x ${count}`);
  return { rows, sizes };
}

/**
 * Sums the squared deviations from the mean for each column of a panel.
 * @param x    [rows x columns] row-major; not changed.
 * @param out  [columns], overwritten.
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

/** Columns to select from a wider panel, and a constant to subtract from their values. */
export interface ColumnSelection {
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

/**
 * Sums the squares of the weighted row sums of a panel: w' X'X w.
 *
 * @param x        [rows x columns] row-major.
 * @param weights  [columns].
 * @returns        The sum over the rows of (sum_i x_ti w_i)^2.
 * @throws         KernelFault on a shape mismatch.
 * @cost           One pass over the panel.
 * @source         Definition. Each row is summed from first to last column and the squares from first to last row:
 *                 results are bit-identical on every engine.
 */
export function sumSquaredRowSums(x: Float64Array, weights: Float64Array): number {
  assertRowSums(x, weights);
  let total = 0;
  for (let row = 0; row < x.length; row += weights.length) {
    let sum = 0;
    for (let i = 0; i < weights.length; i++) sum += x[row + i]! * weights[i]!;
    total += sum * sum;
  }
  return total;
}

/** Checks the arguments and returns the number of rows of the panel. @throws KernelFault */
export function assertRowSums(x: Float64Array, weights: Float64Array): number {
  const rows = x.length / weights.length;
  assert(weights.length >= 1 && Number.isInteger(rows), `x: ${x.length} values over ${weights.length} columns`);
  return rows;
}
