import { expect, test } from 'vitest';
import { createAcceleration } from '#kernels/optimisation/choices/split-covariance.js';
import { plainAlgebra } from '#kernels/optimisation/factors/algebra.js';

const RATES = [0.99, 0.9, -0.5, 0.3, 0.97];

/** Returns the distance of a linear iteration from its fixed point after a number of steps. */
function computeDistanceAfter(steps: number, isAccelerated: boolean): number {
  const acceleration = createAcceleration(plainAlgebra, RATES.length);
  let point = Float64Array.from(RATES, () => 1);
  for (let step = 1; step <= steps; step++) {
    const next = point.map((value, i) => RATES[i]! * value);
    acceleration.add(point, next);
    if (isAccelerated && step % 5 === 0) acceleration.extrapolate(next);
    point = next;
  }
  return Math.hypot(...point);
}

test('an extrapolated iteration is nearer to its fixed point', () => {
  expect(computeDistanceAfter(20, false)).toBeGreaterThan(0.5);
  expect(computeDistanceAfter(20, true)).toBeLessThan(1e-3);
});

test('without enough points nothing changes', () => {
  const acceleration = createAcceleration(plainAlgebra, 2);
  const next = Float64Array.of(1, 2);
  acceleration.add(Float64Array.of(0, 0), next);
  acceleration.extrapolate(next);
  acceleration.add(Float64Array.of(1, 2), next);
  acceleration.clear();
  acceleration.extrapolate(next);
  expect([...next]).toEqual([1, 2]);
});
