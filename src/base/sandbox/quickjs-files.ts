import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { QuickJSFFI } from '@jitl/quickjs-ffi-types';
import type { LoadModule } from './webassembly.js';

const require = createRequire(import.meta.url);

/** Parts of QuickJS: its module, the loader of Emscripten, and the interface functions. */
export interface QuickJsFiles {
  readonly wasm: Uint8Array;
  readonly load: LoadModule;
  readonly Functions: new (module: object) => QuickJSFFI;
}

/**
 * Reads the QuickJS files from the package. Modules are required, because the script of the command line cannot import.
 */
export async function readQuickJsFiles(): Promise<QuickJsFiles> {
  const { default: load } = require('@jitl/quickjs-wasmfile-release-sync/emscripten-module') as {
    readonly default: LoadModule;
  };
  const { QuickJSFFI: Functions } = require('@jitl/quickjs-wasmfile-release-sync/ffi') as {
    readonly QuickJSFFI: QuickJsFiles['Functions'];
  };
  const file = createRequire(import.meta.url).resolve('@jitl/quickjs-wasmfile-release-sync/wasm');
  return { wasm: await readFile(file), load, Functions };
}
