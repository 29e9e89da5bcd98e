import { cpus } from 'node:os';
import type { Engine } from '#kernels/engines/engine.js';
import { nativeEngine } from '#kernels/engines/native.js';
import { wasmEngine } from '#kernels/engines/wasm.js';
import { fastestMs } from './fastest.js';

/** What this machine can do at most, measured beside the kernels: their figures mean something only next to these. */
export interface Limits {
  /** A large product by the native kernels, GFLOP/s; null if there are none. */
  readonly native: number | null;
  /** The instruction set of those kernels, or why there are none. */
  readonly nativeName: string;
  /** The same product by the WebAssembly engine, GFLOP/s. */
  readonly wasm: number;
  /** Reading memory far larger than the caches, GB/s. */
  readonly sweep: number;
}

const ORDER = 1024;
const SWEEP_VALUES = 2 ** 24; // 128 MiB
const REPEATS = 7;

export function measureLimits(): Limits {
  const own = wasmEngine();
  const native = nativeOrWhy();
  return {
    native: native instanceof Error ? null : productRate(native),
    nativeName: native instanceof Error ? `none: ${native.message}` : native.description,
    wasm: productRate(own),
    sweep: sweepRate(own),
  };
}

function nativeOrWhy(): Engine | Error {
  try {
    return nativeEngine();
  } catch (failure) {
    return failure as Error;
  }
}

/** The processor as its maker calls it, and how many of them. */
export function processorName(): string {
  return `${cpus()[0]?.model ?? 'unknown processor'}, ${cpus().length} cores`;
}

function productRate(engine: Engine): number {
  return engine.scope(() => {
    const a = engine.allocate(ORDER * ORDER).fill(0.5);
    const b = engine.allocate(ORDER * ORDER).fill(0.25);
    const out = engine.allocate(ORDER * ORDER);
    const shape = { rows: ORDER, inner: ORDER, columns: ORDER };
    return (2 * ORDER ** 3) / fastestMs(() => engine.gemm(shape, a, b, out), { repeats: REPEATS }) / 1e6;
  });
}

function sweepRate(engine: Engine): number {
  return engine.scope(() => {
    const values = engine.allocate(SWEEP_VALUES).fill(1);
    return (8 * SWEEP_VALUES) / fastestMs(() => engine.pairwiseSum(values), { repeats: REPEATS }) / 1e6;
  });
}
