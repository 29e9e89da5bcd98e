export { cholesky, choleskyScratch } from './cholesky';
export { gemm, gemmScratch } from './gemm';
export { navPath } from './nav-path';
export { writeNumber, writeNumbers } from './number-text';
export { pairwiseSum } from './sums';
export { symmetricEigen, symmetricEigenScratch, symmetricEigenvalues, symmetricEigenvaluesScratch } from './symmetric-eigen';
export { mirrorUpper, symmetricRankK, symmetricRankKScratch } from './symmetric-rank-k';
export { solveLower, solveLowerTransposed, triangularSolveScratch } from './triangular-solve';
export { addTransposed, gemv, scaleRows, square, symv } from './vectors';
