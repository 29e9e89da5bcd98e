import { expect, test } from 'vitest';
import { computeSymmetricEigenvalues, findEigenvalueRange } from '#kernels/algebra/symmetric-eigen.js';

test('the range of a symmetric matrix has its smallest and its largest eigenvalue', () => {
  // A matrix of two blocks, diag(1, 4) and [[2, 1], [1, 2]]. The second block has eigenvalues 1 and 3.
  const a = Float64Array.of(1, 0, 0, 0, 0, 4, 0, 0, 0, 0, 2, 1, 0, 0, 1, 2);
  const before = a.slice();
  const range = findEigenvalueRange(computeSymmetricEigenvalues, a, 4)!;
  expect(range.smallest).toBeCloseTo(1, 13);
  expect(range.largest).toBeCloseTo(4, 13);
  expect(a).toEqual(before);
});

test('a matrix that is not finite has no range', () => {
  expect(
    findEigenvalueRange(computeSymmetricEigenvalues, Float64Array.of(1, Number.NaN, Number.NaN, 1), 2),
  ).toBeUndefined();
});
