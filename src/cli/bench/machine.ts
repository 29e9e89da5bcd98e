import { cpus } from 'node:os';
import type { Engine } from '#kernels/engines/engine.js';
import { openblasEngine } from '#kernels/engines/openblas.js';
import { wasmEngine } from '#kernels/engines/wasm.js';
import { fastestMs } from './fastest.js';

/** Measured limits of this machine, the yardstick for the kernel timings. */
export interface Limits {
  /** Product of large matrices by the system's BLAS in GFLOP/s; null if there is none. */
  readonly blas: number | null;
  /** Name and instruction set of that BLAS, or the reason for its absence. */
  readonly blasName: string;
  /** Product of the same matrices by the WebAssembly engine in GFLOP/s. */
  readonly wasm: number;
  /** Throughput of reading memory far larger than the caches in GB/s. */
  readonly sweep: number;
}

const ORDER = 1024;
const SWEEP_VALUES = 2 ** 24; // 128 MiB
const REPEATS = 7;

export async function measureLimits(): Promise<Limits> {
  const own = wasmEngine();
  const blas = await openblasEngine(own).catch((failure: Error) => failure);
  return {
    blas: blas instanceof Error ? null : productRate(blas),
    blasName: blas instanceof Error ? `no BLAS: ${blas.message}` : blas.description,
    wasm: productRate(own),
    sweep: sweepRate(own),
  };
}

/** Model name of the processor and the number of its cores. */
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
