import { readFileSync } from 'node:fs';

let compiledModule: WebAssembly.Module | undefined;

/**
 * Returns the kernels for plain SIMD, compiled once per thread. @throws Error if the module was not built, or
 * WebAssembly SIMD is missing
 */
export function compileKernelModule(): WebAssembly.Module {
  return (compiledModule ??= new WebAssembly.Module(readFileSync(new URL('../wasm/kernels.wasm', import.meta.url))));
}
