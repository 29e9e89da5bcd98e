import {
  centreColumns,
  centreGroups,
  computeColumnDeviations,
  selectColumns,
  sumSquaredRowSums,
} from '../algebra/columns.js';
import { factorCholesky, solveLower, solveLowerTransposed } from '../algebra/linear-systems.js';
import { computeSymmetricRankK, gemm, gemv, gemvTransposed, rankOneUpdate, square, symv } from '../algebra/products.js';
import {
  computeLargestEigen,
  computeSymmetricEigenvalues,
  decomposeSymmetric,
  findEigenvalueRange,
} from '../algebra/symmetric-eigen.js';
import { simulatePaths } from '../simulation/simulate-paths.js';
import { computeHalvingChoices } from '../sums/halving-choices.js';
import { computePairwiseSum } from '../sums/sums.js';
import { computeWeightedPercentiles } from '../sums/weighted-percentiles.js';
import type { Engine } from './engine.js';

/**
 * Engine of the plain definitions: the reference in tests of other engines, and the engine of platforms without SIMD.
 */
export const referenceEngine: Engine = {
  name: 'reference',
  description: 'plain TypeScript',
  precision: 'float64',
  allocate: (length) => new Float64Array(length),
  room: (length) => new Float64Array(length),
  scope: (work) => work(),
  bytes: () => 0,
  symmetricRankK: computeSymmetricRankK,
  gemm,
  gemv,
  gemvTransposed,
  symv,
  cholesky: factorCholesky,
  solveLower,
  solveLowerTransposed,
  symmetricEigenvalues: computeSymmetricEigenvalues,
  eigenvalueRange: (a, n) => findEigenvalueRange(computeSymmetricEigenvalues, a, n),
  symmetricEigen: decomposeSymmetric,
  largestEigen: computeLargestEigen,
  square,
  centreColumns,
  squaredRowSums: sumSquaredRowSums,
  columnDeviations: computeColumnDeviations,
  selectColumns,
  centreGroups,
  rankOneUpdate,
  pairwiseSum: (values) => computePairwiseSum(values),
  weightedPercentiles: computeWeightedPercentiles,
  halvingChoices: computeHalvingChoices,
  simulatePaths,
};

/** Order of the test matrix: larger than every unrolled loop, and small enough for a negligible cost. */
const ORDER = 37;

/** Maximum difference of a third-party library from the reference, relative to the largest entry. */
const TOLERANCE = { float64: 1e-12, float32: 1e-5 } as const;

/**
 * Tests the product of an engine to its precision. A library that loads may still give wrong results: it may have been
 * built with other integer sizes or be broken on this processor.
 * @throws Error if the product differs from the definition
 */
export function testProduct(engine: Engine): void {
  const x = Float64Array.from({ length: 2 * ORDER * ORDER }, (_, k) => Math.sin(k * k + 1));
  const expected = new Float64Array(ORDER * ORDER);
  const actual = new Float64Array(ORDER * ORDER);
  referenceEngine.symmetricRankK(x, ORDER, expected);
  engine.symmetricRankK(x, ORDER, actual);
  const size = Math.max(...expected.map(Math.abs));
  const largestError = Math.max(...actual.map((value, k) => Math.abs(value - expected[k]!)));
  const tolerance = TOLERANCE[engine.precision];
  if (!(largestError <= tolerance * size))
    throw new Error(`self-test of X'X is off by ${largestError / size}, ${tolerance} allowed`);
}
