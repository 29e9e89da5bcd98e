import { createArena, type Arena } from './arena.js';
import type { Engine } from './engine.js';
import { createKernelImports } from './kernel-imports.js';
import { compileKernelModule } from './kernel-module.js';
import type { NativeKernels } from './native-kernels.js';
import { createTeam } from './team.js';
import type { KernelExports } from './wasm-exports.js';
import { createColumnOperations } from './webassembly/columns.js';
import { createEigenOperations } from './webassembly/eigen.js';
import { BYTES, createKernels } from './webassembly/kernels.js';
import { createPathOperations } from './webassembly/paths.js';
import { createFactorOperations } from './webassembly/factors.js';
import { createProductOperations } from './webassembly/products.js';

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
  return createEngine(compileKernelModule(), options, {
    name: 'wasm',
    description: 'WebAssembly SIMD, float64, with the same results on every machine in every bit',
  });
}

/** Creates an engine from a compiled kernel module, with or without native kernels. */
export function createEngine(
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
  const team = createTeam({ arena, module, kernels: exports, set: native?.set });
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
