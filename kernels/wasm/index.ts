export { cholesky, choleskyScratch } from './cholesky';
export { centreGroups, centreRows, columnSquaresAbout, columnSums, selectColumns, squaredRowSums } from './columns';
export { gemm, gemmScratch } from './gemm';
export { halvingChoices, halvingChoicesScratch } from './halving-choices';
export { holdingValues, holdingWeights } from './holding-values';
export { useNative } from './native';
export { writeNumber, writeNumbers } from './number-text';
export { bootstrapPaths, gaussianPaths } from './simulate-paths';
export { pairwiseSum } from './sums';
export {
  symmetricEigen, symmetricEigenScratch, symmetricEigenvalueRange, symmetricEigenvalues, symmetricEigenvaluesScratch,
} from './symmetric-eigen';
export { symmetricRankK, symmetricRankKScratch, symmetricRankKTileRows } from './symmetric-rank-k';
export { endTeam, followTeam, leadTeam, teamBoardBytes, teamSymmetricRankK, teamSymmetricRankKScratch } from './team';
export { solveLower, solveLowerTransposed, triangularSolveScratch } from './triangular-solve';
export { writeTable } from './table-text';
export { weightedPercentiles, weightedPercentilesScratch } from './weighted-percentiles';
export { addTransposed, gemv, largestMagnitude, rankOneUpdate, square, symvRows } from './vectors';
