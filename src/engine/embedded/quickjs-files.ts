// Replaces `src/base/sandbox/quickjs-files.ts`, which reads a file, in the bundle.
import load from '@jitl/quickjs-wasmfile-release-sync/emscripten-module';
import { QuickJSFFI } from '@jitl/quickjs-wasmfile-release-sync/ffi';
import type { QuickJsFiles } from '#base/sandbox/quickjs-files.js';

/** QuickJS module in base64, inserted by the build. */
declare const EMBEDDED_QUICKJS: string;

export async function readQuickJsFiles(): Promise<QuickJsFiles> {
  const wasm = Uint8Array.from(atob(EMBEDDED_QUICKJS), (unit) => unit.charCodeAt(0));
  return { wasm, load, Functions: QuickJSFFI } as unknown as QuickJsFiles; // the package declares these types
}
