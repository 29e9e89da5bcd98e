import { createArena } from './arena.js';
import type { Engine } from './engine.js';
import { testBits } from './kernel-bits.js';
import { compileKernelModule } from './kernel-module.js';
import { openNativeKernels } from './native-kernels.js';
import { createEngine, type WasmEngineOptions } from './wasm.js';

/**
 * Creates the `wasm` engine with native kernels for larger products, factorisations and solves. A self-test verifies
 * that the native kernels are bit-identical.
 *
 * @throws Error with the reason if the engine is unavailable: koffi is not installed, no library, a processor without
 * wide vectors, or results that are not bit-identical
 */
export function openNativeEngine(options: WasmEngineOptions = {}): Engine {
  const { native = openNativeKernels() } = options;
  const arena = createArena();
  testBits(native.instantiate(compileKernelModule(), arena.memory, 0), arena);
  return createEngine(
    compileKernelModule(),
    { ...options, native },
    {
      name: 'native',
      description: `native kernels, ${native.name}, float64, with the same results as WebAssembly in every bit`,
    },
  );
}
