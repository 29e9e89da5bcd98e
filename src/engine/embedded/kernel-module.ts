// Replaces `kernels/engines/kernel-module.ts`, which reads a file, in the bundle.

/** `kernels.wasm` in base64, inserted by the build. */
declare const EMBEDDED_KERNELS: string;

let compiledModule: WebAssembly.Module | undefined;

/** Compiles the kernels once. @throws Error if the platform has no WebAssembly SIMD */
export function compileKernelModule(): WebAssembly.Module {
  return (compiledModule ??= new WebAssembly.Module(
    Uint8Array.from(atob(EMBEDDED_KERNELS), (unit) => unit.charCodeAt(0)),
  ));
}
