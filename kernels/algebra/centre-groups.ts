import { assert } from '../assert.js';

/** Columns in groups. */
export interface ColumnGroups {
  /** Group of each column, [columns], each below `count`. */
  readonly groupAt: Int32Array;
  /** Groups, each with a column at least. */
  readonly count: number;
}

/**
 * Subtracts from every value of a panel the mean of its group in its row, in place.
 *
 * @param x       [rows x columns] row-major, finite; becomes deviations from the means of the groups.
 * @param groups  Columns in groups.
 * @param means   [rows x count], overwritten with the means.
 * @returns       Nothing; `x` is centred.
 * @throws        KernelFault on a shape mismatch or a group without columns.
 * @cost          Two readings of each value and a division for each mean.
 * @source        Least squares on indicators: fitted values are group means. Each group is summed from first to last
 *                column, regardless of the columns between them: every engine gives the same bits.
 */
export function centreGroups(x: Float64Array, groups: ColumnGroups, means: Float64Array): void {
  const { rows, sizes } = assertGroups(x, groups, means);
  const { groupAt, count } = groups;
  const columns = groupAt.length;
  means.fill(0);
  for (let t = 0; t < rows; t++) {
    const row = t * columns;
    const at = t * count;
    for (let i = 0; i < columns; i++) means[at + groupAt[i]!]! += x[row + i]!;
    for (let g = 0; g < count; g++) means[at + g]! /= sizes[g]!;
    for (let i = 0; i < columns; i++) x[row + i]! -= means[at + groupAt[i]!]!;
  }
}

/** @returns rows of a panel, and columns of each group. @throws KernelFault */
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
