import type { QuickJSEmscriptenModule, QuickJSFFI } from '@jitl/quickjs-ffi-types';
import type { RestorableInstance } from './snapshots.js';
import type { WasmGlobal } from './webassembly-types.js';

/** QuickJS instance with a limit on its steps and restorable state. */
export interface Interpreter extends RestorableInstance {
  readonly module: QuickJSEmscriptenModule;
  readonly ffi: QuickJSFFI;
  /** Steps left before the interpreter traps. */
  readonly steps: WasmGlobal;
}
