/** Numbers appended one at a time, in memory that doubles when it is full. */
export interface GrowingNumbers<A extends Int32Array | Float64Array> {
  readonly length: number;
  push(value: number): void;
  /** Returns the numbers so far, without copying. */
  values(): A;
}

export const createGrowingIntegers = (): GrowingNumbers<Int32Array> =>
  createGrowingArray((length) => new Int32Array(length));
export const createGrowingFloats = (): GrowingNumbers<Float64Array> =>
  createGrowingArray((length) => new Float64Array(length));

const FIRST_LENGTH = 16;

function createGrowingArray<A extends Int32Array | Float64Array>(create: (length: number) => A): GrowingNumbers<A> {
  let memory = create(0);
  let length = 0;
  return {
    get length() {
      return length;
    },
    push(value) {
      if (length === memory.length) {
        const largerMemory = create(Math.max(FIRST_LENGTH, 2 * length));
        largerMemory.set(memory);
        memory = largerMemory;
      }
      memory[length++] = value;
    },
    values: () => memory.subarray(0, length) as A,
  };
}
