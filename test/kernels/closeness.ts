import { expect } from 'vitest';

/**
 * Expects every entry to be within `tolerance` of its expected value, relative to `scale`. By default, the scale is the
 * largest expected magnitude.
 */
export function expectClose(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  tolerance: number,
  scale?: number,
): void {
  expect(actual.length).toBe(expected.length);
  const unit = scale ?? Math.max(...Array.from(expected, Math.abs), Number.MIN_VALUE);
  let worst = 0;
  for (let i = 0; i < expected.length; i++)
    worst = Math.max(worst, Math.abs(actual[i]! - expected[i]!) || (Number.isNaN(actual[i]!) ? Infinity : 0));
  expect(worst / unit).toBeLessThanOrEqual(tolerance);
}

/** Compares covariances relative to sqrt(c_ii c_jj). This is the natural scale of the covariance of i and j. */
export function expectCovariance(
  actual: Float64Array,
  expected: ArrayLike<number>,
  assets: number,
  tolerance: number,
): void {
  expect(actual.length).toBe(expected.length);
  let worst = 0;
  for (let i = 0; i < assets; i++) {
    for (let j = 0; j < assets; j++) {
      const unit = Math.sqrt(expected[i * assets + i]! * expected[j * assets + j]!);
      const gap = Math.abs(actual[i * assets + j]! - expected[i * assets + j]!);
      worst = Math.max(worst, unit > 0 ? gap / unit : gap === 0 ? 0 : Infinity);
    }
  }
  expect(worst).toBeLessThanOrEqual(tolerance);
}
