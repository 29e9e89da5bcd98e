import { fc } from '../../fast-check.js';
import { expect, test } from 'vitest';
import { centreColumns } from '#kernels/algebra/columns.js';
import { computeSymmetricRankK } from '#kernels/algebra/products.js';
import { KernelFault } from '#kernels/assert.js';

test('uses the mean of all values of its column, and sums the squares of the deviations', () => {
  const x = Float64Array.of(1, 10, 2, 20, 6, 30);
  const [means, squares] = [new Float64Array(2), Float64Array.of(7, 7)];
  centreColumns(x, { weights: undefined, factors: Float64Array.of(1, 1, 1) }, means, squares);
  expect([...means]).toEqual([3, 20]);
  expect([...x]).toEqual([-2, -10, -1, 0, 3, 10]);
  expect([...squares]).toEqual([4 + 1 + 9, 200]);
});

test('weights the rows in the mean', () => {
  const x = Float64Array.of(1, 3);
  const means = new Float64Array(1);
  centreColumns(
    x,
    { weights: Float64Array.of(0.75, 0.25), factors: Float64Array.of(1, 1) },
    means,
    new Float64Array(1),
  );
  expect([...means, ...x]).toEqual([1.5, -0.5, 1.5]);
});

test('weights the rows in the product of the panel with itself by their factors', () => {
  const x = Float64Array.of(-1, -2, 1, 2);
  const squares = new Float64Array(2);
  centreColumns(x, { weights: undefined, factors: Float64Array.of(4, 9) }, new Float64Array(2), squares);
  const product = new Float64Array(4);
  computeSymmetricRankK(x, 2, product);
  expect([...product]).toEqual([13, 26, 26, 52]);
  expect([...squares]).toEqual([13, 52]);
});

test('a column is centred independently of its neighbours', () => {
  const column = fc.array(fc.double({ min: -1e3, max: 1e3, noNaN: true }), { minLength: 5, maxLength: 5 });
  const weighting = { weights: undefined, factors: Float64Array.of(1, 0.5, 3, 0, 2) };
  fc.assert(
    fc.property(column, column, (a, b) => {
      const expected = Float64Array.from(a);
      const matrix = Float64Array.from(a.flatMap((value, t) => [b[t]!, value]));
      centreColumns(expected, weighting, new Float64Array(1), new Float64Array(1));
      centreColumns(matrix, weighting, new Float64Array(2), new Float64Array(2));
      expect(matrix.filter((_, i) => i % 2 === 1)).toEqual(expected);
    }),
  );
});

test('refuses panels of a wrong shape, and missing weights, factors or sums', () => {
  const prepareCentring = (
    values: number,
    weights: number | undefined,
    factors: number,
    means: number,
    squares = means,
  ) => {
    const weighting = {
      weights: weights === undefined ? undefined : new Float64Array(weights),
      factors: new Float64Array(factors),
    };
    return () => centreColumns(new Float64Array(values), weighting, new Float64Array(means), new Float64Array(squares));
  };
  expect(prepareCentring(5, undefined, 2, 2)).toThrow(KernelFault);
  expect(prepareCentring(4, undefined, 2, 0)).toThrow(KernelFault);
  expect(prepareCentring(4, 1, 2, 2)).toThrow(KernelFault);
  expect(prepareCentring(4, undefined, 1, 2)).toThrow(KernelFault);
  expect(prepareCentring(4, undefined, 2, 2, 1)).toThrow(KernelFault);
});
