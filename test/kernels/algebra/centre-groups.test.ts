import { expect, test } from 'vitest';
import { centreGroups } from '#kernels/algebra/columns.js';
import { KernelFault } from '#kernels/assert.js';

test('returns the mean of each group in each row and the deviations from it', () => {
  const x = Float64Array.of(1, 10, 3, 2, 20, 6);
  const means = new Float64Array(4).fill(9);
  centreGroups(x, { groupAt: Int32Array.of(1, 0, 1), count: 2 }, means);
  expect([...means]).toEqual([10, 2, 20, 4]);
  expect([...x]).toEqual([-1, 0, 1, -2, 0, 2]);
});

test.each([
  ['a panel that is none', new Float64Array(5), { groupAt: Int32Array.of(0, 0), count: 1 }, new Float64Array(2)],
  ['a group that there is not', new Float64Array(4), { groupAt: Int32Array.of(0, 1), count: 1 }, new Float64Array(2)],
  ['a group of no columns', new Float64Array(4), { groupAt: Int32Array.of(0, 0), count: 2 }, new Float64Array(4)],
  ['means of another shape', new Float64Array(4), { groupAt: Int32Array.of(0, 1), count: 2 }, new Float64Array(3)],
])('refuses %s', (_, x, groups, means) => {
  expect(() => centreGroups(x, groups, means)).toThrow(KernelFault);
});
