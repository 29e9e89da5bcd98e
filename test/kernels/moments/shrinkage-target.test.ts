import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { KernelFault } from '#kernels/assert.js';
import { computeAverageCorrelation, createShrinkageTarget, shrink } from '#kernels/moments/shrinkage.js';
import { positiveDefinite } from '../arbitraries.js';
import { expectClose } from '../closeness.js';

/** Computes the shrinkage targets entry by entry. The contract and the papers define them. */
function computeTargetByDefinition(
  kind: 'constant_correlation' | 'scaled_identity',
  a: Float64Array,
  n: number,
): Float64Array {
  let correlations = 0;
  let trace = 0;
  for (let i = 0; i < n; i++) {
    trace += a[i * n + i]!;
    for (let j = 0; j < n; j++) if (i !== j) correlations += a[i * n + j]! / Math.sqrt(a[i * n + i]! * a[j * n + j]!);
  }
  const rbar = n === 1 ? 0 : correlations / (n * (n - 1));
  return a.map((value, index) => {
    const i = Math.floor(index / n);
    const j = index % n;
    if (kind === 'scaled_identity') return i === j ? trace / n : 0;
    return i === j ? value : rbar * Math.sqrt(a[i * n + i]! * a[j * n + j]!);
  });
}

describe('shrinkage', () => {
  test('intensity 0 is the matrix, 1 the target, and values between are their mixture', () => {
    fc.assert(
      fc.property(
        positiveDefinite,
        fc.constantFrom('constant_correlation' as const, 'scaled_identity' as const),
        fc.double({ min: 0, max: 1, noNaN: true }),
        ({ order, a }, kind, intensity) => {
          const target = createShrinkageTarget(kind, a, order, computeAverageCorrelation(a, order));
          const expected = computeTargetByDefinition(kind, a, order);
          const shrinkAtIntensity = (delta: number) => {
            const out = a.slice();
            shrink(out, target, delta, 1);
            return out;
          };
          expect([...shrinkAtIntensity(0)]).toEqual([...a]);
          expectClose(shrinkAtIntensity(1), expected, 1e-14);
          expectClose(
            shrinkAtIntensity(intensity),
            a.map((value, k) => intensity * expected[k]! + (1 - intensity) * value),
            1e-14,
          );
        },
      ),
    );
  });

  test('counts a security without variance with correlation 0', () => {
    // Securities 1 and 2 have correlation 0.5. Pairs with security 3 count as 0. So the mean is 0.5 / 3.
    expect(computeAverageCorrelation(Float64Array.of(4, 1, 0, 1, 1, 0, 0, 0, 0), 3)).toBeCloseTo(0.5 / 3, 15);
  });

  test('has mean correlation 0 for one security', () => {
    expect(computeAverageCorrelation(Float64Array.of(2), 1)).toBe(0);
  });

  test('refuses an intensity outside its range', () => {
    const target = createShrinkageTarget('scaled_identity', Float64Array.of(1), 1, 0);
    expect(() => shrink(Float64Array.of(1), target, 1.5, 1)).toThrow(KernelFault);
  });
});
