import { fc } from '../../fast-check.js';
import { expect, test } from 'vitest';
import { computeAverageCorrelation } from '#kernels/moments/shrinkage.js';
import { positiveDefinite } from '../arbitraries.js';
import { expectClose } from '../closeness.js';
import { computeTargetByDefinition, createMatrixTarget } from './shrinkage-target.js';

test.each(['constant_correlation', 'scaled_identity'] as const)('the target %s has the defined entries', (kind) => {
  fc.assert(
    fc.property(positiveDefinite, ({ order, a }) => {
      const { common, scale, addedVariances } = createMatrixTarget(kind, a, order);
      const entries = a.map((_, index) => {
        const i = Math.floor(index / order);
        const j = index % order;
        return common * scale[i]! * scale[j]! + (i === j ? addedVariances[i]! : 0);
      });
      expectClose(entries, computeTargetByDefinition(kind, a, order), 1e-14);
    }),
  );
});

test('counts a security without variance with correlation 0', () => {
  // Securities 1 and 2 have correlation 0.5. Pairs with security 3 count as 0. So the mean is 0.5 / 3.
  expect(computeAverageCorrelation(Float64Array.of(4, 1, 0, 1, 1, 0, 0, 0, 0), 3)).toBeCloseTo(0.5 / 3, 15);
});

test('has mean correlation 0 for one security', () => {
  expect(computeAverageCorrelation(Float64Array.of(2), 1)).toBe(0);
});
