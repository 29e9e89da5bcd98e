import { factorCholesky } from '../../algebra/cholesky.js';
import { decomposeSymmetric } from '../../algebra/symmetric-eigen.js';
import { computeSymmetricRankK } from '../../algebra/symmetric-rank-k.js';
import { symv } from '../../algebra/symv.js';
import { solveLower, solveLowerTransposed } from '../../algebra/triangular-solve.js';

/**
 * Dense operations that dominate the cost of the solvers; every engine implements them. Definitions: kernels/algebra.
 */
export interface DenseAlgebra {
  cholesky(a: Float64Array, n: number): number;
  solveLower(l: Float64Array, n: number, b: Float64Array): void;
  solveLowerTransposed(l: Float64Array, n: number, b: Float64Array): void;
  symmetricRankK(x: Float64Array, columns: number, out: Float64Array): void;
  symv(a: Float64Array, x: Float64Array, out: Float64Array): void;
  symmetricEigen(a: Float64Array, n: number, values: Float64Array, vectors: Float64Array): boolean;
  /**
   * Returns memory that kernels use without a copy, with arbitrary contents. It is valid until the enclosing scope
   * ends.
   */
  room(length: number): Float64Array;
  scope<T>(work: () => T): T;
}

/** Plain definitions of the operations: the reference, slow for more than a few hundred securities. */
export const plainAlgebra: DenseAlgebra = {
  cholesky: factorCholesky,
  solveLower,
  solveLowerTransposed,
  symmetricRankK: computeSymmetricRankK,
  symv,
  symmetricEigen: decomposeSymmetric,
  room: (length) => new Float64Array(length),
  scope: (work) => work(),
};
