import type { PrivateMemory, WasmGlobal } from './webassembly-types.js';

/** Saved memory and variables of a WebAssembly instance. */
export interface Snapshot {
  /** Contents of the memory before the stack. */
  readonly below: Uint8Array;
  /** Contents of the memory after the stack, up to the last byte that is not 0. */
  readonly above: Uint8Array;
  readonly variables: readonly number[];
}

export interface RestorableInstance {
  readonly memory: PrivateMemory;
  readonly variables: readonly WasmGlobal[];
  /** Bounds of the call stack, which is empty between calls. */
  readonly stack: { readonly from: number; readonly to: number };
}

/** Copies the state of an instance. @cost a pass over the memory */
export function takeSnapshot({ memory, variables, stack }: RestorableInstance): Snapshot {
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
export function restoreSnapshot(
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
export function clearAfter({ memory, stack }: RestorableInstance, { above }: Snapshot): void {
  new Uint8Array(memory.buffer).fill(0, stack.to + above.length);
}
