import { fc } from '../fast-check.js';

/**
 * Random values with the magnitude of returns and weights. The squares of smaller values would underflow, and estimates
 * need not support this.
 */
export const values = fc.integer({ min: -10_000, max: 10_000 }).map((thousandths) => thousandths / 1000);

export interface Matrix {
  readonly rows: number;
  readonly columns: number;
  readonly data: Float64Array;
}

/** Creates random small dense matrices, row-major. */
export function createMatrices(
  options: {
    readonly rowsMin?: number;
    readonly rowsMax?: number;
    readonly columnsMin?: number;
    readonly columnsMax?: number;
  } = {},
): fc.Arbitrary<Matrix> {
  const { rowsMin = 1, rowsMax = 12, columnsMin = 1, columnsMax = 9 } = options;
  return fc
    .tuple(fc.integer({ min: rowsMin, max: rowsMax }), fc.integer({ min: columnsMin, max: columnsMax }))
    .chain(([rows, columns]) =>
      fc
        .array(values, { minLength: rows * columns, maxLength: rows * columns })
        .map((data) => ({ rows, columns, data: Float64Array.from(data) })),
    );
}

/** Random positive definite matrices of moderate condition, X'X + I. */
export const positiveDefinite = createMatrices({ rowsMin: 1, rowsMax: 8, columnsMin: 1, columnsMax: 8 }).map(
  ({ rows, columns, data }) => {
    const a = new Float64Array(columns * columns);
    for (let i = 0; i < columns; i++) {
      for (let j = 0; j < columns; j++) {
        let total = i === j ? 1 : 0;
        for (let t = 0; t < rows; t++) total += data[t * columns + i]! * data[t * columns + j]!;
        a[i * columns + j] = total;
      }
    }
    return { order: columns, a };
  },
);
