import { cpus } from 'node:os';
import type { Engine } from '#kernels/engines/engine.js';
import { openNativeEngine } from '#kernels/engines/native.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { measureFastestMs } from './fastest.js';

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
