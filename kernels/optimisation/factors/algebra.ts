import { cholesky } from '../../algebra/cholesky.js';
import { symmetricRankK } from '../../algebra/symmetric-rank-k.js';
import { solveLower, solveLowerTransposed } from '../../algebra/triangular-solve.js';

/** The dense operations the solvers spend their time in; every engine has them. Definitions: kernels/algebra. */
export interface DenseAlgebra {
  cholesky(a: Float64Array, n: number): number;
  solveLower(l: Float64Array, n: number, b: Float64Array): void;
  solveLowerTransposed(l: Float64Array, n: number, b: Float64Array): void;
  symmetricRankK(x: Float64Array, columns: number, out: Float64Array): void;
}

/** The definitions themselves: exact, and slow above a few hundred names. */
export const plainAlgebra: DenseAlgebra = { cholesky, solveLower, solveLowerTransposed, symmetricRankK };
