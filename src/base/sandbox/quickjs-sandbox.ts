import type {
  BorrowedHeapCharPointer,
  EvalDetectModule,
  EvalFlags,
  HostRefId,
  IntrinsicsFlags,
  JSContextPointer,
  JSValueConstPointer,
  JSValueConstPointerPointer,
  JSValuePointer,
  JSVoidPointer,
  QuickJSEmscriptenModule,
  QuickJSFFI,
} from '@jitl/quickjs-ffi-types';
import { readQuickJsFiles } from './quickjs-files.js';
import { type NativeFunction, provideSandbox, type Sandbox, SandboxError, type SandboxProgram } from './sandbox.js';
import {
  formatVariableExport,
  meterLoops,
  type PrivateMemory,
  PrivateWebAssembly,
  STEPS_EXPORT,
  type WasmGlobal,
} from './webassembly.js';

/** Saved memory and variables of a WebAssembly instance. */
interface Snapshot {
  /** Contents of the memory before the stack. */
  readonly below: Uint8Array;
  /** Contents of the memory after the stack, up to the last byte that is not 0. */
  readonly above: Uint8Array;
  readonly variables: readonly number[];
}

interface RestorableInstance {
  readonly memory: PrivateMemory;
  readonly variables: readonly WasmGlobal[];
  /** Bounds of the call stack, which is empty between calls. */
  readonly stack: { readonly from: number; readonly to: number };
}

/** Copies the state of an instance. @cost a pass over the memory */
function takeSnapshot({ memory, variables, stack }: RestorableInstance): Snapshot {
  const words = new BigUint64Array(memory.buffer);
  let usedLength = words.length;
  while (usedLength > 0 && words[usedLength - 1] === 0n) usedLength--;
  return {
    below: new Uint8Array(memory.buffer.slice(0, stack.from)),
    above: new Uint8Array(memory.buffer.slice(stack.to, Math.max(stack.to, usedLength * 8))),
    variables: variables.map(({ value }) => value),
  };
}

/** Restores a snapshot. Memory after the snapshot becomes free, and is cleared when it is allocated. */
function restoreSnapshot(
  { memory, variables, stack }: RestorableInstance,
  { below, above, variables: values }: Snapshot,
): void {
  const bytes = new Uint8Array(memory.buffer);
  bytes.set(below);
  bytes.set(above, stack.to);
  variables.forEach((variable, k) => {
    if (variable.value !== values[k]) variable.value = values[k]!;
  });
}

/** Clears the memory after a snapshot, so that the next snapshot contains no data of earlier calls. */
function clearAfter({ memory, stack }: RestorableInstance, { above }: Snapshot): void {
  new Uint8Array(memory.buffer).fill(0, stack.to + above.length);
}

/** QuickJS instance with a limit on its steps and restorable state. */
export interface Interpreter extends RestorableInstance {
  readonly module: QuickJSEmscriptenModule;
  readonly ffi: QuickJSFFI;
  /** Steps left before the interpreter traps. */
  readonly steps: WasmGlobal;
}

const BYTES = Float64Array.BYTES_PER_ELEMENT;
const NATIVE = 1 as HostRefId;

/**
 * Returns a function of the interpreter by which scripts call native functions. Scripts call `native(position,
 * ...buffers of the lists, ...numbers)`. It returns the buffer of the result, or a text if the arguments are wrong.
 * Lists are copied out of the script and results are new buffers, so no native function reads or writes memory of the
 * script.
 */
function provideNatives(
  { ffi, module, memory, steps }: Interpreter,
  context: JSContextPointer,
  functions: readonly NativeFunction[],
): JSValuePointer {
  module.callbacks = {
    ...module.callbacks,
    freeHostRef: () => undefined,
    callFunction(_async, _context, _this, count, first) {
      const pointers = Array.from({ length: count }, (_, k) => ffi.QTS_ArgvGetJSValueConstPointer(first, k));
      const nativeFunction = functions[readNumber(pointers[0]!)];
      if (nativeFunction === undefined) throw createListError();
      const buffers = pointers.slice(1, 1 + nativeFunction.lists);
      const numbers = pointers.slice(1 + nativeFunction.lists).map(readNumber);
      const lengths = buffers.map((buffer) => ffi.QTS_GetArrayBufferLength(context, buffer) / BYTES);
      if (buffers.length < nativeFunction.lists || lengths.some((length) => !Number.isInteger(length) || length < 0))
        throw createListError();
      const size = nativeFunction.size(lengths, numbers);
      if (typeof size === 'string') return createText(`rows.${nativeFunction.name}: ${size}`);
      charge(nativeFunction.stepsPerValue * lengths.reduce((sum, length) => sum + length, size));
      return createResult(nativeFunction, { buffers, lengths, numbers, size });
    },
  };
  return ffi.QTS_NewFunction(context, 'native', 0, false, NATIVE);

  function readNumber(value: JSValueConstPointer): number {
    return ffi.QTS_GetFloat64(context, value);
  }

  function createResult(called: NativeFunction, { buffers, lengths, numbers, size }: NativeCall): JSValuePointer {
    const result = allocate(size);
    const copies = buffers.map((buffer) => ffi.QTS_GetArrayBuffer(context, buffer));
    if (copies.some((at, k) => at === 0 && lengths[k]! > 0)) throw createListError();
    // Views are created last, because allocations can replace the buffer of the memory.
    const lists = copies.map((at, k) => new Float64Array(memory.buffer, at, lengths[k]!));
    called.compute(lists, numbers, new Float64Array(memory.buffer, result, size));
    for (const address of copies) module._free(address);
    return ffi.QTS_NewArrayBuffer(context, result as JSVoidPointer, size * BYTES);
  }

  /** Allocates numbers in the memory of the interpreter. @throws SandboxError if the memory is used up */
  function allocate(size: number): number {
    const offset = module._malloc(Math.max(1, size) * BYTES);
    if (offset === 0) throw new SandboxError('memory', 'needed more memory than a program may have');
    return offset;
  }

  function charge(cost: number): void {
    steps.value = Math.max(-1, steps.value - Math.ceil(cost));
    if (steps.value < 0) throw new RangeError('no steps are left');
  }

  function createText(message: string): JSValuePointer {
    const bytes = new TextEncoder().encode(`${message}\0`);
    const offset = module._malloc(bytes.length);
    module.HEAPU8.set(bytes, offset);
    const text = ffi.QTS_NewString(context, offset as BorrowedHeapCharPointer);
    module._free(offset);
    return text;
  }
}

interface NativeCall {
  readonly buffers: readonly JSValueConstPointer[];
  readonly lengths: readonly number[];
  readonly numbers: readonly number[];
  readonly size: number;
}

/**
 * Creates the error for a list that does not exist. This error occurs only if a script changes the functions of `rows`.
 */
const createListError = (): SandboxError =>
  new SandboxError('threw', 'gave a native function a list that does not exist');

/**
 * Script that runs in the sandbox before each program. It removes access to clocks, random numbers and hidden state.
 * Its value is a function that receives the native functions, defines them as members of `rows`, and returns `prepare`.
 * Calling `prepare(compute, [parameters, inputs])` returns the function `run`. Calling `run(buffer, count)` leaves the
 * results at the start of the buffer.
 */
const PRELUDE = `(() => {
  for (const name of ['eval', 'WeakRef', 'FinalizationRegistry', 'Atomics', 'SharedArrayBuffer']) delete globalThis[name];
  delete Math.random;
  const { ArrayBuffer, Float64Array, Object, Reflect, TypeError, NaN } = globalThis;
  const { freeze, getOwnPropertyDescriptor, getPrototypeOf } = Object;
  const { set } = Float64Array.prototype;
  const bound = (method) => Function.prototype.call.bind(method);
  const list = getPrototypeOf(Float64Array.prototype);
  const [kindOf, bufferOf, bytesOf] = [Symbol.toStringTag, 'buffer', 'byteLength'].map((name) =>
    bound(getOwnPropertyDescriptor(list, name).get),
  );
  const allOf = bound(getOwnPropertyDescriptor(ArrayBuffer.prototype, 'byteLength').get);
  const copyOf = bound(Float64Array.prototype.slice);
  const { apply } = Reflect;
  const prepare = (compute, [parameters, inputs]) => {
    if (typeof compute !== 'function') throw new TypeError('compute is no function');
    freeze(parameters);
    return (buffer, count) => {
      const given = {};
      let at = count * 8;
      for (let k = 0; k < inputs.length; k++) {
        const { name, sessions } = inputs[k];
        given[name] = new Float64Array(buffer, at, count * sessions);
        at += count * sessions * 8;
      }
      const values = compute(given, parameters, count);
      if (values === null || typeof values !== 'object' || values.length !== count)
        throw new TypeError('compute has to return a list of ' + count + ' values, one for each security');
      const results = new Float64Array(buffer, 0, count);
      if (values instanceof Float64Array) return set.call(results, values);
      for (let i = 0; i < count; i++) {
        const value = values[i];
        results[i] = typeof value === 'number' ? value : value === true ? 1 : value === false ? 0 : NaN;
      }
    };
  };
  const listOf = (value) => {
    if (kindOf(value) !== 'Float64Array') return new Float64Array(typeof value === 'number' ? [value] : value);
    return bytesOf(value) === allOf(bufferOf(value)) ? value : copyOf(value);
  };
  return (functions, native) => {
    const call = ({ name, lists }, position) => (...given) => {
      const passed = [position];
      for (let k = 0; k < given.length || k < lists; k++) {
        if (k < lists && (given[k] === undefined || given[k] === null))
          throw new TypeError('rows.' + name + ': a list is missing');
        passed[k + 1] = k < lists ? bufferOf(listOf(given[k])) : +given[k];
      }
      const result = apply(native, undefined, passed);
      if (typeof result === 'string') throw new TypeError(result);
      return new Float64Array(result);
    };
    globalThis.rows = {};
    functions.forEach((given, position) => (globalThis.rows[given.name] = call(given, position)));
    freeze(globalThis.rows);
    return prepare;
  };
})()`;

/** Limits of a program. */
interface SandboxLimits {
  /** Maximum number of steps of one call: loop iterations and function calls. */
  readonly steps: number;
  /** Memory of a program with its inputs, in bytes. */
  readonly memory: number;
}

/** Limits of programs, and native functions that programs may call. */
interface SandboxTerms extends SandboxLimits {
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

const PAGE_BYTES = 65_536;
/** Initial memory in pages that the module of the QuickJS package requires. */
const FIRST_PAGES = 256;
/** Stack size of the module, without its first page, which may contain data. */
const STACK_BYTES = 5 * 2 ** 20 - PAGE_BYTES;

let loadingPromise: Promise<void> | undefined;

/** Loads the sandbox of this thread, once. @cost some 100 ms at the first call */
export function loadSandbox(terms: SandboxTerms): Promise<void> {
  loadingPromise ??= openInterpreter(terms).then((interpreter) => provideSandbox(createSandbox(interpreter, terms)));
  return loadingPromise;
}

/** Opens a separate instance of QuickJS that counts its steps. */
export async function openInterpreter(limits: SandboxLimits): Promise<Interpreter> {
  const { wasm, load, Functions } = await readQuickJsFiles();
  const meteredModule = meterLoops(wasm);
  const compiledModule = new PrivateWebAssembly.Module(meteredModule.bytes);
  const memory = new PrivateWebAssembly.Memory({
    initial: FIRST_PAGES,
    maximum: FIRST_PAGES + limits.memory / PAGE_BYTES,
  });
  let moduleExports: Readonly<Record<string, unknown>> = {};
  const module = await load({
    wasmMemory: memory,
    instantiateWasm(imports, succeed) {
      const instance = new PrivateWebAssembly.Instance(compiledModule, imports);
      moduleExports = instance.exports;
      succeed(instance);
      return moduleExports;
    },
  });
  const variables = Array.from(
    { length: meteredModule.variables },
    (_, k) => moduleExports[formatVariableExport(k)] as WasmGlobal,
  );
  return {
    module,
    ffi: new Functions(module),
    memory,
    variables,
    steps: moduleExports[STEPS_EXPORT] as WasmGlobal,
    stack: findStack(memory, variables[0]!.value), // the first variable of Emscripten is the end of the stack
  };
}

/** Returns the bounds of the stack. @throws Error if the module has another memory layout */
function findStack({ buffer }: PrivateMemory, top: number): Interpreter['stack'] {
  const to = top & ~7;
  const from = to - STACK_BYTES;
  const isUnused = from > 0 && new Float64Array(buffer, from, STACK_BYTES / 8 - 512).every((word) => word === 0);
  if (!isUnused) throw new Error('the stack of QuickJS is not where it was');
  return { from, to };
}
