import { centreColumns } from '../algebra/centre-columns.js';
import { centreGroups } from '../algebra/centre-groups.js';
import { factorCholesky } from '../algebra/cholesky.js';
import { computeColumnDeviations } from '../algebra/column-deviations.js';
import { findEigenvalueRange } from '../algebra/eigenvalue-range.js';
import { gemm } from '../algebra/gemm.js';
import { gemv, gemvTransposed } from '../algebra/gemv.js';
import { rankOneUpdate } from '../algebra/rank-one-update.js';
import { selectColumns } from '../algebra/select-columns.js';
import { square } from '../algebra/square.js';
import { sumSquaredRowSums } from '../algebra/squared-row-sums.js';
import { computeLargestEigen, decomposeSymmetric, computeSymmetricEigenvalues } from '../algebra/symmetric-eigen.js';
import { computeSymmetricRankK } from '../algebra/symmetric-rank-k.js';
import { symv } from '../algebra/symv.js';
import { solveLower, solveLowerTransposed } from '../algebra/triangular-solve.js';
import { simulatePaths } from '../simulation/simulate-paths.js';
import { computeHalvingChoices } from '../sums/halving-choices.js';
import { computePairwiseSum } from '../sums/pairwise-sum.js';
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
