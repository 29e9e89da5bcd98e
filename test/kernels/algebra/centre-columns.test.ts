import { fc } from '../../fast-check.js';
import { expect, test } from 'vitest';
import { centreColumns } from '#kernels/algebra/centre-columns.js';
import { KernelFault } from '#kernels/assert.js';

test('takes the mean from every value of its column', () => {
  const x = Float64Array.of(1, 10, 2, 20, 6, 30);
  const means = new Float64Array(2);
  centreColumns(x, undefined, means);
  expect([...means]).toEqual([3, 20]);
  expect([...x]).toEqual([-2, -10, -1, 0, 3, 10]);
});

test('weighs the rows of the mean', () => {
  const x = Float64Array.of(1, 3);
  const means = new Float64Array(1);
  centreColumns(x, Float64Array.of(0.75, 0.25), means);
  expect([...means, ...x]).toEqual([1.5, -0.5, 1.5]);
});

test('a column is centred the same whatever stands beside it', () => {
  const column = fc.array(fc.double({ min: -1e3, max: 1e3, noNaN: true }), { minLength: 5, maxLength: 5 });
  fc.assert(
    fc.property(column, column, (a, b) => {
      const alone = Float64Array.from(a);
      const beside = Float64Array.from(a.flatMap((value, t) => [b[t]!, value]));
      centreColumns(alone, undefined, new Float64Array(1));
      centreColumns(beside, undefined, new Float64Array(2));
      expect(beside.filter((_, i) => i % 2 === 1)).toEqual(alone);
    }),
  );
});

test('refuses panels that are none and a weight too few', () => {
  expect(() => centreColumns(new Float64Array(5), undefined, new Float64Array(2))).toThrow(KernelFault);
  expect(() => centreColumns(new Float64Array(4), undefined, new Float64Array(0))).toThrow(KernelFault);
  expect(() => centreColumns(new Float64Array(4), Float64Array.of(1), new Float64Array(2))).toThrow(KernelFault);
});
