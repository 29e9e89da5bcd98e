import { expect, test } from 'vitest';
import { KernelFault } from '#kernels/assert.js';
import { normalQuantile } from '#kernels/random/normal-quantile.js';
import { golden } from '../golden.js';

test('agrees with scipy far into both tails', () => {
  const { p, z } = golden<{ p: number[]; z: number[] }>('normal-quantile');
  p.forEach((probability, k) =>
    expect(Math.abs(normalQuantile(probability) - z[k]!)).toBeLessThanOrEqual(4e-15 * Math.max(1, Math.abs(z[k]!))),
  );
});

test('is odd about the median and refuses what is no probability', () => {
  expect(normalQuantile(0.5)).toBe(0);
  expect(normalQuantile(0.25)).toBe(-normalQuantile(0.75));
  expect(() => normalQuantile(0)).toThrow(KernelFault);
  expect(() => normalQuantile(1)).toThrow(KernelFault);
});
