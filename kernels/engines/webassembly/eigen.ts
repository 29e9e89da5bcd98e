import type { Engine } from '../engine.js';
import {
  assertEigen,
  assertLargest,
  largestEigen,
  orientRow,
  scaleOf,
  symmetricEigen,
  symmetricEigenvalues,
} from '../../algebra/symmetric-eigen.js';
import { assert } from '../../assert.js';
import { BYTES, type Kernels } from './kernels.js';

/** Entries beyond these powers could overflow or vanish when squared: such a matrix goes the slow, scaled way. */
const SCALE_MAX = 2 ** 400;

/** Runs a kernel on a problem of some order, with other threads where it is worth it and there are any. */
export type InTeam = (n: number, work: () => number) => number;

/** Eigenvalue problems. */
export function eigenOn(
  { kernels, arena, operands, run }: Kernels,
  inTeam: InTeam,
): Pick<Engine, 'symmetricEigenvalues' | 'symmetricEigen' | 'largestEigen'> {
  return {
    symmetricEigenvalues(a, n, values) {
      assertEigen(a, n, values);
      if (needsScaling(a)) return symmetricEigenvalues(a, n, values);
      return run(() => {
        const pa = operands.input(a);
        const [pv, write] = operands.output(values);
        const scratch = arena.reserve(kernels.symmetricEigenvaluesScratch(n));
        const converged = inTeam(n, () => kernels.symmetricEigenvalues(pa, n, pv, scratch));
        write();
        values.sort();
        return converged !== 0;
      });
    },

    symmetricEigen(a, n, values, vectors) {
      assertEigen(a, n, values);
      assert(vectors.length === n * n, `vectors: ${vectors.length} values for ${n} x ${n}`);
      if (needsScaling(a)) return symmetricEigen(a, n, values, vectors);
      return run(() => {
        const pa = operands.input(a);
        const [pv, writeValues] = operands.output(values);
        const [pz, writeVectors] = operands.output(vectors);
        const scratch = arena.reserve(kernels.symmetricEigenScratch(n));
        const converged = inTeam(n, () => kernels.symmetricEigen(pa, n, n, pv, pz, scratch));
        writeValues();
        writeVectors();
        for (let k = 0; k < n; k++) orientRow(vectors, k * n, n);
        return converged !== 0;
      });
    },

    largestEigen(a, n, values, vectors) {
      const count = assertLargest(a, n, values, vectors);
      if (needsScaling(a)) return largestEigen(a, n, values, vectors);
      return run(() => {
        const pa = operands.input(a);
        const all = arena.reserve(n * BYTES);
        const rows = arena.reserve(n * n * BYTES);
        const scratch = arena.reserve(kernels.symmetricEigenScratch(n));
        const converged = inTeam(n, () => kernels.symmetricEigen(pa, n, count, all, rows, scratch));
        values.set(arena.view(all + (n - count) * BYTES, count));
        vectors.set(arena.view(rows + (n - count) * n * BYTES, count * n));
        for (let k = 0; k < count; k++) orientRow(vectors, k * n, n);
        return converged !== 0;
      });
    },
  };
}

/** Squares of the entries would leave the range of float64, or an entry is not finite. */
function needsScaling(a: Float64Array): boolean {
  const scale = scaleOf(a);
  return !(scale <= SCALE_MAX && scale >= 1 / SCALE_MAX);
}
