import { cpus } from 'node:os';
import type { Engine } from '#kernels/engines/engine.js';
import { openNativeEngine } from '#kernels/engines/native.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { createLevelBins } from '#kernels/simulation/simulate-paths.js';

/** Returns the shortest processor time in ms over several runs. Other load on the machine does not count. */
function measureFastestMs(work: () => void, { repeats }: { readonly repeats: number }): number {
  let fastestMs = Infinity;
  for (let repeat = 0; repeat < repeats; repeat++) {
    const startUsage = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(startUsage);
    fastestMs = Math.min(fastestMs, (user + system) / 1000);
  }
  return fastestMs;
}

/** Timing of one kernel at one size on one engine. */
export interface KernelTiming {
  readonly kernel: string;
  /** Rows x columns, or the order of a square matrix. */
  readonly size: string;
  readonly engine: string;
  /** Fewest milliseconds of processor time. */
  readonly ms: number;
  readonly rate: number;
  readonly unit: 'GFLOP/s' | 'M steps/s';
}

interface KernelCase {
  readonly kernel: string;
  readonly size: string;
  readonly unit: KernelTiming['unit'];
  /** Floating-point operations or steps per call. */
  readonly amount: number;
  /** Allocates operands on the engine and returns the call to time. */
  prepare(engine: Engine): () => void;
  /** True if engines other than WebAssembly also implement the kernel. */
  readonly isAlgebra: boolean;
}

const OBSERVATIONS = 2520;
const ASSETS = 500;
const KERNELS_ORDER = 1000;
const PATHS = 10_000;
const HORIZON = 252;
const KERNELS_REPEATS = 5;

/** Times the kernels that do most of the work, at the size of ten years of 500 securities. */
export function timeKernels(engines: readonly Engine[]): KernelTiming[] {
  return engines.flatMap((engine) =>
    CASES.filter(({ isAlgebra }) => isAlgebra || engine.name === 'wasm').map(
      ({ kernel, size, unit, amount, prepare }) => {
        const ms = engine.scope(() => {
          const runWork = prepare(engine);
          runWork(); // warms up and compiles
          return measureFastestMs(runWork, { repeats: KERNELS_REPEATS });
        });
        return { kernel, size, engine: engine.name, ms, rate: amount / ms / (unit === 'GFLOP/s' ? 1e6 : 1e3), unit };
      },
    ),
  );
}

const CASES: readonly KernelCase[] = [
  {
    kernel: 'covariance product',
    size: `${OBSERVATIONS} x ${ASSETS}`,
    unit: 'GFLOP/s',
    amount: OBSERVATIONS * ASSETS * ASSETS,
    isAlgebra: true,
    prepare(engine) {
      const x = createReturns(engine, OBSERVATIONS * ASSETS);
      const out = engine.allocate(ASSETS * ASSETS);
      return () => engine.symmetricRankK(x, ASSETS, out);
    },
  },
  {
    kernel: 'Cholesky',
    size: `${KERNELS_ORDER}`,
    unit: 'GFLOP/s',
    amount: KERNELS_ORDER ** 3 / 3,
    isAlgebra: true,
    prepare(engine) {
      const matrix = createDefiniteMatrix(engine, KERNELS_ORDER);
      const work = engine.allocate(matrix.length);
      return () => {
        work.set(matrix);
        if (engine.cholesky(work, KERNELS_ORDER) !== KERNELS_ORDER)
          throw new Error('the matrix is not positive definite');
      };
    },
  },
  {
    kernel: 'eigenvalues',
    size: `${ASSETS}`,
    unit: 'GFLOP/s',
    amount: (4 / 3) * ASSETS ** 3,
    isAlgebra: true,
    prepare(engine) {
      const matrix = createDefiniteMatrix(engine, ASSETS);
      const values = engine.allocate(ASSETS);
      return () => void engine.symmetricEigenvalues(matrix, ASSETS, values);
    },
  },
  {
    kernel: 'simulated paths',
    size: `${PATHS} x ${HORIZON}`,
    unit: 'M steps/s',
    amount: PATHS * HORIZON,
    isAlgebra: false,
    prepare(engine) {
      const growth = createReturns(engine, OBSERVATIONS).map((value) => 1 + value);
      const bins = createLevelBins({ mean: 0.0003, deviation: 0.01, horizon: HORIZON, count: 2048 });
      const tallies = {
        counts: new Uint32Array(HORIZON * bins.count),
        finals: engine.allocate(PATHS),
        lows: engine.allocate(PATHS),
        drawdowns: engine.allocate(PATHS),
        underwater: new Int32Array(PATHS),
      };
      return () =>
        engine.simulatePaths(
          { model: { kind: 'block_bootstrap', growth, block: 21 }, horizon: HORIZON, seed: 1, first: 0, bins },
          tallies,
        );
    },
  },
];

/** Returns pseudo-random values of at most 2% in magnitude, like daily returns. They are the same on every machine. */
function createReturns(engine: Engine, length: number): Float64Array {
  const values = engine.allocate(length);
  let state = 42;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    values[i] = (state / 2 ** 31) * 0.02;
  }
  return values;
}

/** Returns a symmetric positive definite matrix with a constant correlation of 0.3. */
function createDefiniteMatrix(engine: Engine, order: number): Float64Array {
  const matrix = engine.allocate(order * order).fill(0.3);
  for (let i = 0; i < order; i++) matrix[i * order + i] = 1;
  return matrix;
}

/** Limits of this machine. The timings of the kernels are compared with them. */
export interface MachineLimits {
  /** Speed of a product of large matrices on the native kernels, in GFLOP/s; null if there are none. */
  readonly native: number | null;
  /** Instruction set of the native kernels. If there are none, the reason. */
  readonly nativeName: string;
  /** Speed of the same matrix product on the WebAssembly engine, in GFLOP/s. */
  readonly wasm: number;
  /** Speed of reading memory in GB/s. The memory is far larger than the caches. */
  readonly sweep: number;
}

const ORDER = 1024;
const SWEEP_VALUES = 2 ** 24; // 128 MiB
const REPEATS = 7;

export function measureLimits(): MachineLimits {
  const ownEngine = openWasmEngine();
  const native = openNativeOrExplain();
  return {
    native: native instanceof Error ? null : measureProductRate(native),
    nativeName: native instanceof Error ? `none: ${native.message}` : native.description,
    wasm: measureProductRate(ownEngine),
    sweep: measureSweepRate(ownEngine),
  };
}

function openNativeOrExplain(): Engine | Error {
  try {
    return openNativeEngine();
  } catch (failure) {
    return failure as Error;
  }
}

/** Returns the model name of the processor and its number of cores. */
export function readProcessorName(): string {
  return `${cpus()[0]?.model ?? 'unknown processor'}, ${cpus().length} cores`;
}

function measureProductRate(engine: Engine): number {
  return engine.scope(() => {
    const a = engine.allocate(ORDER * ORDER).fill(0.5);
    const b = engine.allocate(ORDER * ORDER).fill(0.25);
    const out = engine.allocate(ORDER * ORDER);
    const shape = { rows: ORDER, inner: ORDER, columns: ORDER };
    return (2 * ORDER ** 3) / measureFastestMs(() => engine.gemm(shape, a, b, out), { repeats: REPEATS }) / 1e6;
  });
}

function measureSweepRate(engine: Engine): number {
  return engine.scope(() => {
    const values = engine.allocate(SWEEP_VALUES).fill(1);
    return (8 * SWEEP_VALUES) / measureFastestMs(() => engine.pairwiseSum(values), { repeats: REPEATS }) / 1e6;
  });
}
