import { fc } from '../../fast-check.js';
import { expect, test } from 'vitest';
import { KernelFault } from '#kernels/assert.js';
import { computeNaturalLog } from '#kernels/power.js';

test('stays within one unit in the last place of the platform logarithm', () => {
  fc.assert(
    fc.property(fc.double({ min: 2.3e-308, max: 1.7e308, noNaN: true }), (x) => {
      const expected = Math.log(x);
      expect(Math.abs(computeNaturalLog(x) - expected)).toBeLessThanOrEqual(Math.abs(expected) * 2 ** -52);
    }),
  );
});

test('is exact at 1 and refuses numbers without a logarithm', () => {
  expect(computeNaturalLog(1)).toBe(0);
  expect(computeNaturalLog(2)).toBe(Math.LN2);
  for (const x of [0, -1, Infinity, Number.NaN, 5e-324]) expect(() => computeNaturalLog(x)).toThrow(KernelFault);
});
