import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { QuickJSFFI } from '@jitl/quickjs-ffi-types';
import type { LoadModule } from './webassembly-types.js';

/** The parts of QuickJS: its module, the loader of Emscripten, and the functions of the interface. */
export interface QuickJsFiles {
  readonly wasm: Uint8Array;
  readonly load: LoadModule;
  readonly Functions: new (module: object) => QuickJSFFI;
}

/** Reads them from the package. */
export async function quickJsFiles(): Promise<QuickJsFiles> {
  const package_ = '@jitl/quickjs-wasmfile-release-sync';
  const { default: load } = (await import(`${package_}/emscripten-module`)) as { readonly default: LoadModule };
  const { QuickJSFFI: Functions } = (await import(`${package_}/ffi`)) as {
    readonly QuickJSFFI: QuickJsFiles['Functions'];
  };
  return { wasm: await readFile(createRequire(import.meta.url).resolve(`${package_}/wasm`)), load, Functions };
}
