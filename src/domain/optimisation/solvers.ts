import type { DenseAlgebra } from '#kernels/optimisation/factors/algebra.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';

export interface Solvers {
  readonly solver: Solver;
  readonly algebra: DenseAlgebra;
}
