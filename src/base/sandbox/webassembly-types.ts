import type { QuickJSEmscriptenModule } from '@jitl/quickjs-ffi-types';

/** A variable of an instance of WebAssembly. */
export interface Variable {
  value: number;
}

export interface PrivateMemory {
  /** Buffer, which is replaced when the memory grows. */
  readonly buffer: ArrayBuffer;
}

type Exports = Readonly<Record<string, unknown>>;
type Imports = Readonly<Record<string, Readonly<Record<string, unknown>>>>;
interface Instance {
  readonly exports: Exports;
}

/** WebAssembly with unshared memory. The numeric engines declare theirs as shared. */
export const PrivateWebAssembly = WebAssembly as unknown as {
  readonly Memory: new (descriptor: { readonly initial: number; readonly maximum: number }) => PrivateMemory;
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: Imports) => Instance;
};

/** Loads QuickJS, as Emscripten wrote it. */
export type LoadModule = (options: {
  readonly wasmMemory: PrivateMemory;
  instantiateWasm(imports: Imports, succeed: (instance: Instance) => void): Exports;
}) => Promise<QuickJSEmscriptenModule>;
