import { assert } from '../assert.js';

/** Size of a page of WebAssembly memory. */
const PAGE_BYTES = 65_536;

/**
 * Maximum number of pages of an arena: just under 2 GiB, so that every address is a positive int32. This suffices for a
 * covariance of 11,000 securities with its workspace. The kernel module is linked with the same limit.
 */
export const ARENA_PAGES_MAX = 32_767;

/** First allocatable address. The first page is never allocated, so that address 0 remains invalid. */
const FIRST_ADDRESS = PAGE_BYTES;

/** Alignment of allocations: a cache line. */
const LINE_BYTES = 64;

/**
 * Shared memory with a stack allocator. The memory grows to the largest size that was needed and never shrinks. To free
 * a large arena, a caller drops the whole arena.
 */
export interface Arena {
  readonly memory: WebAssembly.Memory;
  /**
   * Reserves bytes and returns their address. The address is valid until a caller releases the memory back to an
   * earlier mark. @throws RangeError past the maximum
   */
  reserve(bytes: number): number;
  mark(): number;
  release(mark: number): void;
  /** Returns a float64 array at an address of the arena. */
  view(address: number, length: number): Float64Array;
  /** Returns the address of an array in the arena; undefined for any other array. */
  addressOf(array: Float64Array | Int32Array): number | undefined;
  bytes(): number;
}

export function createArena(): Arena {
  const memory = new WebAssembly.Memory({ initial: 2, maximum: ARENA_PAGES_MAX, shared: true });
  // Growing a shared memory creates a new, longer buffer over the same bytes; existing arrays keep the old one.
  const buffers = new WeakSet<ArrayBufferLike>([memory.buffer]);
  let nextAddress = FIRST_ADDRESS;

  return {
    memory,
    reserve(bytes) {
      const address = nextAddress;
      const end = Math.ceil((address + bytes) / LINE_BYTES) * LINE_BYTES;
      const missingPages = Math.ceil((end - memory.buffer.byteLength) / PAGE_BYTES);
      if (missingPages > 0) {
        if (end > ARENA_PAGES_MAX * PAGE_BYTES) {
          throw new RangeError(
            `out of memory: the arena needs ${end} bytes and may have ${ARENA_PAGES_MAX * PAGE_BYTES}`,
          );
        }
        memory.grow(missingPages);
        buffers.add(memory.buffer);
      }
      nextAddress = end;
      return address;
    },
    mark: () => nextAddress,
    release(mark) {
      assert(mark >= FIRST_ADDRESS && mark <= nextAddress, `mark: ${mark} of an arena filled to ${nextAddress}`);
      nextAddress = mark;
    },
    view: (address, length) => new Float64Array(memory.buffer, address, length),
    addressOf: (array) => (buffers.has(array.buffer) ? array.byteOffset : undefined),
    bytes: () => memory.buffer.byteLength,
  };
}

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

/**
 * Native kernels that the module calls for larger work. Addresses refer to the memory of the module; strides are in
 * bytes.
 */
export interface NativeImports extends Pick<
  KernelExports,
  'cholesky' | 'solveLower' | 'solveLowerTransposed' | 'symvRows'
> {
  product: KernelExports['gemm'];
  symmetricRankK(x: number, rows: number, columns: number, c: number, panels: number): void;
  packSlab(x: number, rows: number, columns: number, slab: number, panels: number): void;
  addSlabGroup(rows: number, columns: number, c: number, slab: number, group: number, panels: number): void;
}

const refuseCall = (): never => {
  throw new Error('a module without native kernels calls none');
};

const NO_NATIVE_KERNELS: NativeImports = {
  product: refuseCall,
  symmetricRankK: refuseCall,
  packSlab: refuseCall,
  addSlabGroup: refuseCall,
  cholesky: refuseCall,
  solveLower: refuseCall,
  solveLowerTransposed: refuseCall,
  symvRows: refuseCall,
};

export function createKernelImports(
  memory: WebAssembly.Memory,
  native: NativeImports = NO_NATIVE_KERNELS,
): WebAssembly.Imports {
  return { env: { memory }, native };
}
