import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { gemm } from '#kernels/algebra/products.js';
import { KernelFault } from '#kernels/assert.js';
import { values } from '../arbitraries.js';
import { expectClose } from '../closeness.js';

const products = fc
  .record({
    rows: fc.integer({ min: 1, max: 6 }),
    inner: fc.integer({ min: 0, max: 6 }),
    columns: fc.integer({ min: 1, max: 6 }),
    transposeA: fc.boolean(),
    transposeB: fc.boolean(),
  })
  .chain((shape) =>
    fc.record({
      shape: fc.constant(shape),
      a: fc.array(values, { minLength: shape.rows * shape.inner, maxLength: shape.rows * shape.inner }),
      b: fc.array(values, { minLength: shape.inner * shape.columns, maxLength: shape.inner * shape.columns }),
    }),
  );

describe('gemm', () => {
  test('is row times column, however the operands are stored', () => {
    fc.assert(
      fc.property(products, ({ shape, a, b }) => {
        const { rows, inner, columns, transposeA, transposeB } = shape;
        const out = new Float64Array(rows * columns).fill(Number.NaN);
        gemm(shape, Float64Array.from(a), Float64Array.from(b), out);
        const expected = Array.from({ length: rows * columns }, (_, index) => {
          const i = Math.floor(index / columns);
          const j = index % columns;
          let total = 0;
          for (let k = 0; k < inner; k++)
            total +=
              (transposeA ? a[k * rows + i]! : a[i * inner + k]!) *
              (transposeB ? b[j * inner + k]! : b[k * columns + j]!);
          return total;
        });
        expectClose(out, expected, 1e-14, 100);
      }),
    );
  });

  test('refuses operands of another size', () => {
    const shape = { rows: 2, inner: 3, columns: 2 };
    expect(() => gemm(shape, new Float64Array(5), new Float64Array(6), new Float64Array(4))).toThrow(KernelFault);
    expect(() => gemm(shape, new Float64Array(6), new Float64Array(5), new Float64Array(4))).toThrow(KernelFault);
    expect(() => gemm(shape, new Float64Array(6), new Float64Array(6), new Float64Array(5))).toThrow(KernelFault);
  });
});
