import type { Engine } from '#kernels/engines/engine.js';
import { createLevelBins } from '#kernels/simulation/level-bins.js';
import { measureFastestMs } from './fastest.js';

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
const ORDER = 1000;
const PATHS = 10_000;
const HORIZON = 252;
const REPEATS = 5;

/** Times the kernels that do most of the work, at the size of ten years of 500 securities. */
export function timeKernels(engines: readonly Engine[]): KernelTiming[] {
  return engines.flatMap((engine) =>
    CASES.filter(({ isAlgebra }) => isAlgebra || engine.name === 'wasm').map(
      ({ kernel, size, unit, amount, prepare }) => {
        const ms = engine.scope(() => {
          const runWork = prepare(engine);
          runWork(); // warms up and compiles
          return measureFastestMs(runWork, { repeats: REPEATS });
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
    size: `${ORDER}`,
    unit: 'GFLOP/s',
    amount: ORDER ** 3 / 3,
    isAlgebra: true,
    prepare(engine) {
      const matrix = createDefiniteMatrix(engine, ORDER);
      const work = engine.allocate(matrix.length);
      return () => {
        work.set(matrix);
        if (engine.cholesky(work, ORDER) !== ORDER) throw new Error('the matrix is not positive definite');
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
