import type { KernelExports } from '../wasm-exports.js';
import type { Arena } from '../arena.js';

/** Size of a float64 in bytes. */
export const BYTES = 8;

/** Resources that the parts of the engine share. */
export interface Kernels {
  readonly kernels: KernelExports;
  readonly arena: Arena;
  readonly operands: Operands;
  /** Runs a kernel with its operands in the arena and then releases them. */
  run<T>(work: () => T): T;
}

export type Operands = ReturnType<typeof createOperands>;

export function createKernels(kernels: KernelExports, arena: Arena): Kernels {
  const run = <T>(work: () => T): T => {
    const mark = arena.mark();
    try {
      return work();
    } finally {
      arena.release(mark);
    }
  };
  return { kernels, arena, operands: createOperands(arena), run };
}

/** Returns functions that place operands in the arena. Operands that are already there are used in place. */
function createOperands(arena: Arena) {
  const ignoreCall = (): void => {};
  const reserveAddress = (array: Float64Array): number => arena.addressOf(array) ?? arena.reserve(array.length * BYTES);
  return {
    input(array: Float64Array): number {
      const address = reserveAddress(array);
      if (arena.addressOf(array) === undefined) arena.view(address, array.length).set(array);
      return address;
    },
    /** Returns the address of an operand that the kernel overwrites, and a function that copies the result back. */
    result(array: Float64Array): readonly [address: number, write: () => void] {
      const address = reserveAddress(array);
      return [
        address,
        arena.addressOf(array) === undefined ? () => array.set(arena.view(address, array.length)) : ignoreCall,
      ];
    },
    /** Returns the address of a zeroed operand to which the kernel adds, and a function that copies the result back. */
    output(array: Float64Array): readonly [address: number, write: () => void] {
      const placement = this.result(array);
      arena.view(placement[0], array.length).fill(0);
      return placement;
    },
    inPlace(array: Float64Array): readonly [address: number, write: () => void] {
      const address = this.input(array);
      return [
        address,
        arena.addressOf(array) === undefined ? () => array.set(arena.view(address, array.length)) : ignoreCall,
      ];
    },
    /** Copies integers to the arena and returns their address. */
    integers(array: Int32Array | Uint32Array): number {
      const address = arena.reserve(array.byteLength);
      new Uint32Array(arena.memory.buffer, address, array.length).set(array);
      return address;
    },
    /** Copies integers that a kernel changed back to their array. */
    read(address: number, array: Int32Array | Uint32Array): void {
      array.set(new Uint32Array(arena.memory.buffer, address, array.length));
    },
  };
}
