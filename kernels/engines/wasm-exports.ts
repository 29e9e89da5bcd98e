/**
 * Exports of `kernels/wasm/index.ts`; addresses and sizes are numbers. The `*Scratch` functions return the number of
 * bytes of workspace that a kernel needs.
 */
export interface KernelExports {
  /**
   * Enables native kernels for work of at least this number of multiply-adds. `scratch` is the number of bytes that
   * their products need.
   */
  useNative(multiplyAdds: number, scratch: number): void;
  /** Returns the number of tile rows of X'X that threads may share; the first one is the longest. */
  symmetricRankKTileRows(columns: number): number;
  symmetricRankKScratch(rows: number, columns: number): number;
  symmetricRankK(
    x: number,
    rows: number,
    columns: number,
    c: number,
    first: number,
    last: number,
    scratch: number,
  ): void;
  gemmScratch(): number;
  gemm(
    m: number,
    k: number,
    n: number,
    a: number,
    aRow: number,
    aInner: number,
    b: number,
    bInner: number,
    bColumn: number,
    c: number,
    ldc: number,
    sign: number,
    upper: number,
    scratch: number,
  ): void;
  gemv(a: number, rows: number, columns: number, ld: number, x: number, out: number): void;
  addTransposed(a: number, rows: number, columns: number, ld: number, x: number, out: number, sign: number): void;
  symvRows(a: number, n: number, ld: number, x: number, out: number, first: number, last: number): void;
  choleskyScratch(n: number): number;
  cholesky(a: number, n: number, scratch: number): number;
  triangularSolveScratch(): number;
  solveLower(l: number, n: number, b: number, columns: number, scratch: number): void;
  solveLowerTransposed(l: number, n: number, b: number, columns: number, scratch: number): void;
  symmetricEigenvaluesScratch(n: number): number;
  symmetricEigenvalues(a: number, n: number, values: number, scratch: number): number;
  symmetricEigenvalueRange(a: number, n: number, range: number, scratch: number): number;
  symmetricEigenScratch(n: number): number;
  symmetricEigen(a: number, n: number, count: number, values: number, vectors: number, scratch: number): number;
  teamSymmetricRankKScratch(rows: number, columns: number): number;
  teamSymmetricRankK(x: number, rows: number, columns: number, c: number, scratch: number): void;
  teamBoardBytes(): number;
  leadTeam(board: number, followers: number): void;
  endTeam(): void;
  followTeam(board: number, scratch: number): void;
  square(x: number, n: number, out: number): void;
  columnSums(x: number, rows: number, columns: number, weights: number, out: number): void;
  squaredRowSums(x: number, rows: number, columns: number, weights: number): number;
  largestMagnitude(x: number, n: number): number;
  columnSquaresAbout(x: number, rows: number, columns: number, means: number, out: number): void;
  selectColumns(
    x: number,
    rows: number,
    width: number,
    columns: number,
    count: number,
    less: number,
    out: number,
  ): void;
  centreGroups(
    x: number,
    rows: number,
    columns: number,
    order: number,
    sizes: number,
    count: number,
    means: number,
  ): void;
  centreRows(x: number, rows: number, columns: number, means: number, factors: number, squares: number): void;
  rankOneUpdate(c: number, n: number, x: number, decay: number, factor: number): void;
  pairwiseSum(values: number, n: number): number;
  weightedPercentilesScratch(count: number, shares: number): number;
  weightedPercentiles(
    values: number,
    weights: number,
    count: number,
    shares: number,
    shareCount: number,
    out: number,
    scratch: number,
  ): void;
  halvingChoicesScratch(variants: number, blocks: number): number;
  halvingChoices(
    first: number,
    second: number,
    means: number,
    variants: number,
    blocks: number,
    half: number,
    varianceMin: number,
    out: number,
    scratch: number,
  ): void;
  bootstrapPaths(
    circle: number,
    length: number,
    block: number,
    horizon: number,
    seedLow: number,
    seedHigh: number,
    first: number,
    paths: number,
    low: number,
    scale: number,
    bins: number,
    counts: number,
    finals: number,
    lows: number,
    drawdowns: number,
    underwater: number,
    steps: number,
  ): void;
  gaussianPaths(
    mean: number,
    deviation: number,
    horizon: number,
    seedLow: number,
    seedHigh: number,
    first: number,
    paths: number,
    low: number,
    scale: number,
    bins: number,
    counts: number,
    finals: number,
    lows: number,
    drawdowns: number,
    underwater: number,
    steps: number,
  ): void;
}
