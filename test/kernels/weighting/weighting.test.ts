import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { solveEqualRiskWeights } from '#kernels/weighting/risk-budgets.js';
import { solveMinimumVarianceWeights } from '#kernels/weighting/minimum-variance.js';
import { computeNormalProbability } from '#kernels/random/normal-distribution.js';
import { IS_SOAK } from '../../soak.js';

/**
 * Returns the covariance of `n` securities. It has `rows` random returns around a common factor and is positive
 * definite if rows > n.
 */
function createRandomCovariance(n: number, rows: number, seed: number): Float64Array {
  const random = createGenerator(seed);
  const drawNormal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const scale = Array.from({ length: n }, () => 0.005 + 0.03 * random());
  const x = Array.from({ length: rows }, () => {
    const market = drawNormal();
    return scale.map((s) => s * (0.6 * market + drawNormal()));
  });
  const s = new Float64Array(n * n);
  for (let i = 0; i < n; i++)
    for (let j = 0; j < n; j++) s[i * n + j] = x.reduce((total, row) => total + row[i]! * row[j]!, 0) / rows;
  return s;
}

function createGenerator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function multiplyMatrix(s: Float64Array, w: ArrayLike<number>): number[] {
  const n = w.length;
  return Array.from({ length: n }, (_, i) => {
    let total = 0;
    for (let j = 0; j < n; j++) total += s[i * n + j]! * w[j]!;
    return total;
  });
}

const sumValues = (values: ArrayLike<number>) => Array.from(values).reduce((total, value) => total + value, 0);

describe('equal risk weights', () => {
  test('two names are weighted by the inverse of their volatilities, whatever their correlation', () => {
    for (const correlation of [-0.9, 0, 0.5]) {
      const covariance = Float64Array.of(0.04, correlation * 0.2 * 0.1, correlation * 0.2 * 0.1, 0.01);
      const w = new Float64Array(2);
      solveEqualRiskWeights(covariance, w);
      expect(w[0]).toBeCloseTo(1 / 3, 10);
      expect(w[1]).toBeCloseTo(2 / 3, 10);
    }
  });

  test('every security contributes the same risk to 1e-9 relative and the weights sum to 1', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 0, max: 1e6 }), (n, seed) => {
        const covariance = createRandomCovariance(n, 3 * n + 5, seed);
        const w = new Float64Array(n);
        expect(solveEqualRiskWeights(covariance, w).status).toBe('solved');
        const marginal = multiplyMatrix(covariance, w);
        const contributions = Array.from(w, (weight, i) => weight * marginal[i]!);
        const mean = sumValues(contributions) / n;
        for (const contribution of contributions) expect(Math.abs(contribution / mean - 1)).toBeLessThan(1e-9);
        expect(Math.abs(sumValues(w) - 1)).toBeLessThan(1e-12);
      }),
      { numRuns: IS_SOAK ? 60 : 30 },
    );
  });

  test('they agree with a fixed-point iteration from the definition', () => {
    const covariance = createRandomCovariance(6, 60, 7);
    const w = new Float64Array(6);
    solveEqualRiskWeights(covariance, w);
    let slowWeights = Array.from({ length: 6 }, () => 1 / 6);
    for (let k = 0; k < 4000; k++) {
      const inverse = multiplyMatrix(covariance, slowWeights).map((marginal, i) =>
        Math.sqrt(slowWeights[i]! / marginal),
      );
      slowWeights = inverse.map((value) => value / sumValues(inverse));
    }
    slowWeights.forEach((weight, i) => expect(w[i]).toBeCloseTo(weight, 9));
  });

  test('a security without variance is a defect of the caller', () => {
    expect(() => solveEqualRiskWeights(Float64Array.of(0, 0, 0, 1), new Float64Array(2))).toThrow(
      /variance 0 of name 0/,
    );
  });
});

describe('minimum variance weights', () => {
  test('two uncorrelated names are weighted by the inverse of their variances', () => {
    const w = new Float64Array(2);
    solveMinimumVarianceWeights(Float64Array.of(0.04, 0, 0, 0.01), 1, w);
    expect(Array.from(w)).toEqual([expect.closeTo(0.2, 14), expect.closeTo(0.8, 14)]);
  });

  test('a security that only adds risk is excluded', () => {
    // Computed by hand: the covariance of both securities exceeds the variance of the first security.
    const w = new Float64Array(2);
    solveMinimumVarianceWeights(Float64Array.of(0.01, 0.015, 0.015, 0.04), 1, w);
    expect(Array.from(w)).toEqual([1, 0]);
  });

  test('the optimality conditions hold for every security under any upper bound', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 60 }),
        fc.integer({ min: 0, max: 1e6 }),
        fc.double({ min: 0.01, max: 1, noNaN: true }),
        (n, seed, upper) => {
          const covariance = createRandomCovariance(n, 2 * n + 4, seed);
          const w = new Float64Array(n);
          expect(solveMinimumVarianceWeights(covariance, upper, w).status).toBe('solved');
          const bound = Math.max(upper, 1 / n);
          expect(Math.abs(sumValues(w) - 1)).toBeLessThan(1e-12);
          const gradient = multiplyMatrix(covariance, w);
          const size = Math.max(...gradient.map(Math.abs));
          const price = { below: -Infinity, above: Infinity };
          gradient.forEach((slope, i) => {
            expect(w[i]).toBeGreaterThanOrEqual(0);
            expect(w[i]).toBeLessThanOrEqual(bound);
            if (w[i]! > 0) price.below = Math.max(price.below, w[i]! < bound ? slope : -Infinity);
            if (w[i]! < bound) price.above = Math.min(price.above, slope);
          });
          expect(price.below - price.above).toBeLessThan(1e-9 * size);
          const fullest = Math.max(...gradient.filter((_, i) => w[i]! >= bound), -Infinity);
          expect(fullest - price.above).toBeLessThan(1e-9 * size);
        },
      ),
      { numRuns: IS_SOAK ? 80 : 30 },
    );
  });

  test('no random feasible weights have less variance, and a projected gradient method ends at the same answer', () => {
    const n = 8;
    const covariance = createRandomCovariance(n, 40, 3);
    const w = new Float64Array(n);
    solveMinimumVarianceWeights(covariance, 0.3, w);
    const slowGradient = listProjectedGradient(covariance, n, 0.3);
    slowGradient.forEach((weight, i) => expect(w[i]).toBeCloseTo(weight, 8));
  });

  test('a singular matrix gives the most equal of the optimal weights', () => {
    const w = new Float64Array(3);
    const outcome = solveMinimumVarianceWeights(new Float64Array(9).fill(0.01), 1, w);
    expect(outcome).toMatchObject({ status: 'solved', ridged: true });
    for (const weight of w) expect(weight).toBeCloseTo(1 / 3, 6);
  });

  test('an upper bound too low for full investment gives equal weights', () => {
    const w = new Float64Array(4);
    solveMinimumVarianceWeights(createRandomCovariance(4, 20, 1), 0.1, w);
    for (const weight of w) expect(weight).toBeCloseTo(0.25, 12);
  });
});

/** Computes the solution with a slow method. Each gradient step is projected on the capped simplex by bisection. */
function listProjectedGradient(covariance: Float64Array, n: number, upper: number): number[] {
  let w = Array.from({ length: n }, () => 1 / n);
  const step = 1 / (n * Math.max(...Array.from({ length: n }, (_, i) => covariance[i * n + i]!)));
  for (let k = 0; k < 60_000; k++) {
    const gradient = multiplyMatrix(covariance, w);
    const target = w.map((weight, i) => weight - step * gradient[i]!);
    let low = -2;
    let high = 2;
    const clip = (shift: number) => target.map((value) => Math.min(upper, Math.max(0, value - shift)));
    for (let b = 0; b < 60; b++) {
      const middle = (low + high) / 2;
      if (sumValues(clip(middle)) > 1) low = middle;
      else high = middle;
    }
    w = clip((low + high) / 2);
  }
  return w;
}

describe('the normal probability', () => {
  test('it agrees with the power series about zero and with tabulated tails', () => {
    for (let z = -3; z <= 3; z += 0.125) {
      let term = z;
      let total = z;
      for (let k = 1; k < 120; k++) total += term *= (z * z) / (2 * k + 1);
      const series = 0.5 + (total * Math.exp((-z * z) / 2)) / Math.sqrt(2 * Math.PI);
      expect(computeNormalProbability(z)).toBeCloseTo(series, 14);
    }
    expect(computeNormalProbability(-8) / 6.220960574271785e-16).toBeCloseTo(1, 6);
    expect(computeNormalProbability(1.959963984540054)).toBeCloseTo(0.975, 14);
  });
});
