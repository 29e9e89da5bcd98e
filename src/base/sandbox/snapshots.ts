import type { PrivateMemory, Variable } from './webassembly-types.js';

/** Memory and variables of an instance of WebAssembly as they were. */
export interface Snapshot {
  /** Memory before the stack. */
  readonly below: Uint8Array;
  /** Memory after the stack, up to its last byte that is not 0. */
  readonly above: Uint8Array;
  readonly variables: readonly number[];
}

export interface Restorable {
  readonly memory: PrivateMemory;
  readonly variables: readonly Variable[];
  /** Stack of running functions, which is empty between calls. */
  readonly stack: { readonly from: number; readonly to: number };
}

/** @cost a pass over the memory */
export function takeSnapshot({ memory, variables, stack }: Restorable): Snapshot {
  const words = new BigUint64Array(memory.buffer);
  let used = words.length;
  while (used > 0 && words[used - 1] === 0n) used--;
  return {
    below: new Uint8Array(memory.buffer.slice(0, stack.from)),
    above: new Uint8Array(memory.buffer.slice(stack.to, Math.max(stack.to, used * 8))),
    variables: variables.map(({ value }) => value),
  };
}

/** Restores a snapshot. Memory after it is free then, and cleared when it is allocated. */
export function restore({ memory, variables, stack }: Restorable, { below, above, variables: values }: Snapshot): void {
  const bytes = new Uint8Array(memory.buffer);
  bytes.set(below);
  bytes.set(above, stack.to);
  variables.forEach((variable, k) => {
    if (variable.value !== values[k]) variable.value = values[k]!;
  });
}

/** Clears the memory after a snapshot, so that the next one contains nothing of earlier calls. */
export function clearAfter({ memory, stack }: Restorable, { above }: Snapshot): void {
  new Uint8Array(memory.buffer).fill(0, stack.to + above.length);
}
