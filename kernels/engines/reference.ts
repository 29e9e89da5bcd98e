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
 * Tests an engine on a product, a factorisation and an eigenvalue problem with known results. A library that loads may
 * still give wrong results: it may have been built with other integer sizes or be broken on this processor.
 * @throws Error naming the operation whose result is wrong
 */
export function testEngine(engine: Engine): void {
  const product = testProduct(engine);
  check(
    'Cholesky',
    ORDER * ORDER,
    (each, out) => {
      out.set(product);
      const pivots = each.cholesky(out, ORDER);
      if (pivots !== ORDER) throw new Error(`self-test of Cholesky stopped at pivot ${pivots}`);
      for (let i = 0; i < ORDER; i++) out.fill(0, i * ORDER + i + 1, (i + 1) * ORDER);
    },
    engine,
  );
  check(
    'eigenvalues',
    ORDER,
    (each, out) => {
      if (!each.symmetricEigenvalues(product, ORDER, out)) throw new Error('self-test of eigenvalues did not converge');
    },
    engine,
  );
}

/**
 * Tests only the product, to the precision of the engine, for an engine that delegates all other operations.
 * @returns the product by the definition, [ORDER x ORDER]
 * @throws Error if the products differ
 */
export function testProduct(engine: Engine): Float64Array {
  const x = Float64Array.from({ length: 2 * ORDER * ORDER }, (_, k) => Math.sin(k * k + 1));
  return check(
    "X'X",
    ORDER * ORDER,
    (each, out) => each.symmetricRankK(x, ORDER, out),
    engine,
    TOLERANCE[engine.precision],
  );
}

function check(
  what: string,
  length: number,
  work: (engine: Engine, out: Float64Array) => void,
  engine: Engine,
  tolerance: number = TOLERANCE.float64,
): Float64Array {
  const expected = new Float64Array(length);
  const actual = new Float64Array(length);
  work(referenceEngine, expected);
  work(engine, actual);
  const size = Math.max(...expected.map(Math.abs));
  const largestError = Math.max(...actual.map((value, k) => Math.abs(value - expected[k]!)));
  if (!(largestError <= tolerance * size))
    throw new Error(`self-test of ${what} is off by ${largestError / size}, ${tolerance} allowed`);
  return expected;
}
