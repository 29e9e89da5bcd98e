import { describe, expect, test } from 'vitest';
import { KernelFault } from '#kernels/assert.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { repairCovariance } from '#kernels/moments/estimate-covariance.js';
import { expectClose } from '../closeness.js';
import { createRandomDefinite } from '../engines/random-matrices.js';
import { readGolden } from '../golden.js';

interface RepairCase {
  order: number;
  broken: number[];
  repaired: number[];
}

describe('repairCovariance', () => {
  test('agrees with numpy: clip, rebuild, rescale', () => {
    for (const engine of [referenceEngine, openWasmEngine()]) {
      for (const { order, broken, repaired } of readGolden<RepairCase[]>('repair')) {
        const out = Float64Array.from(broken);
        repairCovariance(engine, out, order);
        expectClose(out, repaired, 1e-12);
      }
    }
  });

  test('keeps the diagonal to the last bit and leaves no negative eigenvalue', () => {
    for (const { order, broken } of readGolden<RepairCase[]>('repair')) {
      const out = Float64Array.from(broken);
      repairCovariance(referenceEngine, out, order);
      const values = new Float64Array(order);
      referenceEngine.symmetricEigenvalues(out, order, values);
      expect(values[0]!).toBeGreaterThan(-1e-14 * values[order - 1]!);
      for (let i = 0; i < order; i++) {
        expect(out[i * (order + 1)]).toBe(broken[i * (order + 1)]);
        for (let j = 0; j < i; j++) expect(out[i * order + j]).toBe(out[j * order + i]);
      }
    }
  });

  test('changes only rounding of a matrix that needs no repair', () => {
    const a = createRandomDefinite(20);
    const out = a.slice();
    repairCovariance(referenceEngine, out, 20);
    expectClose(out, a, 1e-14);
  });

  test('refuses a matrix of another order and one that is not finite', () => {
    expect(() => repairCovariance(referenceEngine, new Float64Array(5), 2)).toThrow(KernelFault);
    expect(() => repairCovariance(referenceEngine, Float64Array.of(1, Number.NaN, Number.NaN, 1), 2)).toThrow(
      /not finite/,
    );
  });
});
