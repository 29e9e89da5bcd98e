import type { Engine } from '../engine.js';
import { countRightSides } from '../../algebra/triangular-solve.js';
import { assert } from '../../assert.js';
import type { KernelExports } from '../wasm-exports.js';
import type { Kernels } from './kernels.js';

/** Creates the operations for factorisations and triangular solves. */
export function createFactorOperations({
  kernels,
  arena,
  operands,
  run,
}: Kernels): Pick<Engine, 'cholesky' | 'solveLower' | 'solveLowerTransposed'> {
  const solve = (kernel: KernelExports['solveLower'], l: Float64Array, n: number, b: Float64Array): void => {
    const columns = countRightSides(l, n, b);
    if (b.length === 0) return;
    run(() => {
      const pl = operands.input(l);
      const [pb, write] = operands.inPlace(b);
      kernel(pl, n, pb, columns, arena.reserve(kernels.triangularSolveScratch()));
      write();
    });
  };

  return {
    cholesky(a, n) {
      assert(a.length === n * n, `a: ${a.length} values for ${n} x ${n}`);
      return run(() => {
        const [pa, write] = operands.inPlace(a);
        const pivots = kernels.cholesky(pa, n, arena.reserve(kernels.choleskyScratch(n)));
        write();
        return pivots;
      });
    },

    solveLower: (l, n, b) => solve(kernels.solveLower, l, n, b),
    solveLowerTransposed: (l, n, b) => solve(kernels.solveLowerTransposed, l, n, b),
  };
}
