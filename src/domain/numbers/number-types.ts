/** Number types in stored runs. */
interface NumbersByType {
  readonly f64: Float64Array;
  readonly i32: Int32Array;
  readonly u8: Uint8Array;
}

export type NumberType = keyof NumbersByType;
export type NumbersOf<K extends NumberType> = NumbersByType[K];
export type Numbers = NumbersOf<NumberType>;

export const NUMBER_TYPES = { f64: Float64Array, i32: Int32Array, u8: Uint8Array } as const satisfies Record<
  NumberType,
  unknown
>;

export function findNumberType(numbers: Numbers): NumberType {
  return numbers instanceof Float64Array ? 'f64' : numbers instanceof Int32Array ? 'i32' : 'u8';
}

export function isEqual(a: ArrayLike<number>, b: ArrayLike<number>): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** Concatenates arrays of one type; returns the array itself if there is only one. */
export function concatenate(parts: readonly Numbers[]): Numbers {
  const [first] = parts;
  if (first === undefined) throw new Error('no parts to concatenate');
  if (parts.length === 1) return first;
  const joinedNumbers = new NUMBER_TYPES[findNumberType(first)](parts.reduce((sum, { length }) => sum + length, 0));
  let position = 0;
  for (const part of parts) {
    joinedNumbers.set(part, position);
    position += part.length;
  }
  return joinedNumbers;
}
