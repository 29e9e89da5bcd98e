import { describe, expect, test } from 'vitest';
import { factorCholesky, solveLower, solveLowerTransposed } from '#kernels/algebra/linear-systems.js';
import { KernelFault } from '#kernels/assert.js';
import { expectClose } from '../closeness.js';
import { readGolden } from '../golden.js';

interface FactorCase {
  order: number;
  a: number[];
  b: number[];
  solution: number[];
}

describe('triangular solves', () => {
  test('both halves after a Cholesky factor solve the system as LAPACK does', () => {
    for (const { order, a, b, solution } of readGolden<FactorCase[]>('factorisation')) {
      const factor = Float64Array.from(a);
      factorCholesky(factor, order);
      const x = Float64Array.from(b);
      solveLower(factor, order, x);
      solveLowerTransposed(factor, order, x);
      expectClose(x, solution, 1e-10); // condition numbers are up to 1e4
    }
  });

  test('solve by hand', () => {
    const l = Float64Array.of(2, Number.NaN, 1, 4);
    const x = Float64Array.of(2, 9);
    solveLower(l, 2, x);
    expect([...x]).toEqual([1, 2]);
    const y = Float64Array.of(4, 4);
    solveLowerTransposed(l, 2, y);
    expect([...y]).toEqual([1.5, 1]);
  });

  test('accept no right-hand side and refuse a ragged one', () => {
    solveLower(new Float64Array(4), 2, new Float64Array(0));
    expect(() => solveLower(new Float64Array(4), 2, new Float64Array(3))).toThrow(KernelFault);
    expect(() => solveLowerTransposed(new Float64Array(3), 2, new Float64Array(2))).toThrow(KernelFault);
  });
});
