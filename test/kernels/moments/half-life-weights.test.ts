import { fc } from '../../fast-check.js';
import { expect, test } from 'vitest';
import { KernelFault } from '#kernels/assert.js';
import { fillHalfLifeWeights } from '#kernels/moments/sample-covariance.js';

const computeWeights = (halfLife: number, observations: number) => {
  const out = new Float64Array(observations);
  fillHalfLifeWeights(halfLife, out);
  return out;
};

test('weights sum to 1, increase towards the present and halve over a half-life', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 2, max: 200 }), (halfLife, observations) => {
      const weights = computeWeights(halfLife, observations);
      expect(Math.abs(weights.reduce((a, b) => a + b, 0) - 1)).toBeLessThanOrEqual(1e-14);
      for (let t = 1; t < observations; t++) expect(weights[t]! > weights[t - 1]!).toBe(true);
      for (let t = halfLife; t < observations; t++)
        expect(Math.abs(weights[t - halfLife]! / weights[t]! - 0.5)).toBeLessThanOrEqual(1e-12);
    }),
  );
});

test('weights are equal for an infinite half-life', () => {
  expect([...computeWeights(Infinity, 4)]).toEqual([0.25, 0.25, 0.25, 0.25]);
});

test('a half-life of a fraction of an observation is accepted', () => {
  const weights = computeWeights(0.5, 3); // each weight is a quarter of the previous weight: 1, 1/4, 1/16
  expect(weights[1]! / weights[2]!).toBe(0.25);
});

test('a half-life that is not positive is refused', () => {
  for (const halfLife of [0, -1, Number.NaN]) expect(() => computeWeights(halfLife, 3)).toThrow(KernelFault);
});
