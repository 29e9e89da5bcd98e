import { describe, expect, test } from 'vitest';
import { KernelFault } from '#kernels/assert.js';
import { referenceEngine as plain } from '#kernels/engines/reference.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { computePrincipalComponents } from '#kernels/moments/principal-components.js';
import { expectClose } from '../closeness.js';
import { createRandomPanel } from '../engines/random-matrices.js';

describe('computePrincipalComponents', () => {
  test.each([
    [40, 6],
    [6, 40],
    [9, 9],
  ])("are eigenpairs of X'X for %i x %i", (rows, columns) => {
    const panel = createRandomPanel(rows, columns, 21);
    const products = new Float64Array(columns * columns);
    plain.symmetricRankK(panel, columns, products);
    for (const engine of [plain, openWasmEngine()]) {
      const { values, vectors } = computePrincipalComponents(engine, panel, columns, 4);
      for (let k = 0; k < 4; k++) {
        const v = vectors.subarray(k * columns, (k + 1) * columns);
        const stretchedVector = new Float64Array(columns);
        plain.symv(products, v, stretchedVector);
        expectClose(
          stretchedVector,
          v.map((entry) => entry * values[k]!),
          1e-11,
          values[0]!,
        );
        if (k > 0) expect(values[k]!).toBeLessThanOrEqual(values[k - 1]!);
      }
    }
  });

  test.each([
    [5, 3],
    [3, 5],
  ])('are found although the second is a millionth of the first, for %i x %i', (rows, columns) => {
    const panel = new Float64Array(rows * columns);
    panel[0] = 1;
    panel[columns + 1] = 1e-3;
    const { values, vectors } = computePrincipalComponents(plain, panel, columns, 2);
    expect([values[0], values[1]]).toEqual([expect.closeTo(1, 15), expect.closeTo(1e-6, 18)]);
    expect(vectors[columns + 1]).toBeCloseTo(1, 12);
  });

  test('end when the panel has no more', () => {
    const panel = Float64Array.of(1, 2, 3, 2, 4, 6); // rank 1, with squared row lengths of 14 and 56
    const { values, vectors } = computePrincipalComponents(plain, panel, 3, 3);
    expect(values[0]).toBeCloseTo(70, 12);
    expect([...values.subarray(1)]).toEqual([0, 0]);
    expect([...vectors.subarray(3)]).toEqual([0, 0, 0, 0, 0, 0]);
    expectClose(
      vectors.subarray(0, 3),
      [1, 2, 3].map((x) => x / Math.sqrt(14)),
      1e-14,
    );
  });

  test('refuse more components than columns', () => {
    expect(() => computePrincipalComponents(plain, new Float64Array(6), 3, 4)).toThrow(KernelFault);
  });
});
