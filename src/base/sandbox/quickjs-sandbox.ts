import type {
  BorrowedHeapCharPointer,
  EvalDetectModule,
  EvalFlags,
  IntrinsicsFlags,
  JSContextPointer,
  JSValueConstPointerPointer,
  JSValuePointer,
  JSVoidPointer,
} from '@jitl/quickjs-ffi-types';
import type { Interpreter } from './interpreter.js';
import { provideNatives } from './native-calls.js';
import { SandboxError, type NativeFunction, type Sandbox, type SandboxProgram } from './sandbox.js';
import { PRELUDE } from './prelude.js';
import { clearAfter, restoreSnapshot, takeSnapshot, type Snapshot } from './snapshots.js';

/** Limits of a program. */
export interface SandboxLimits {
  /** Maximum number of steps of one call: loop iterations and function calls. */
  readonly steps: number;
  /** Memory of a program with its inputs, in bytes. */
  readonly memory: number;
}

/** Limits of programs, and native functions that programs may call. */
export interface SandboxTerms extends SandboxLimits {
  readonly functions: readonly NativeFunction[];
}

/** Maximum number of steps to read a program. */
const READING_STEPS_MAX = 20_000_000;
/** Maximum number of steps to format an error. */
const MESSAGE_STEPS_MAX = 2_000_000;
/** Maximum memory that a program may use before its first call, in bytes. */
const PROGRAM_BYTES_MAX = 8 * 2 ** 20;
/** Maximum stack size, in bytes. */
const STACK_MAX = 256 * 2 ** 10;
/** Maximum number of programs that a thread caches. */
const PROGRAMS_MAX = 8;

/**
 * Available intrinsics: objects, typed arrays, maps and sets, but no dates, regular expressions, JSON, proxies or
 * promises.
 */
const INTRINSICS = (1 | 4 | 256 | 512) as IntrinsicsFlags;
const STRICT_FLAG = 8 as EvalFlags;
const SCRIPT_MODE = 0 as EvalDetectModule;

/** Program after reading, with the state that is restored before each call. */
interface PreparedProgram {
  readonly snapshot: Snapshot;
  readonly run: JSValuePointer;
}

export function createSandbox(interpreter: Interpreter, { functions, ...limits }: SandboxTerms): Sandbox {
  const { ffi, module, memory, steps } = interpreter;
  const preparedPrograms = new Map<string, PreparedProgram>();
  const keys = new WeakMap<SandboxProgram, string>();

  const runtime = ffi.QTS_NewRuntime();
  ffi.QTS_RuntimeSetMemoryLimit(runtime, limits.memory);
  ffi.QTS_RuntimeSetMaxStackSize(runtime, STACK_MAX);
  const context = ffi.QTS_NewContext(runtime, INTRINSICS);
  const prelude = evaluateScript(interpreter, context, { text: PRELUDE, name: 'prelude.js' });
  const native = provideNatives(interpreter, context, functions);
  const functionsJson = JSON.stringify(functions.map(({ name, lists }) => ({ name, lists })));
  const table = evaluateScript(interpreter, context, { text: `(${functionsJson})`, name: 'functions.js' });
  const prepare = callFunction(interpreter, context, prelude, [table, native]);
  const initialSnapshot = takeSnapshot(interpreter);

  /** Runs a function with a maximum number of steps. @throws SandboxError, also for traps of the interpreter */
  const runBounded = <T>(limit: number, work: () => T): T => {
    steps.value = limit;
    try {
      return work();
    } catch (error) {
      if (error instanceof SandboxError) throw error;
      const isSpent = steps.value < 0;
      throw isSpent
        ? new SandboxError('steps', `took more than ${limit.toLocaleString('en')} steps`)
        : new SandboxError('memory', 'needed more memory or deeper calls than a program can use');
    }
  };

  function prepareProgram(program: SandboxProgram): PreparedProgram {
    const key = keys.get(program) ?? JSON.stringify(program);
    keys.set(program, key);
    const preparedProgram = preparedPrograms.get(key);
    preparedPrograms.delete(key);
    const result = preparedProgram ?? runBounded(Math.min(READING_STEPS_MAX, limits.steps), () => readProgram(program));
    preparedPrograms.set(key, result);
    if (preparedPrograms.size > PROGRAMS_MAX) preparedPrograms.delete(preparedPrograms.keys().next().value!);
    return result;
  }

  function readProgram({ source, parameters, inputs }: SandboxProgram): PreparedProgram {
    restoreSnapshot(interpreter, initialSnapshot);
    clearAfter(interpreter, initialSnapshot);
    const terms = evaluateScript(interpreter, context, {
      text: `(${JSON.stringify([parameters, inputs])})`,
      name: 'terms.js',
    });
    // The value of the script is the function; the extra line comes after the source so that its line numbers are
    // unchanged.
    const compute = evaluateScript(interpreter, context, { text: `${source}\n;compute;`, name: 'plug-in.js' });
    const run = callFunction(interpreter, context, prepare, [compute, terms]);
    const snapshot = takeSnapshot(interpreter);
    if (snapshot.above.length > PROGRAM_BYTES_MAX)
      throw new SandboxError('memory', `holds more than ${PROGRAM_BYTES_MAX / 2 ** 20} MiB before its first call`);
    return { snapshot, run };
  }

  return {
    check: (program) => void prepareProgram(program),
    compute(program, inputs, count) {
      const { snapshot, run } = prepareProgram(program);
      const cells = inputs.reduce((sum, input) => sum + input.length, count);
      if (cells * 8 > limits.memory)
        throw new SandboxError('memory', `receives ${cells * 8} bytes of inputs; the maximum is ${limits.memory}`);
      return runBounded(limits.steps, () => {
        restoreSnapshot(interpreter, snapshot);
        const offset = module._malloc(Math.max(8, cells * 8));
        let from = offset / 8 + count;
        const numbers = new Float64Array(memory.buffer);
        for (const input of inputs) {
          numbers.set(input, from);
          from += input.length;
        }
        const buffer = ffi.QTS_NewArrayBuffer(context, offset as JSVoidPointer, cells * 8);
        callFunction(interpreter, context, run, [buffer, ffi.QTS_NewFloat64(context, count)]);
        return new Float64Array(memory.buffer.slice(offset, offset + count * 8));
      });
    },
  };
}

/** Evaluates a script. @throws SandboxError with the exception of the script */
function evaluateScript(
  { ffi, module, steps }: Interpreter,
  context: JSContextPointer,
  { text, name }: { readonly text: string; readonly name: string },
): JSValuePointer {
  const bytes = new TextEncoder().encode(`${text}\0`);
  const offset = module._malloc(bytes.length);
  module.HEAPU8.set(bytes, offset);
  const value = ffi.QTS_Eval(
    context,
    offset as BorrowedHeapCharPointer,
    bytes.length - 1,
    name,
    SCRIPT_MODE,
    STRICT_FLAG,
  );
  return removeException({ ffi, module, steps }, context, value);
}

function callFunction(
  { ffi, module, steps }: Interpreter,
  context: JSContextPointer,
  target: JSValuePointer,
  values: readonly JSValuePointer[],
): JSValuePointer {
  const list = module._malloc(values.length * 4);
  module.HEAPU8.set(new Uint8Array(Int32Array.from(values).buffer), list);
  const undefinedValue = ffi.QTS_GetUndefined();
  const result = ffi.QTS_Call(context, target, undefinedValue, values.length, list as JSValueConstPointerPointer);
  return removeException({ ffi, module, steps }, context, result);
}

type BoundedText = Pick<Interpreter, 'ffi' | 'module' | 'steps'>;

function removeException(
  { ffi, module, steps }: BoundedText,
  context: JSContextPointer,
  value: JSValuePointer,
): JSValuePointer {
  const exception = ffi.QTS_ResolveException(context, value);
  if (exception === 0) return value;
  steps.value = MESSAGE_STEPS_MAX;
  const text = module.UTF8ToString(ffi.QTS_Dump(context, exception));
  throw parseError(text);
}

const TEXT_MAX = 500;

/** Converts an error text of QuickJS to a SandboxError with one line, including the position. */
function parseError(text: string): SandboxError {
  const { name, message, stack } = parseText(text);
  const line = /plug-in\.js:(\d+)/.exec(stack)?.[1];
  const locationText = line === undefined ? '' : ` (line ${line})`;
  const fault = name === 'InternalError' && /memory/.test(message) ? 'memory' : 'threw';
  return new SandboxError(fault, `threw ${name}: ${message.slice(0, TEXT_MAX)}${locationText}`);
}

function parseText(text: string): { readonly name: string; readonly message: string; readonly stack: string } {
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value !== 'object' || value === null) return { name: 'a value', message: text, stack: '' };
    const { name, message, stack } = value as Record<string, unknown>;
    return { name: String(name ?? 'an object'), message: String(message ?? ''), stack: String(stack ?? '') };
  } catch {
    return { name: 'a value', message: text, stack: '' };
  }
}
