import { cholesky } from '../../algebra/cholesky.js';
import { symmetricRankK } from '../../algebra/symmetric-rank-k.js';
import { symv } from '../../algebra/symv.js';
import { solveLower, solveLowerTransposed } from '../../algebra/triangular-solve.js';

/** The dense operations the solvers spend their time in; every engine has them. Definitions: kernels/algebra. */
export interface DenseAlgebra {
  cholesky(a: Float64Array, n: number): number;
  solveLower(l: Float64Array, n: number, b: Float64Array): void;
  solveLowerTransposed(l: Float64Array, n: number, b: Float64Array): void;
  symmetricRankK(x: Float64Array, columns: number, out: Float64Array): void;
  symv(a: Float64Array, x: Float64Array, out: Float64Array): void;
  /** Memory that is worked on without a copy, with whatever was there before; it lives until the scope around it ends. */
  room(length: number): Float64Array;
  scope<T>(work: () => T): T;
}

/** The definitions themselves: exact, and slow above a few hundred names. */
export const plainAlgebra: DenseAlgebra = {
  cholesky,
  solveLower,
  solveLowerTransposed,
  symmetricRankK,
  symv,
  room: (length) => new Float64Array(length),
  scope: (work) => work(),
};
