import { describe, expect, test } from 'vitest';
import { addLoaded, subtractLoaded } from '#kernels/optimisation/factors/curvature.js';
import { seeded } from '../../../seeded.js';

const createPanel = (length: number, seed: number): Float64Array => {
  const random = seeded(seed);
  return Float64Array.from({ length }, () => random() - 0.5);
};

/** Shapes near the blocks of four and eight rows. Each shape has one right-hand side or three. */
const SHAPES = [1, 3, 4, 5, 8, 11, 17].flatMap((rows) => [1, 3].map((columns) => ({ rows, columns, factors: 7 })));

describe('passes over the loadings of securities', () => {
  test.each(SHAPES)(
    'are bit-identical to passes over single securities: $rows rows, $columns columns',
    ({ rows, columns, factors }) => {
      const loadings = createPanel(rows * factors, 1);
      const b = createPanel(rows * columns, 2);
      const x = createPanel(factors * columns, 3);
      const sums = x.slice();
      const residuals = b.slice();
      for (let p = 0; p < rows; p++)
        for (let f = 0; f < factors; f++)
          for (let c = 0; c < columns; c++) {
            sums[f * columns + c]! += loadings[p * factors + f]! * b[p * columns + c]!;
            residuals[p * columns + c]! -= loadings[p * factors + f]! * x[f * columns + c]!;
          }
      const shape = { loadings, rows, factors, columns };
      const sumOfPasses = x.slice();
      addLoaded(shape, b, sumOfPasses);
      const residual = b.slice();
      subtractLoaded(shape, x, residual);
      expect([...sumOfPasses]).toEqual([...sums]);
      expect([...residual]).toEqual([...residuals]);
    },
  );
});
