import {
  assertCentre,
  assertColumns,
  assertGroups,
  assertRowSums,
  assertSelection,
  type ColumnGroups,
} from '../algebra/columns.js';
import { countRightSides } from '../algebra/linear-systems.js';
import { assertProduct, type ProductShape } from '../algebra/products.js';
import {
  assertEigen,
  assertLargest,
  computeLargestEigen,
  computeSymmetricEigenvalues,
  decomposeSymmetric,
  findEigenvalueRange,
  orientRow,
} from '../algebra/symmetric-eigen.js';
import { assert } from '../assert.js';
import { assertPaths, closeCircle } from '../simulation/simulate-paths.js';
import { assertHalving } from '../sums/halving-choices.js';
import { assertPercentiles } from '../sums/weighted-percentiles.js';
import type { Engine } from './engine.js';
import { type ExtremesEngine, findExtremeEigenvalues } from './extreme-eigenvalues.js';
import { compileKernelModule } from './kernel-module.js';
import type { NativeKernels } from './native-kernels.js';
import { createTeam } from './team.js';
import { type Arena, createArena, createKernelImports, type KernelExports } from './wasm-instance.js';

/** Size of a float64 in bytes. */
const BYTES = 8;

/** Resources that the parts of the engine share. */
interface Kernels {
  readonly kernels: KernelExports;
  readonly arena: Arena;
  readonly operands: Operands;
  /** Runs a kernel with its operands in the arena and then releases them. */
  run<T>(work: () => T): T;
}

export type Operands = ReturnType<typeof createOperands>;

function createKernels(kernels: KernelExports, arena: Arena): Kernels {
  const run = <T>(work: () => T): T => {
    const mark = arena.mark();
    try {
      return work();
    } finally {
      arena.release(mark);
    }
  };
  return { kernels, arena, operands: createOperands(arena), run };
}

/** Returns functions that place operands in the arena. Operands that are already there are used in place. */
function createOperands(arena: Arena) {
  const ignoreCall = (): void => {};
  const reserveAddress = (array: Float64Array): number => arena.addressOf(array) ?? arena.reserve(array.length * BYTES);
  return {
    input(array: Float64Array): number {
      const address = reserveAddress(array);
      if (arena.addressOf(array) === undefined) arena.view(address, array.length).set(array);
      return address;
    },
    /** Returns the address of an operand that the kernel overwrites, and a function that copies the result back. */
    result(array: Float64Array): readonly [address: number, write: () => void] {
      const address = reserveAddress(array);
      return [
        address,
        arena.addressOf(array) === undefined ? () => array.set(arena.view(address, array.length)) : ignoreCall,
      ];
    },
    /** Returns the address of a zeroed operand to which the kernel adds, and a function that copies the result back. */
    output(array: Float64Array): readonly [address: number, write: () => void] {
      const placement = this.result(array);
      arena.view(placement[0], array.length).fill(0);
      return placement;
    },
    inPlace(array: Float64Array): readonly [address: number, write: () => void] {
      const address = this.input(array);
      return [
        address,
        arena.addressOf(array) === undefined ? () => array.set(arena.view(address, array.length)) : ignoreCall,
      ];
    },
    /** Copies integers to the arena and returns their address. */
    integers(array: Int32Array | Uint32Array): number {
      const address = arena.reserve(array.byteLength);
      new Uint32Array(arena.memory.buffer, address, array.length).set(array);
      return address;
    },
    /** Copies integers that a kernel changed back to their array. */
    read(address: number, array: Int32Array | Uint32Array): void {
      array.set(new Uint32Array(arena.memory.buffer, address, array.length));
    },
  };
}

/** Creates the operations for sums, means and squares of columns and of groups of columns. */
function createColumnOperations({
  kernels,
  arena,
  operands,
  run,
}: Kernels): Pick<
  Engine,
  | 'centreColumns'
  | 'squaredRowSums'
  | 'columnDeviations'
  | 'selectColumns'
  | 'centreGroups'
  | 'pairwiseSum'
  | 'weightedPercentiles'
  | 'halvingChoices'
> {
  return {
    centreColumns(x, rowWeights, means, squares) {
      const rows = assertCentre(x, rowWeights, means, squares);
      const { weights, factors } = rowWeights;
      run(() => {
        const [px, writeRows] = operands.inPlace(x);
        const [pm, writeMeans] = operands.result(means);
        const [ps, writeSquares] = operands.result(squares);
        kernels.columnSums(px, rows, means.length, weights === undefined ? 0 : operands.input(weights), pm);
        const sums = arena.view(pm, means.length);
        if (weights === undefined) for (let i = 0; i < sums.length; i++) sums[i]! /= rows;
        kernels.centreRows(px, rows, means.length, pm, operands.input(factors), ps);
        writeRows();
        writeMeans();
        writeSquares();
      });
    },

    squaredRowSums(x, weights) {
      const rows = assertRowSums(x, weights);
      return run(() => kernels.squaredRowSums(operands.input(x), rows, weights.length, operands.input(weights)));
    },

    columnDeviations(x, out) {
      const rows = assertColumns(x, out);
      run(() => {
        const px = operands.input(x);
        const [po, write] = operands.output(out);
        const pm = arena.reserve(out.length * BYTES);
        const means = arena.view(pm, out.length);
        kernels.columnSums(px, rows, out.length, 0, pm);
        for (let i = 0; i < means.length; i++) means[i]! /= rows;
        kernels.columnSquaresAbout(px, rows, out.length, pm, po);
        write();
      });
    },

    selectColumns(x, selection, out) {
      const rows = assertSelection(x, selection, out);
      const { width, columns, less } = selection;
      run(() => {
        const px = operands.input(x);
        const [po, write] = operands.result(out);
        kernels.selectColumns(px, rows, width, operands.integers(columns), columns.length, less, po);
        write();
      });
    },

    centreGroups(x, groups, means) {
      const { rows, sizes } = assertGroups(x, groups, means);
      const columns = groups.groupAt.length;
      run(() => {
        const [px, writeRows] = operands.inPlace(x);
        const [pm, writeMeans] = operands.result(means);
        kernels.centreGroups(
          px,
          rows,
          columns,
          operands.integers(computeOffsetsByGroup(groups, sizes)),
          operands.integers(sizes),
          groups.count,
          pm,
        );
        writeRows();
        writeMeans();
      });
    },

    pairwiseSum: (values) => run(() => kernels.pairwiseSum(operands.input(values), values.length)),

    weightedPercentiles(weightedValues, shares, out) {
      assertPercentiles(weightedValues, shares, out);
      const { values, weights, count } = weightedValues;
      const mark = arena.mark();
      try {
        const pv = arena.addressOf(values) ?? operands.input(values);
        const pw = arena.addressOf(weights) ?? operands.input(weights);
        const ps = arena.addressOf(shares) ?? operands.input(shares);
        const outAddress = arena.addressOf(out);
        const po = outAddress ?? arena.reserve(out.length * BYTES);
        const scratch = arena.reserve(kernels.weightedPercentilesScratch(count, shares.length));
        kernels.weightedPercentiles(pv, pw, count, ps, shares.length, po, scratch);
        if (outAddress === undefined) out.set(arena.view(po, out.length));
      } finally {
        arena.release(mark);
      }
    },

    halvingChoices(sums, out) {
      const blocks = assertHalving(sums, out);
      const { means, half, varianceMin } = sums;
      run(() => {
        const [pf, ps, pm] = [operands.input(sums.first), operands.input(sums.second), operands.input(means)];
        const [po, write] = operands.result(out);
        const scratch = arena.reserve(kernels.halvingChoicesScratch(means.length, blocks));
        kernels.halvingChoices(pf, ps, pm, means.length, blocks, half, varianceMin, po, scratch);
        write();
      });
    },
  };
}

/**
 * Returns the byte offsets of columns from the beginning of a row, ordered by group and ascending within each group.
 */
function computeOffsetsByGroup({ groupAt }: ColumnGroups, sizes: Int32Array): Int32Array {
  const next = new Int32Array(sizes.length);
  for (let g = 1; g < sizes.length; g++) next[g] = next[g - 1]! + sizes[g - 1]!;
  const offsets = new Int32Array(groupAt.length);
  for (let i = 0; i < groupAt.length; i++) offsets[next[groupAt[i]!]!++] = i * BYTES;
  return offsets;
}

/**
 * Range of entries whose squares neither overflow nor underflow. A matrix with entries outside this range is scaled
 * first, which is slower.
 */
const MAGNITUDE_MIN = 2 ** -400;
const MAGNITUDE_MAX = 2 ** 401;

/** Minimum order for which the extreme eigenvalues are computed without the others. */
const EXTREMES_ORDER_MIN = 400;

/**
 * Function that runs a kernel for a problem of order n, with other threads if they are available and worth the call.
 */
export type TeamRunner = (n: number, work: () => number) => number;

function createEigenOperations(
  { kernels, arena, operands, run }: Kernels,
  inTeam: TeamRunner,
  parts: Omit<ExtremesEngine, 'symmetricEigen'>,
): Pick<Engine, 'symmetricEigenvalues' | 'eigenvalueRange' | 'symmetricEigen' | 'largestEigen'> {
  /** Returns true if squares of the entries would exceed the range of float64, or an entry is not finite. */
  const needsScaling = (pa: number, n: number): boolean => {
    const largest = kernels.largestMagnitude(pa, n * n);
    return !(largest === 0 || (largest >= MAGNITUDE_MIN && largest < MAGNITUDE_MAX));
  };

  const symmetricEigenHere: Engine['symmetricEigen'] = (a, n, values, vectors) => {
    assertEigen(a, n, values);
    assert(vectors.length === n * n, `vectors: ${vectors.length} values for ${n} x ${n}`);
    return run(() => {
      const pa = operands.input(a);
      if (needsScaling(pa, n)) return decomposeSymmetric(a, n, values, vectors);
      const [pv, writeValues] = operands.output(values);
      const [pz, writeVectors] = operands.output(vectors);
      const scratch = arena.reserve(kernels.symmetricEigenScratch(n));
      const hasConverged = inTeam(n, () => kernels.symmetricEigen(pa, n, n, pv, pz, scratch));
      writeValues();
      writeVectors();
      for (let k = 0; k < n; k++) orientRow(vectors, k * n, n);
      return hasConverged !== 0;
    });
  };
  const extremesEngine = { ...parts, symmetricEigen: symmetricEigenHere };

  return {
    symmetricEigenvalues(a, n, values) {
      assertEigen(a, n, values);
      return run(() => {
        const pa = operands.input(a);
        if (needsScaling(pa, n)) return computeSymmetricEigenvalues(a, n, values);
        const [pv, write] = operands.output(values);
        const scratch = arena.reserve(kernels.symmetricEigenvaluesScratch(n));
        const hasConverged = inTeam(n, () => kernels.symmetricEigenvalues(pa, n, pv, scratch));
        write();
        values.sort();
        return hasConverged !== 0;
      });
    },

    eigenvalueRange(a, n) {
      assert(n >= 1 && a.length === n * n, `a: ${a.length} values for ${n} x ${n}`);
      return run(() => {
        const pa = operands.input(a);
        if (needsScaling(pa, n)) return findEigenvalueRange(computeSymmetricEigenvalues, a, n);
        const eigenvalueRange =
          n < EXTREMES_ORDER_MIN ? undefined : findExtremeEigenvalues(extremesEngine, arena.view(pa, n * n), n);
        if (eigenvalueRange !== undefined) return eigenvalueRange;
        const rangeAddress = arena.reserve(2 * BYTES);
        const scratch = arena.reserve(kernels.symmetricEigenvaluesScratch(n));
        const isFound = inTeam(n, () => kernels.symmetricEigenvalueRange(pa, n, rangeAddress, scratch));
        const [smallest, largest] = arena.view(rangeAddress, 2);
        return isFound === 0 ? undefined : { smallest: smallest!, largest: largest! };
      });
    },

    symmetricEigen: symmetricEigenHere,

    largestEigen(a, n, values, vectors) {
      const count = assertLargest(a, n, values, vectors);
      return run(() => {
        const pa = operands.input(a);
        if (needsScaling(pa, n)) return computeLargestEigen(a, n, values, vectors);
        const allValues = arena.reserve(n * BYTES);
        const rows = arena.reserve(n * n * BYTES);
        const scratch = arena.reserve(kernels.symmetricEigenScratch(n));
        const hasConverged = inTeam(n, () => kernels.symmetricEigen(pa, n, count, allValues, rows, scratch));
        values.set(arena.view(allValues + (n - count) * BYTES, count));
        vectors.set(arena.view(rows + (n - count) * n * BYTES, count * n));
        for (let k = 0; k < count; k++) orientRow(vectors, k * n, n);
        return hasConverged !== 0;
      });
    },
  };
}

const WORD_VALUES = 2 ** 32;

function createPathOperations({ kernels, arena, operands, run }: Kernels): Pick<Engine, 'simulatePaths'> {
  return {
    simulatePaths(request, tallies) {
      assertPaths(request, tallies);
      const { model, horizon, seed, first, bins } = request;
      run(() => {
        const low = operands.input(bins.low);
        const scale = operands.input(bins.scale);
        const counts = operands.integers(tallies.counts);
        const [finals, writeFinals] = operands.output(tallies.finals);
        const [lows, writeLows] = operands.output(tallies.lows);
        const [drawdowns, writeDrawdowns] = operands.output(tallies.drawdowns);
        const underwater = operands.integers(tallies.underwater);
        const steps = arena.reserve(horizon * BYTES);
        const commonArguments = [low, scale, bins.count, counts, finals, lows, drawdowns, underwater, steps] as const;
        const start = [
          horizon,
          (seed % WORD_VALUES) | 0,
          Math.floor(seed / WORD_VALUES),
          first,
          tallies.finals.length,
        ] as const;
        if (model.kind === 'block_bootstrap') {
          kernels.bootstrapPaths(
            operands.input(closeCircle(model.growth, model.block)),
            model.growth.length,
            model.block,
            ...start,
            ...commonArguments,
          );
        } else kernels.gaussianPaths(model.mean, model.deviation, ...start, ...commonArguments);
        writeFinals();
        writeLows();
        writeDrawdowns();
        operands.read(counts, tallies.counts);
        operands.read(underwater, tallies.underwater);
      });
    },
  };
}

/** Creates the operations for factorisations and triangular solves. */
function createFactorOperations({
  kernels,
  arena,
  operands,
  run,
}: Kernels): Pick<Engine, 'cholesky' | 'solveLower' | 'solveLowerTransposed'> {
  const solve = (kernel: KernelExports['solveLower'], l: Float64Array, n: number, b: Float64Array): void => {
    const columns = countRightSides(l, n, b);
    if (b.length === 0) return;
    run(() => {
      const pl = operands.input(l);
      const [pb, write] = operands.inPlace(b);
      kernel(pl, n, pb, columns, arena.reserve(kernels.triangularSolveScratch()));
      write();
    });
  };

  return {
    cholesky(a, n) {
      assert(a.length === n * n, `a: ${a.length} values for ${n} x ${n}`);
      return run(() => {
        const [pa, write] = operands.inPlace(a);
        const pivots = kernels.cholesky(pa, n, arena.reserve(kernels.choleskyScratch(n)));
        write();
        return pivots;
      });
    },

    solveLower: (l, n, b) => solve(kernels.solveLower, l, n, b),
    solveLowerTransposed: (l, n, b) => solve(kernels.solveLowerTransposed, l, n, b),
  };
}

/** Function that runs a product with this number of multiply-adds, on several threads if that is worth the calls. */
export type TeamProduct = (multiplyAdds: number, work: () => void) => void;

function createProductOperations(
  { kernels, arena, operands, run }: Kernels,
  inTeam: TeamProduct,
): Pick<Engine, 'symmetricRankK' | 'gemm' | 'gemv' | 'gemvTransposed' | 'symv' | 'square' | 'rankOneUpdate'> {
  const multiply = (shape: ProductShape, a: Float64Array, b: Float64Array, out: Float64Array): void => {
    assertProduct(shape, a, b, out);
    const { rows, inner, columns, transposeA = false, transposeB = false } = shape;
    run(() => {
      const pa = operands.input(a);
      const pb = operands.input(b);
      const [pc, write] = operands.output(out);
      const scratch = arena.reserve(kernels.gemmScratch());
      const [aRow, aInner] = transposeA ? [BYTES, rows * BYTES] : [inner * BYTES, BYTES];
      const [bInner, bColumn] = transposeB ? [BYTES, inner * BYTES] : [columns * BYTES, BYTES];
      kernels.gemm(rows, inner, columns, pa, aRow!, aInner!, pb, bInner!, bColumn!, pc, columns * BYTES, 1, 0, scratch);
      write();
    });
  };

  return {
    symmetricRankK(x, columns, out) {
      const rows = x.length / columns;
      assert(columns >= 1 && Number.isInteger(rows), `x: ${x.length} values over ${columns} columns`);
      assert(out.length === columns * columns, `out: ${out.length} values for ${columns} columns`);
      run(() => {
        const px = operands.input(x);
        const [pc, write] = operands.result(out);
        inTeam((rows * columns * columns) / 2, () => {
          // The leader of a team needs additional scratch memory.
          const scratch = arena.reserve(kernels.teamSymmetricRankKScratch(rows, columns));
          kernels.teamSymmetricRankK(px, rows, columns, pc, scratch);
        });
        write();
      });
    },

    gemm: multiply,

    gemv(a, x, out) {
      assert(a.length === out.length * x.length, `a: ${a.length} values for ${out.length} x ${x.length}`);
      run(() => {
        const pa = operands.input(a);
        const px = operands.input(x);
        const [py, write] = operands.output(out);
        kernels.gemv(pa, out.length, x.length, x.length * BYTES, px, py);
        write();
      });
    },

    gemvTransposed(a, x, out) {
      assert(a.length === out.length * x.length, `a: ${a.length} values for ${x.length} x ${out.length}`);
      run(() => {
        const pa = operands.input(a);
        const px = operands.input(x);
        const [py, write] = operands.output(out);
        kernels.addTransposed(pa, x.length, out.length, out.length * BYTES, px, py, 1);
        write();
      });
    },

    symv(a, x, out) {
      const n = x.length;
      assert(out.length === n, `out: ${out.length} values for ${n}`);
      assert(a.length === n * n, `a: ${a.length} values for ${n} x ${n}`);
      run(() => {
        const pa = operands.input(a);
        const px = operands.input(x);
        const [py, write] = operands.output(out);
        kernels.symvRows(pa, n, n * BYTES, px, py, 0, n);
        write();
      });
    },

    square(x, out) {
      assert(out.length === x.length, `out: ${out.length} values for ${x.length}`);
      run(() => {
        const px = operands.input(x);
        const [py, write] = operands.output(out);
        kernels.square(px, x.length, py);
        write();
      });
    },

    rankOneUpdate(out, x, { decay, factor }) {
      assert(out.length === x.length * x.length, `out: ${out.length} values for ${x.length} x ${x.length}`);
      run(() => {
        const px = operands.input(x);
        const [pc, write] = operands.inPlace(out);
        kernels.rankOneUpdate(pc, x.length, px, decay, factor);
        write();
      });
    },
  };
}

/**
 * Minimum order of an eigenvalue problem that several threads solve together. Such a problem takes a quarter of a
 * second; starting a thread takes 30 ms.
 */
const TEAM_ORDER = 1_500;

/**
 * Minimum number of multiply-adds of a product X'X that running threads compute together. Such a product takes 3 ms;
 * calling the threads takes 0.1 ms.
 */
const SHARED_WORK_MIN = 3e7;

/** Maximum number of threads. Beyond four, the threads wait for the memory bandwidth. */
const TEAM_MAX = 4;

export interface WasmEngineOptions {
  /** Memory of the kernels. Default: a new arena. */
  readonly arena?: Arena;
  /**
   * Returns the number of threads that a large problem may use now, including the calling one. Default: 1. Results are
   * bit-identical for any number.
   */
  readonly threads?: () => number;
  /** Minimum order of an eigenvalue problem that threads share. */
  readonly teamOrder?: number;
  /** Minimum number of multiply-adds of a product X'X that threads share. */
  readonly sharedMin?: number;
  /** Native kernels for larger work. Default: none. */
  readonly native?: NativeKernels;
}

/**
 * Creates the engine of the SIMD kernels in WebAssembly. Its results are bit-identical on every machine, Node version
 * and number of threads.
 *
 * @param options  Memory, and threads that may help.
 * @throws         Error if the platform has no WebAssembly SIMD, or the module was not built.
 */
export function openWasmEngine(options: WasmEngineOptions = {}): Engine {
  return createWasmEngine(compileKernelModule(), options, {
    name: 'wasm',
    description: 'WebAssembly SIMD, float64, with the same results on every machine in every bit',
  });
}

export function createWasmEngine(
  module: WebAssembly.Module,
  {
    arena = createArena(),
    threads = () => 1,
    teamOrder = TEAM_ORDER,
    sharedMin = SHARED_WORK_MIN,
    native,
  }: WasmEngineOptions,
  names: Pick<Engine, 'name' | 'description'>,
): Engine {
  const exports = native?.instantiate(module, arena.memory) ?? instantiate(module, arena);
  const kernels = createKernels(exports, arena);
  const team = createTeam({ arena, module, kernels: exports, native });
  const countThreads = (isWorthIt: boolean): number => (isWorthIt ? Math.min(TEAM_MAX, threads()) : 1);
  const runInTeam = {
    eigen(n: number, work: () => number): number {
      const count = countThreads(n >= teamOrder);
      return count > 1 ? team.gather(count, work) : work();
    },
    product(multiplyAdds: number, work: () => void): void {
      const count = countThreads(multiplyAdds >= sharedMin);
      if (count > 1) team.present(count, work);
      else work();
    },
  };

  const reserve = (length: number): Float64Array => arena.view(arena.reserve(length * BYTES), length);
  const engineParts = {
    room: reserve,
    scope: kernels.run,
    ...createProductOperations(kernels, runInTeam.product),
    ...createFactorOperations(kernels),
  };
  return {
    ...names,
    precision: 'float64',
    allocate: (length) => reserve(length).fill(0),
    bytes: () => arena.bytes(),
    ...engineParts,
    ...createEigenOperations(kernels, runInTeam.eigen, engineParts),
    ...createColumnOperations(kernels),
    ...createPathOperations(kernels),
  };
}

function instantiate(module: WebAssembly.Module, arena: Arena): KernelExports {
  const { exports } = new WebAssembly.Instance(module, createKernelImports(arena.memory));
  return exports as unknown as KernelExports; // The module is built from kernels/wasm/index.ts, and `KernelExports` lists its exports.
}
