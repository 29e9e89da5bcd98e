import { isReference, kindOf, numbersAt, POOL, type Kind, type Numbers, type Reference, type Stretches } from './record-columns.js';
import type { RunColumns } from '../run-file/columns.js';

/** Where an array of the record is. */
export type Place = Reference | Stretches;

/** The numbers of a record with those added behind them. */
export interface Pools {
  readonly added: Record<Kind, Numbers[]>;
  /** Puts numbers behind all others of their kind. */
  add(numbers: Numbers): Reference;
  /** The place of an array with more behind it. Numbers that are a block of the columns are behind it there. */
  grow(place: Place, more: Numbers): Place;
  /** The same with so many elements of the array at most. */
  slide(place: Place, keep: number, more: Numbers): Place;
  /** The array of a place: stored, added, or both. */
  read(stored: RunColumns, place: Place): Numbers;
}

/** Nothing added yet to the numbers of a stored record. */
export function poolsBehind({ header }: RunColumns): Pools {
  const added: Record<Kind, Numbers[]> = { f64: [], i32: [], u8: [] };
  const begins = { f64: header.blocks.recordF64!.length, i32: header.blocks.recordI32!.length, u8: header.blocks.recordU8!.length };
  const ends = { ...begins };
  const add = (numbers: Numbers): Reference => {
    const kind = kindOf(numbers);
    const from = ends[kind];
    if (numbers.length > 0) added[kind].push(numbers);
    return { block: POOL[kind], kind, from, to: (ends[kind] += numbers.length) };
  };
  const join = (parts: readonly Reference[], more: Numbers): Place => {
    const all = more.length === 0 ? parts : [...parts, add(more)];
    return all.length === 1 ? all[0]! : { parts: all };
  };
  const addedNumbers = (kind: Kind, from: number, to: number): Numbers => {
    let at = begins[kind];
    for (const numbers of added[kind]) {
      if (from >= at && to <= at + numbers.length) return numbers.subarray(from - at, to - at);
      at += numbers.length;
    }
    throw new Error(`${from} to ${to} are not among the ${kind} added`);
  };
  return {
    added, add,
    grow(place, more) {
      if (isReference(place) && place.block !== POOL[place.kind]) return { ...place, to: place.to + more.length };
      return join(partsOf(place), more);
    },
    slide: (place, keep, more) => join(lastOf(partsOf(place), keep), more),
    read(stored, place) {
      const parts = partsOf(place).map((part) => (part.from >= begins[part.kind] && part.block === POOL[part.kind] ? addedNumbers(part.kind, part.from, part.to) : numbersAt(stored, part)));
      if (parts.length === 1) return parts[0]!;
      const length = parts.reduce((sum, part) => sum + part.length, 0);
      const whole = parts[0] instanceof Float64Array ? new Float64Array(length) : new Int32Array(length);
      let at = 0;
      for (const part of parts) {
        whole.set(part, at);
        at += part.length;
      }
      return whole;
    },
  };
}

function partsOf(place: Place): readonly Reference[] {
  return isReference(place) ? [place] : place.parts;
}

/** The last elements of an array; a reference to nothing when none are wanted. */
function lastOf(parts: readonly Reference[], count: number): Reference[] {
  const kept: Reference[] = [];
  let wanted = count;
  for (const part of parts.toReversed()) {
    const length = Math.min(wanted, part.to - part.from);
    if (length > 0) kept.unshift({ ...part, from: part.to - length });
    wanted -= length;
  }
  return kept.length > 0 ? kept : [{ ...parts[0]!, to: parts[0]!.from }];
}

/** Elements of the array of a place. */
export function lengthOf(place: Place): number {
  return partsOf(place).reduce((sum, { from, to }) => sum + to - from, 0);
}
