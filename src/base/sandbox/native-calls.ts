import type {
  BorrowedHeapCharPointer,
  HostRefId,
  JSContextPointer,
  JSValueConstPointer,
  JSValuePointer,
  JSVoidPointer,
} from '@jitl/quickjs-ffi-types';
import type { Interpreter } from './interpreter.js';
import { SandboxError, type NativeFunction } from './sandbox.js';

const BYTES = Float64Array.BYTES_PER_ELEMENT;
const NATIVE = 1 as HostRefId;

/**
 * Returns a function of the interpreter by which scripts call native functions. Scripts call `native(position,
 * ...buffers of the lists, ...numbers)`. It returns the buffer of the result, or a text if the arguments are wrong.
 * Lists are copied out of the script and results are new buffers, so no native function reads or writes memory of the
 * script.
 */
export function provideNatives(
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
