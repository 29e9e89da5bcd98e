import { readFileSync } from 'node:fs';
import { assertCentre } from '../algebra/centre-columns.js';
import { assertGroups, type ColumnGroups } from '../algebra/centre-groups.js';
import { assertColumns } from '../algebra/column-squares.js';
import { assertProduct, type ProductShape } from '../algebra/gemm.js';
import { assertSelection } from '../algebra/select-columns.js';
import {
  assertEigen,
  assertLargest,
  largestEigen,
  orientRow,
  scaleOf,
  symmetricEigen,
  symmetricEigenvalues,
} from '../algebra/symmetric-eigen.js';
import { columnsOf } from '../algebra/triangular-solve.js';
import { assert } from '../assert.js';
import { assertNavPath } from '../simulation/nav-path.js';
import { assertPaths, closeCircle } from '../simulation/simulate-paths.js';
import { createArena, type Arena } from './arena.js';
import type { Engine } from './engine.js';
import { withTeam } from './team.js';
import type { KernelExports } from './wasm-exports.js';

/** Entries beyond these powers could overflow or vanish when squared: such a matrix goes the slow, scaled way. */
const SCALE_MAX = 2 ** 400;

/** The arena is only told about sizes it can address. */
const BYTES = 8;

const WORD = 2 ** 32;

/** Order from which threads share an eigenvalue problem: a quarter of a second's work, against the 30 ms that starting a thread takes. */
const TEAM_ORDER = 1_500;

/** Past four threads the memory that holds the matrix is what they wait for. */
const TEAM_MAX = 4;

export interface WasmEngineOptions {
  /** Memory to work on; a new one unless given. */
  readonly arena?: Arena;
  /** Threads that a large problem may have at this moment, the calling one among them; 1 unless given. The bits do not depend on it. */
  readonly threads?: () => number;
}

/**
 * The engine of own SIMD kernels: plain WebAssembly, the same bits on every machine, Node version and number of threads.
 *
 * @param options  Memory, and threads that may help.
 * @throws         Error when the platform has no WebAssembly SIMD, or the module was not built.
 */
export function wasmEngine({ arena = createArena(), threads = () => 1 }: WasmEngineOptions = {}): Engine {
  const module = compiled();
  const kernels = instantiate(module, arena);
  const operands = operandsOn(arena);

  /** Runs a kernel on an eigenvalue problem, with other threads when it is worth it and there are any. */
  const inTeam = (n: number, work: () => number): number => {
    const count = n < TEAM_ORDER ? 1 : Math.min(TEAM_MAX, threads());
    return count > 1 ? withTeam({ arena, module, kernels, count }, work) : work();
  };

  /** Runs a kernel with its operands on the arena and gives the arena back. */
  const run = <T>(work: () => T): T => {
    const mark = arena.mark();
    try {
      return work();
    } finally {
      arena.release(mark);
    }
  };

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

  const solve = (kernel: KernelExports['solveLower'], l: Float64Array, n: number, b: Float64Array): void => {
    const columns = columnsOf(l, n, b);
    if (b.length === 0) return;
    run(() => {
      const pl = operands.input(l);
      const [pb, write] = operands.inPlace(b);
      kernel(pl, n, pb, columns, arena.reserve(kernels.triangularSolveScratch()));
      write();
    });
  };

  return {
    name: 'wasm',
    description: 'WebAssembly SIMD, float64, no fused operations',
    precision: 'float64',
    allocate: (length) => arena.view(arena.reserve(length * BYTES), length).fill(0),
    room: (length) => arena.view(arena.reserve(length * BYTES), length),
    scope: run,
    bytes: () => arena.bytes(),

    symmetricRankK(x, columns, out) {
      const rows = x.length / columns;
      assert(columns >= 1 && Number.isInteger(rows), `x: ${x.length} values over ${columns} columns`);
      assert(out.length === columns * columns, `out: ${out.length} values for ${columns} columns`);
      run(() => {
        const px = operands.input(x);
        const [pc, write] = operands.result(out);
        const scratch = arena.reserve(kernels.symmetricRankKScratch(rows, columns));
        kernels.symmetricRankK(px, rows, columns, pc, 0, kernels.symmetricRankKTileRows(columns), scratch);
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
        kernels.symv(pa, n, n * BYTES, px, py);
        write();
      });
    },

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

    symmetricEigenvalues(a, n, values) {
      assertEigen(a, n, values);
      if (needsScaling(a)) return symmetricEigenvalues(a, n, values);
      return run(() => {
        const pa = operands.input(a);
        const [pv, write] = operands.output(values);
        const scratch = arena.reserve(kernels.symmetricEigenvaluesScratch(n));
        const converged = inTeam(n, () => kernels.symmetricEigenvalues(pa, n, pv, scratch));
        write();
        values.sort();
        return converged !== 0;
      });
    },

    symmetricEigen(a, n, values, vectors) {
      assertEigen(a, n, values);
      assert(vectors.length === n * n, `vectors: ${vectors.length} values for ${n} x ${n}`);
      if (needsScaling(a)) return symmetricEigen(a, n, values, vectors);
      return run(() => {
        const pa = operands.input(a);
        const [pv, writeValues] = operands.output(values);
        const [pz, writeVectors] = operands.output(vectors);
        const scratch = arena.reserve(kernels.symmetricEigenScratch(n));
        const converged = inTeam(n, () => kernels.symmetricEigen(pa, n, n, pv, pz, scratch));
        writeValues();
        writeVectors();
        for (let k = 0; k < n; k++) orientRow(vectors, k * n, n);
        return converged !== 0;
      });
    },

    largestEigen(a, n, values, vectors) {
      const count = assertLargest(a, n, values, vectors);
      if (needsScaling(a)) return largestEigen(a, n, values, vectors);
      return run(() => {
        const pa = operands.input(a);
        const all = arena.reserve(n * BYTES);
        const rows = arena.reserve(n * n * BYTES);
        const scratch = arena.reserve(kernels.symmetricEigenScratch(n));
        const converged = inTeam(n, () => kernels.symmetricEigen(pa, n, count, all, rows, scratch));
        values.set(arena.view(all + (n - count) * BYTES, count));
        vectors.set(arena.view(rows + (n - count) * n * BYTES, count * n));
        for (let k = 0; k < count; k++) orientRow(vectors, k * n, n);
        return converged !== 0;
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

    centreColumns(x, weights, means) {
      const rows = assertCentre(x, weights, means);
      run(() => {
        const [px, writeRows] = operands.inPlace(x);
        const [pm, writeMeans] = operands.inPlace(means);
        const sums = arena.view(pm, means.length);
        kernels.columnSums(px, rows, means.length, weights === undefined ? 0 : operands.input(weights), pm);
        if (weights === undefined) for (let i = 0; i < sums.length; i++) sums[i]! /= rows;
        kernels.subtractRow(px, rows, means.length, pm);
        writeRows();
        writeMeans();
      });
    },

    columnSquares(x, out) {
      const rows = assertColumns(x, out);
      run(() => {
        const px = operands.input(x);
        const [po, write] = operands.output(out);
        kernels.columnSquares(px, rows, out.length, po);
        write();
      });
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
          operands.integers(offsetsByGroup(groups, sizes)),
          operands.integers(sizes),
          groups.count,
          pm,
        );
        writeRows();
        writeMeans();
      });
    },

    scaleRows(x, columns, factors) {
      assert(x.length === columns * factors.length, `x: ${x.length} values for ${factors.length} x ${columns}`);
      run(() => {
        const pf = operands.input(factors);
        const [px, write] = operands.inPlace(x);
        kernels.scaleRows(px, factors.length, columns, pf);
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

    pairwiseSum: (values) => run(() => kernels.pairwiseSum(operands.input(values), values.length)),

    navPath(input, out) {
      assertNavPath(input, out);
      const { prices, assets, rebalances, weights } = input;
      run(() => {
        const pp = operands.input(prices);
        const pr = operands.integers(rebalances);
        const pw = operands.input(weights);
        const [po, write] = operands.output(out);
        kernels.navPath(pp, out.length, assets, pr, rebalances.length, pw, po, arena.reserve(assets * BYTES));
        write();
      });
    },

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
        const rest = [low, scale, bins.count, counts, finals, lows, drawdowns, underwater, steps] as const;
        const start = [horizon, (seed % WORD) | 0, Math.floor(seed / WORD), first, tallies.finals.length] as const;
        if (model.kind === 'block_bootstrap') {
          kernels.bootstrapPaths(
            operands.input(closeCircle(model.growth, model.block)),
            model.growth.length,
            model.block,
            ...start,
            ...rest,
          );
        } else kernels.gaussianPaths(model.mean, model.deviation, ...start, ...rest);
        writeFinals();
        writeLows();
        writeDrawdowns();
        operands.read(counts, tallies.counts);
        operands.read(underwater, tallies.underwater);
      });
    },
  };
}

/** Bytes from the beginning of a row to the columns of the first group, of the second and so on, ascending in each. */
function offsetsByGroup({ groupAt }: ColumnGroups, sizes: Int32Array): Int32Array {
  const next = new Int32Array(sizes.length);
  for (let g = 1; g < sizes.length; g++) next[g] = next[g - 1]! + sizes[g - 1]!;
  const offsets = new Int32Array(groupAt.length);
  for (let i = 0; i < groupAt.length; i++) offsets[next[groupAt[i]!]!++] = i * BYTES;
  return offsets;
}

/** Squares of the entries would leave the range of float64, or an entry is not finite. */
function needsScaling(a: Float64Array): boolean {
  const scale = scaleOf(a);
  return !(scale <= SCALE_MAX && scale >= 1 / SCALE_MAX);
}

/** Brings operands onto the arena: those that lie there already are used where they are. */
function operandsOn(arena: Arena) {
  const nothing = (): void => {};
  const place = (array: Float64Array): number => arena.addressOf(array) ?? arena.reserve(array.length * BYTES);
  return {
    input(array: Float64Array): number {
      const address = place(array);
      if (arena.addressOf(array) === undefined) arena.view(address, array.length).set(array);
      return address;
    },
    /** An operand the kernel overwrites, and how its result gets to where it belongs. */
    result(array: Float64Array): readonly [address: number, write: () => void] {
      const address = place(array);
      return [
        address,
        arena.addressOf(array) === undefined ? () => array.set(arena.view(address, array.length)) : nothing,
      ];
    },
    /** An operand the kernel adds to from zero. */
    output(array: Float64Array): readonly [address: number, write: () => void] {
      const placed = this.result(array);
      arena.view(placed[0], array.length).fill(0);
      return placed;
    },
    inPlace(array: Float64Array): readonly [address: number, write: () => void] {
      const address = this.input(array);
      return [
        address,
        arena.addressOf(array) === undefined ? () => array.set(arena.view(address, array.length)) : nothing,
      ];
    },
    /** A copy of integers. */
    integers(array: Int32Array | Uint32Array): number {
      const address = arena.reserve(array.byteLength);
      new Uint32Array(arena.memory.buffer, address, array.length).set(array);
      return address;
    },
    /** Copies integers back from where a kernel changed them. */
    read(address: number, array: Int32Array | Uint32Array): void {
      array.set(new Uint32Array(arena.memory.buffer, address, array.length));
    },
  };
}

function compiled(): WebAssembly.Module {
  return new WebAssembly.Module(readFileSync(new URL('../wasm/kernels.wasm', import.meta.url)));
}

function instantiate(module: WebAssembly.Module, arena: Arena): KernelExports {
  const { exports } = new WebAssembly.Instance(module, { env: { memory: arena.memory } });
  return exports as unknown as KernelExports; // The module is built from kernels/wasm/index.ts, whose exports that interface lists.
}
