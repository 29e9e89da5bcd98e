import {
  concatenate,
  NUMBER_TYPES,
  findNumberType,
  type Numbers,
  type NumbersOf,
  type NumberType,
} from '../../numbers/number-types.js';

/** Position of an array: a range of a block of the run file. */
export interface Reference {
  readonly block: string;
  readonly kind: NumberType;
  readonly from: number;
  readonly to: number;
}

/** Array that consists of several ranges, in order. An extension of a run creates such arrays. */
export interface Segments {
  readonly parts: readonly Reference[];
}

/** Place of an array in the run file. */
export type ArrayLocation = Reference | Segments;

/** Blocks of the run file for arrays of the record without a separate block. */
export const POOLS = { f64: 'recordF64', i32: 'recordI32', u8: 'recordU8' } as const satisfies Record<
  NumberType,
  string
>;

/** Stored run file from which the record is read. */
export interface StoredNumbers {
  readonly dates: number;
  /** Securities of the run, one column of each panel per security. */
  readonly names: readonly string[];
  /** Returns elements `from` to `to` (exclusive) of a block. */
  f64(block: string, from: number, to: number): Float64Array;
  i32(block: string, from: number, to: number): Int32Array;
  u8(block: string, from: number, to: number): Uint8Array;
  /** Returns the number of elements of a pool. */
  poolLength(kind: NumberType): number;
}

export function isArrayLocation(value: unknown): value is ArrayLocation {
  return typeof value === 'object' && value !== null && ('block' in value || 'parts' in value);
}

function listParts(place: ArrayLocation): readonly Reference[] {
  return 'block' in place ? [place] : place.parts;
}

/** Returns the number of elements of the array at a place. */
export function countNumbers(place: ArrayLocation): number {
  return listParts(place).reduce((sum, { from, to }) => sum + to - from, 0);
}

export function readNumbersAt(stored: StoredNumbers, place: ArrayLocation): Numbers {
  return concatenate(listParts(place).map((part) => readNumbers(stored, part)));
}

function readNumbers(stored: StoredNumbers, { block, kind, from, to }: Reference): Numbers {
  return stored[kind](block, from, to);
}

/** Arrays to append to each pool, by number type. */
export type AppendedNumbers = { readonly [K in NumberType]: readonly NumbersOf<K>[] };

/** Pools of a stored record, with the numbers that an extension adds. */
export interface Pools {
  readonly added: AppendedNumbers;
  /** Appends numbers to the pool of their number type. */
  add(numbers: Numbers): Reference;
  /** Appends to an array and returns its new place. An array in a separate block is extended in that block. */
  grow(place: ArrayLocation, more: Numbers): ArrayLocation;
  /** Appends to an array, keeping at most `stay` earlier elements. */
  slide(place: ArrayLocation, stay: number, more: Numbers): ArrayLocation;
  /** Returns the elements of an array, from stored numbers, added numbers or both. */
  read(place: ArrayLocation): Numbers;
}

export function openPools(stored: StoredNumbers): Pools {
  const addedNumbers = { f64: [] as Float64Array[], i32: [] as Int32Array[], u8: [] as Uint8Array[] };
  const pushNumbers = (numbers: Numbers): void => {
    if (numbers instanceof Float64Array) addedNumbers.f64.push(numbers);
    else if (numbers instanceof Int32Array) addedNumbers.i32.push(numbers);
    else addedNumbers.u8.push(numbers);
  };
  const begins = { f64: stored.poolLength('f64'), i32: stored.poolLength('i32'), u8: stored.poolLength('u8') };
  const ends = { ...begins };
  const addNumbers = (numbers: Numbers): Reference => {
    const kind = findNumberType(numbers);
    const from = ends[kind];
    if (numbers.length > 0) pushNumbers(numbers);
    return { block: POOLS[kind], kind, from, to: (ends[kind] += numbers.length) };
  };
  const joinParts = (parts: readonly Reference[], more: Numbers): ArrayLocation => {
    const references = more.length === 0 ? parts : [...parts, addNumbers(more)];
    return references.length === 1 ? references[0]! : { parts: references };
  };
  const isAppended = ({ block, kind, from }: Reference): boolean => block === POOLS[kind] && from >= begins[kind];
  const findAppendedNumbers = ({ kind, from, to }: Reference): Numbers => {
    if (from === to) return new NUMBER_TYPES[kind](0);
    let position = begins[kind];
    for (const numbers of addedNumbers[kind]) {
      if (from >= position && to <= position + numbers.length) return numbers.subarray(from - position, to - position);
      position += numbers.length;
    }
    throw new Error(`${from} to ${to} are not among the ${kind} added`);
  };
  return {
    added: addedNumbers,
    add: addNumbers,
    grow(place, more) {
      if ('block' in place && place.block !== POOLS[place.kind]) return { ...place, to: place.to + more.length };
      return joinParts(listParts(place), more);
    },
    slide: (place, stay, more) => joinParts(selectLastElements(listParts(place), stay), more),
    read: (place) =>
      concatenate(
        listParts(place).map((part) => (isAppended(part) ? findAppendedNumbers(part) : readNumbers(stored, part))),
      ),
  };
}

/**
 * Returns references to the last `count` elements of an array. If `count` is 0, returns a reference to an empty range.
 */
function selectLastElements(parts: readonly Reference[], count: number): Reference[] {
  const last: Reference[] = [];
  let remainingCount = count;
  for (const part of parts.toReversed()) {
    const length = Math.min(remainingCount, part.to - part.from);
    if (length > 0) last.unshift({ ...part, from: part.to - length });
    remainingCount -= length;
  }
  return last.length > 0 ? last : [{ ...parts[0]!, to: parts[0]!.from }];
}
