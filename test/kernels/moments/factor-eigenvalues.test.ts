import { describe, expect, test } from 'vitest';
import { KernelFault } from '#kernels/assert.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { boundFactorEigenvalues } from '#kernels/moments/estimate-covariance.js';
import { createFactorMetric, createMetricMatrix } from '#kernels/optimisation/program/metric.js';
import { seeded } from '../../seeded.js';

describe('the extreme eigenvalues of loadings and specific variances', () => {
  test.each([
    [1, 1],
    [2, 1],
    [5, 8],
    [40, 6],
    [90, 19],
  ])('are those of the matrix of %i securities on %i factors, also if specific variances are equal or zero', (n, k) => {
    const random = seeded(n + k);
    const loadings = Float64Array.from({ length: n * k }, () => 0.3 * (random() - 0.4));
    const values = new Float64Array(n);
    for (const specific of [
      Float64Array.from({ length: n }, () => 0.001 + 0.1 * random()),
      new Float64Array(n).fill(0.02),
      Float64Array.from({ length: n }, (_, i) => (i % 3 === 0 ? 0 : 0.05)),
    ]) {
      referenceEngine.symmetricEigenvalues(createMetricMatrix(createFactorMetric(loadings, specific)), n, values);
      for (const engine of [referenceEngine, openWasmEngine()]) {
        const { smallest, largest } = boundFactorEigenvalues(engine, loadings, specific);
        expect(Math.abs(largest / values[n - 1]! - 1)).toBeLessThan(1e-12);
        expect(Math.abs(smallest - values[0]!)).toBeLessThan(1e-13 * values[n - 1]!);
      }
    }
  });

  test('without factors are specific variances', () => {
    expect(boundFactorEigenvalues(referenceEngine, new Float64Array(0), Float64Array.of(0.3, 0.1, 0.2))).toEqual({
      smallest: 0.1,
      largest: 0.3,
    });
  });

  test('need loadings of every security', () => {
    expect(() => boundFactorEigenvalues(referenceEngine, new Float64Array(3), new Float64Array(2))).toThrow(
      KernelFault,
    );
    expect(() => boundFactorEigenvalues(referenceEngine, new Float64Array(0), new Float64Array(0))).toThrow(
      KernelFault,
    );
  });
});
