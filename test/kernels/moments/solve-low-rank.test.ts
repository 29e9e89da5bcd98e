import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { KernelFault } from '#kernels/assert.js';
import type { Engine } from '#kernels/engines/engine.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import { wasmEngine } from '#kernels/engines/wasm.js';
import { denseCovariance, lowRankCovariance, multiplyLowRank, type LowRankCovariance, type Shrinkage } from '#kernels/moments/low-rank-covariance.js';
import { factorLowRank, solveLowRank } from '#kernels/moments/solve-low-rank.js';
import { expectClose } from '../closeness.js';
import { randomPanel } from '../engines/agreement.js';

const CONSTANT_CORRELATION: Shrinkage = { target: 'constant_correlation', intensity: null, method: 'shape', scale: 252 };

/** The same solution by forming the matrix and factoring it. */
function solveByMatrix(engine: Engine, covariance: LowRankCovariance, b: Float64Array): Float64Array {
  const n = covariance.assets;
  const matrix = new Float64Array(n * n);
  denseCovariance(engine, covariance, matrix);
  expect(engine.cholesky(matrix, n)).toBe(n);
  const x = b.slice();
  engine.solveLower(matrix, n, x);
  engine.solveLowerTransposed(matrix, n, x);
  return x;
}

const estimate = (engine: Engine, rows: number, columns: number, shrinkage: Shrinkage = CONSTANT_CORRELATION): LowRankCovariance =>
  lowRankCovariance(engine, randomPanel(rows, columns, 31), columns, shrinkage);

describe.each([['the definitions', referenceEngine], ['WebAssembly', wasmEngine()]] as const)('solving with a covariance that is not formed, by %s', (_, engine) => {
  test.each([[2, 1], [3, 5], [20, 90], [66, 67], [90, 20]])('%i observations of %i names: as Cholesky of the matrix does', (rows, columns) => {
    for (const target of ['constant_correlation', 'scaled_identity'] as const) {
      const covariance = estimate(engine, rows, columns, { ...CONSTANT_CORRELATION, target });
      const b = randomPanel(columns, 1, 5);
      const out = new Float64Array(columns).fill(Number.NaN);
      const residual = solveLowRank(engine, factorLowRank(engine, covariance)!, b, out);
      expect(residual).toBeLessThan(1e-13);
      // Variances of the names differ by up to 1e6, and so does what a rounding of either way means for a single entry.
      const expected = solveByMatrix(engine, covariance, b);
      expectClose(out.map((x, i) => x * Math.sqrt(covariance.variances[i]!)), expected.map((x, i) => x * Math.sqrt(covariance.variances[i]!)), 1e-9);
    }
  });

  test('a target of negative correlation is solved with, too', () => {
    const panel = Float64Array.from({ length: 24 }, (__, at) => (at % 2 === 0 ? Math.sin(at >> 1) : 0.5 * Math.cos(3 * (at >> 1)) - 0.6 * Math.sin(at >> 1)));
    const covariance = lowRankCovariance(engine, panel, 2, { ...CONSTANT_CORRELATION, intensity: 0.5 });
    expect(covariance.target.common).toBeLessThan(0);
    const b = Float64Array.of(1, -2);
    const out = new Float64Array(2);
    expect(solveLowRank(engine, factorLowRank(engine, covariance)!, b, out)).toBeLessThan(1e-12);
    expectClose(out, solveByMatrix(engine, covariance, b), 1e-9);
  });
});

test('solving undoes multiplying, whatever the shape and the intensity', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 12 }), fc.integer({ min: 1, max: 30 }), fc.double({ min: 0.05, max: 1, noNaN: true }), (rows, columns, intensity) => {
      const covariance = estimate(referenceEngine, rows, columns, { ...CONSTANT_CORRELATION, target: 'scaled_identity', intensity });
      const v = randomPanel(columns, 1, 8);
      const product = new Float64Array(columns);
      multiplyLowRank(referenceEngine, covariance, v, product);
      const back = new Float64Array(columns);
      solveLowRank(referenceEngine, factorLowRank(referenceEngine, covariance)!, product, back);
      expectClose(back, v, 1e-9);
    }),
  );
});

test('with intensity 1 only the target is left: the scaled identity divides', () => {
  const covariance = estimate(referenceEngine, 5, 9, { ...CONSTANT_CORRELATION, target: 'scaled_identity', intensity: 1 });
  const b = randomPanel(9, 1, 2);
  const out = new Float64Array(9);
  solveLowRank(referenceEngine, factorLowRank(referenceEngine, covariance)!, b, out);
  expectClose(out, b.map((value) => value / (252 * covariance.target.own[0]!)), 1e-14);
});

test('there is nothing to stand on without shrinkage, or with a name that never moves', () => {
  expect(factorLowRank(referenceEngine, estimate(referenceEngine, 5, 9, { ...CONSTANT_CORRELATION, intensity: 0 }))).toBeUndefined();
  const still = randomPanel(10, 3, 1).map((value, at) => (at % 3 === 1 ? 0 : value));
  expect(factorLowRank(referenceEngine, lowRankCovariance(referenceEngine, still, 3, CONSTANT_CORRELATION))).toBeUndefined();
});

test('a right-hand side of nothing has a solution of nothing, and one of another length is refused', () => {
  const factor = factorLowRank(referenceEngine, estimate(referenceEngine, 5, 9))!;
  const out = new Float64Array(9).fill(7);
  expect(solveLowRank(referenceEngine, factor, new Float64Array(9), out)).toBe(0);
  expect([...out]).toEqual([...new Float64Array(9)]);
  expect(() => solveLowRank(referenceEngine, factor, new Float64Array(8), out)).toThrow(KernelFault);
});
