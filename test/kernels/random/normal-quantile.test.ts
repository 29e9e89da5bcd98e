import { expect, test } from 'vitest';
import { KernelFault } from '#kernels/assert.js';
import { computeNormalQuantile } from '#kernels/random/normal-distribution.js';
import { readGolden } from '../golden.js';

test('agrees with scipy far into both tails', () => {
  const { p, z } = readGolden<{ p: number[]; z: number[] }>('normal-quantile');
  p.forEach((probability, k) =>
    expect(Math.abs(computeNormalQuantile(probability) - z[k]!)).toBeLessThanOrEqual(
      4e-15 * Math.max(1, Math.abs(z[k]!)),
    ),
  );
});

test('is odd about the median and refuses invalid probabilities', () => {
  expect(computeNormalQuantile(0.5)).toBe(0);
  expect(computeNormalQuantile(0.25)).toBe(-computeNormalQuantile(0.75));
  expect(() => computeNormalQuantile(0)).toThrow(KernelFault);
  expect(() => computeNormalQuantile(1)).toThrow(KernelFault);
});
