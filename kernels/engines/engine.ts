import type { ColumnGroups, ColumnSelection, RowWeights } from '../algebra/columns.js';
import type { EigenvalueRange } from '../algebra/symmetric-eigen.js';
import type { ProductShape, RankOneUpdate } from '../algebra/products.js';
import type { PathRequest, PathTallies } from '../simulation/simulate-paths.js';
import type { BlockSums } from '../sums/halving-choices.js';
import type { WeightedValues } from '../sums/weighted-percentiles.js';

export const ENGINE_NAMES = ['native', 'wasm', 'tensorflow', 'reference'] as const;
export type EngineName = (typeof ENGINE_NAMES)[number];

/**
 * Dense operations from which kernels are built. Each operation has the shapes, units and errors of its plain
 * definition in `kernels/`. Tests compare the two: results agree to a relative 1e-12. The results of `native` and
 * `wasm` are bit-identical to each other.
 */
export interface Engine {
  readonly name: EngineName;
  /** Readable description of the engine: library, version and instruction set. */
  readonly description: string;
  /** Precision of the covariance product and of path simulation. All other operations are float64 on every engine. */
  readonly precision: 'float64' | 'float32';

  /**
   * Returns a zeroed array in the memory of the engine, on which operations need no copies. It is valid until the end
   * of the innermost enclosing `scope`. Operations accept other arrays and copy them if necessary.
   */
  allocate(length: number): Float64Array;
  /** Allocates like `allocate` but without zeroing, for callers that overwrite every value. */
  room(length: number): Float64Array;
  /** Runs `work` and then frees its allocations. Arrays allocated inside must not be used afterwards. */
  scope<T>(work: () => T): T;
  /** Returns the number of bytes held for allocations; 0 if the garbage collector manages them. */
  bytes(): number;

  /** `algebra/symmetric-rank-k` */
  symmetricRankK(x: Float64Array, columns: number, out: Float64Array): void;
  /** `algebra/gemm` */
  gemm(shape: ProductShape, a: Float64Array, b: Float64Array, out: Float64Array): void;
  /** `algebra/gemv` */
  gemv(a: Float64Array, x: Float64Array, out: Float64Array): void;
  /** `algebra/gemv` */
  gemvTransposed(a: Float64Array, x: Float64Array, out: Float64Array): void;
  /** `algebra/symv` */
  symv(a: Float64Array, x: Float64Array, out: Float64Array): void;
  /** `algebra/cholesky` */
  cholesky(a: Float64Array, n: number): number;
  /** `algebra/triangular-solve` */
  solveLower(l: Float64Array, n: number, b: Float64Array): void;
  /** `algebra/triangular-solve` */
  solveLowerTransposed(l: Float64Array, n: number, b: Float64Array): void;
  /** `algebra/symmetric-eigen` */
  symmetricEigenvalues(a: Float64Array, n: number, values: Float64Array): boolean;
  /** `algebra/eigenvalue-range` */
  eigenvalueRange(a: Float64Array, n: number): EigenvalueRange | undefined;
  /** `algebra/symmetric-eigen` */
  symmetricEigen(a: Float64Array, n: number, values: Float64Array, vectors: Float64Array): boolean;
  /** `algebra/symmetric-eigen` */
  largestEigen(a: Float64Array, n: number, values: Float64Array, vectors: Float64Array): boolean;
  /** `algebra/square` */
  square(x: Float64Array, out: Float64Array): void;
  /** `algebra/centre-columns`; bit-identical on every engine. */
  centreColumns(x: Float64Array, rows: RowWeights, means: Float64Array, squares: Float64Array): void;
  /** `algebra/squared-row-sums`; bit-identical on every engine. */
  squaredRowSums(x: Float64Array, weights: Float64Array): number;
  /** `algebra/column-deviations`; bit-identical on every engine. */
  columnDeviations(x: Float64Array, out: Float64Array): void;
  /** `algebra/select-columns`; bit-identical on every engine. */
  selectColumns(x: Float64Array, selection: ColumnSelection, out: Float64Array): void;
  /** `algebra/centre-groups`; bit-identical on every engine. */
  centreGroups(x: Float64Array, groups: ColumnGroups, means: Float64Array): void;
  /** `algebra/rank-one-update` */
  rankOneUpdate(out: Float64Array, x: Float64Array, update: RankOneUpdate): void;
  /** `sums/pairwise-sum` of all values */
  pairwiseSum(values: Float64Array): number;
  /** `sums/weighted-percentiles`; bit-identical on every engine. */
  weightedPercentiles(weighted: WeightedValues, shares: Float64Array, out: Float64Array): void;
  /** `sums/halving-choices`; bit-identical on every engine. */
  halvingChoices(sums: BlockSums, out: Float64Array): void;
  /** `simulation/simulate-paths`; bit-identical on float64 engines. */
  simulatePaths(request: PathRequest, tallies: PathTallies): void;
}
