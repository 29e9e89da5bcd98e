import type { Block, BlockName, ReadRange, RunHeader } from './columns.js';

/** Numbers of a row of `effects`. */
export const EFFECT_WIDTH = 6;

/** Blocks that have a column for every name of the run. */
export const PANELS: ReadonlySet<BlockName> = new Set<BlockName>(['weights', 'indexWeights', 'before', 'eventCosts', 'targets', 'raw', 'capped', 'price']);

/** A part of a block that lies in one file. */
export interface Stretch {
  /** Position of the file: those begun, then the one that is open. */
  readonly file: number;
  /** Bytes from the beginning of the file, and elements there. */
  readonly offset: number;
  readonly stored: number;
  /** Elements of the block before it, and in it: more than are stored where names joined later. */
  readonly first: number;
  readonly length: number;
}

/** Where the elements of a block are, in order. */
export function stretchesOf(header: RunHeader, name: BlockName, { offset, length, begins = [] }: Block): Stretch[] {
  const { names, begun = [] } = header;
  const stretches: Stretch[] = [];
  let first = 0;
  for (let file = 0; file < begun.length; file++) {
    const stored = begins[2 * file + 1] ?? 0;
    const width = PANELS.has(name) ? widthIn(header, file) : names.length;
    const elements = width === names.length ? stored : (stored / width) * names.length;
    if (stored > 0) stretches.push({ file, stored, first, offset: begins[2 * file]!, length: elements });
    first += elements;
  }
  return [...stretches, { file: begun.length, offset, first, length: length - first, stored: length - first }];
}

/** Names that the panels of a file have a column for. */
function widthIn({ names, joined = [] }: RunHeader, file: number): number {
  return names.length - joined.filter((name) => name.file > file).length;
}

/** Names that joined later than a file was written. */
export interface Later {
  /** Positions in the names of those that the file has, ascending. */
  readonly places: Int32Array;
  /** Positions of the others, and where in `joinedPrice` the prices of each begin. */
  readonly missing: readonly { readonly place: number; readonly prices: number }[];
}

export function laterThan({ names, joined = [] }: RunHeader, file: number): Later {
  const placeOf = new Map(names.map((name, place) => [name, place]));
  const missing: { place: number; prices: number }[] = [];
  const isMissing = new Uint8Array(names.length);
  let prices = 0;
  for (const name of joined) {
    const place = placeOf.get(name.name)!; // Who joined is among the names.
    if (name.file > file) {
      missing.push({ place, prices });
      isMissing[place] = 1;
    }
    prices += name.dates;
  }
  return { missing, places: Int32Array.from(isMissing.keys()).filter((place) => isMissing[place] === 0) };
}

interface WidenInput<A> {
  /** Whole rows as a file has them. */
  readonly rows: A;
  readonly later: Later;
  /** Names of the run. */
  readonly width: number;
}

/** Rows of a panel with a column for every name of the run: zero for those that the file has not. @cost O(rows x names) */
export function widened<A extends Float64Array | Uint8Array | Int32Array>({ rows, later: { places }, width }: WidenInput<A>): A {
  const narrow = places.length;
  const count = rows.length / narrow;
  // As many elements of the same kind.
  const wide = new (rows.constructor as new (length: number) => A)(count * width);
  for (let row = 0; row < count; row++) {
    for (let k = 0; k < narrow; k++) wide[row * width + places[k]!] = rows[row * narrow + k]!;
  }
  return wide;
}

/** Rows of effects whose names are positions among those that a file has, by the names of the run. */
export function renamed(rows: Float64Array, { places }: Later): Float64Array {
  const named = rows.slice();
  for (let at = 0; at < named.length; at += EFFECT_WIDTH) named[at] = places[named[at]!]!;
  return named;
}

/** A reader for each of the files, opened when it is first read. */
export function filesOf({ begun = [] }: RunHeader, own: ReadRange, open: (name: string) => ReadRange): (file: number) => ReadRange {
  const opened = new Map<number, ReadRange>([[begun.length, own]]);
  return (file) => {
    let read = opened.get(file);
    if (!read) opened.set(file, (read = open(begun[file]!)));
    return read;
  };
}
