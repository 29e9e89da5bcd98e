import type { QuickJSEmscriptenModule } from '@jitl/quickjs-ffi-types';

/** A variable of an instance of WebAssembly. */
export interface Variable {
  value: number;
}

export interface PrivateMemory {
  /** Another one after the memory has grown. */
  readonly buffer: ArrayBuffer;
}

type Exports = Readonly<Record<string, unknown>>;
type Imports = Readonly<Record<string, Readonly<Record<string, unknown>>>>;
interface Instance {
  readonly exports: Exports;
}

/** WebAssembly with memory of one thread: the engines of numbers declare theirs as shared. */
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
