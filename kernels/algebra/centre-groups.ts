import { assert } from '../assert.js';

/** Assignment of columns to groups. */
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
 * @returns       Nothing; `x` is centred.
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
