import type { QuickJSEmscriptenModule, QuickJSFFI } from '@jitl/quickjs-ffi-types';
import type { Restorable } from './snapshots.js';
import type { Variable } from './webassembly-types.js';

/** QuickJS, with the means to limit it and to restore its state. */
export interface Interpreter extends Restorable {
  readonly module: QuickJSEmscriptenModule;
  readonly ffi: QuickJSFFI;
  /** Steps left before the interpreter traps. */
  readonly steps: Variable;
}
