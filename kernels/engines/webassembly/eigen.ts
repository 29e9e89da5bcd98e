import type { Engine } from '../engine.js';
import { findEigenvalueRange } from '../../algebra/eigenvalue-range.js';
import { findExtremeEigenvalues, type ExtremesEngine } from '../../algebra/extreme-eigenvalues.js';
import {
  assertEigen,
  assertLargest,
  computeLargestEigen,
  orientRow,
  decomposeSymmetric,
  computeSymmetricEigenvalues,
} from '../../algebra/symmetric-eigen.js';
import { assert } from '../../assert.js';
import { BYTES, type Kernels } from './kernels.js';

/**
 * Range of entries whose squares neither overflow nor underflow. A matrix with entries outside this range is scaled
 * first, which is slower.
 */
const MAGNITUDE_MIN = 2 ** -400;
const MAGNITUDE_MAX = 2 ** 401;

/** Minimum order for which the extreme eigenvalues are computed without the others. */
const EXTREMES_ORDER_MIN = 400;

/**
 * Function that runs a kernel for a problem of order n, with other threads if they are available and worth the call.
 */
export type TeamRunner = (n: number, work: () => number) => number;

/** Creates the operations for eigenvalue problems. */
export function createEigenOperations(
  { kernels, arena, operands, run }: Kernels,
  inTeam: TeamRunner,
  parts: Omit<ExtremesEngine, 'symmetricEigen'>,
): Pick<Engine, 'symmetricEigenvalues' | 'eigenvalueRange' | 'symmetricEigen' | 'largestEigen'> {
  /** Returns true if squares of the entries would exceed the range of float64, or an entry is not finite. */
  const needsScaling = (pa: number, n: number): boolean => {
    const largest = kernels.largestMagnitude(pa, n * n);
    return !(largest === 0 || (largest >= MAGNITUDE_MIN && largest < MAGNITUDE_MAX));
  };

  const symmetricEigenHere: Engine['symmetricEigen'] = (a, n, values, vectors) => {
    assertEigen(a, n, values);
    assert(vectors.length === n * n, `vectors: ${vectors.length} values for ${n} x ${n}`);
    return run(() => {
      const pa = operands.input(a);
      if (needsScaling(pa, n)) return decomposeSymmetric(a, n, values, vectors);
      const [pv, writeValues] = operands.output(values);
      const [pz, writeVectors] = operands.output(vectors);
      const scratch = arena.reserve(kernels.symmetricEigenScratch(n));
      const hasConverged = inTeam(n, () => kernels.symmetricEigen(pa, n, n, pv, pz, scratch));
      writeValues();
      writeVectors();
      for (let k = 0; k < n; k++) orientRow(vectors, k * n, n);
      return hasConverged !== 0;
    });
  };
  const extremesEngine = { ...parts, symmetricEigen: symmetricEigenHere };

  return {
    symmetricEigenvalues(a, n, values) {
      assertEigen(a, n, values);
      return run(() => {
        const pa = operands.input(a);
        if (needsScaling(pa, n)) return computeSymmetricEigenvalues(a, n, values);
        const [pv, write] = operands.output(values);
        const scratch = arena.reserve(kernels.symmetricEigenvaluesScratch(n));
        const hasConverged = inTeam(n, () => kernels.symmetricEigenvalues(pa, n, pv, scratch));
        write();
        values.sort();
        return hasConverged !== 0;
      });
    },

    eigenvalueRange(a, n) {
      assert(n >= 1 && a.length === n * n, `a: ${a.length} values for ${n} x ${n}`);
      return run(() => {
        const pa = operands.input(a);
        if (needsScaling(pa, n)) return findEigenvalueRange(computeSymmetricEigenvalues, a, n);
        const eigenvalueRange =
          n < EXTREMES_ORDER_MIN ? undefined : findExtremeEigenvalues(extremesEngine, arena.view(pa, n * n), n);
        if (eigenvalueRange !== undefined) return eigenvalueRange;
        const rangeAddress = arena.reserve(2 * BYTES);
        const scratch = arena.reserve(kernels.symmetricEigenvaluesScratch(n));
        const isFound = inTeam(n, () => kernels.symmetricEigenvalueRange(pa, n, rangeAddress, scratch));
        const [smallest, largest] = arena.view(rangeAddress, 2);
        return isFound === 0 ? undefined : { smallest: smallest!, largest: largest! };
      });
    },

    symmetricEigen: symmetricEigenHere,

    largestEigen(a, n, values, vectors) {
      const count = assertLargest(a, n, values, vectors);
      return run(() => {
        const pa = operands.input(a);
        if (needsScaling(pa, n)) return computeLargestEigen(a, n, values, vectors);
        const allValues = arena.reserve(n * BYTES);
        const rows = arena.reserve(n * n * BYTES);
        const scratch = arena.reserve(kernels.symmetricEigenScratch(n));
        const hasConverged = inTeam(n, () => kernels.symmetricEigen(pa, n, count, allValues, rows, scratch));
        values.set(arena.view(allValues + (n - count) * BYTES, count));
        vectors.set(arena.view(rows + (n - count) * n * BYTES, count * n));
        for (let k = 0; k < count; k++) orientRow(vectors, k * n, n);
        return hasConverged !== 0;
      });
    },
  };
}
