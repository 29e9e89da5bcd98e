import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { gemv, symv } from '#kernels/algebra/products.js';
import { KernelFault } from '#kernels/assert.js';
import { positiveDefinite } from '../arbitraries.js';
import { expectClose } from '../closeness.js';

describe('symv', () => {
  test('agrees with the product by the whole matrix and never reads below the diagonal', () => {
    fc.assert(
      fc.property(positiveDefinite, ({ order, a }) => {
        const x = Float64Array.from({ length: order }, (_, i) => Math.cos(i + 1));
        const wholeProduct = new Float64Array(order);
        gemv(a, x, wholeProduct);
        const half = a.map((value, i) => (i % order < Math.floor(i / order) ? Number.NaN : value));
        const out = new Float64Array(order);
        symv(half, x, out);
        expectClose(out, wholeProduct, 1e-14, 1e4);
      }),
    );
  });

  test('refuses a matrix of another order', () => {
    expect(() => symv(new Float64Array(5), new Float64Array(2), new Float64Array(2))).toThrow(KernelFault);
  });
});
