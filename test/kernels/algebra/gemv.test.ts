import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { gemv, gemvTransposed } from '#kernels/algebra/products.js';
import { KernelFault } from '#kernels/assert.js';
import { createMatrices } from '../arbitraries.js';
import { expectClose } from '../closeness.js';

describe('gemv', () => {
  test('multiplies by hand', () => {
    const out = new Float64Array(2);
    gemv(Float64Array.of(1, 2, 3, 4, 5, 6), Float64Array.of(1, 10, 100), out);
    expect([...out]).toEqual([321, 654]);
    const product = new Float64Array(3);
    gemvTransposed(Float64Array.of(1, 2, 3, 4, 5, 6), Float64Array.of(1, 10), product);
    expect([...product]).toEqual([41, 52, 63]);
  });

  test("satisfies y'(Ax) = (A'y)'x", () => {
    fc.assert(
      fc.property(
        createMatrices(),
        fc.infiniteStream(fc.double({ min: -1, max: 1, noNaN: true })),
        ({ rows, columns, data }, stream) => {
          const readNextNumber = () => Number(stream.next().value);
          const x = Float64Array.from({ length: columns }, readNextNumber);
          const y = Float64Array.from({ length: rows }, readNextNumber);
          const ax = new Float64Array(rows);
          const aty = new Float64Array(columns);
          gemv(data, x, ax);
          gemvTransposed(data, y, aty);
          const computeDotProduct = (a: Float64Array, b: Float64Array) =>
            a.reduce((total, v, i) => total + v * b[i]!, 0);
          expectClose([computeDotProduct(y, ax)], [computeDotProduct(aty, x)], 1e-13, 1000);
        },
      ),
    );
  });

  test('refuses a vector of another length', () => {
    expect(() => gemv(new Float64Array(6), new Float64Array(4), new Float64Array(2))).toThrow(KernelFault);
    expect(() => gemvTransposed(new Float64Array(6), new Float64Array(4), new Float64Array(2))).toThrow(KernelFault);
  });
});
