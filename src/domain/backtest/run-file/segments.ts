import { NUMBER_TYPES, typeOf, type Numbers } from '../../numbers/number-types.js';
import type { RunFacts, RunHeader } from './header.js';
import { isPanel, type BlockName } from './schema.js';

/**
 * Reads bytes `start` to `end` (exclusive) of a stored file: into the room, where one of that size is given, or into
 * memory of its own.
 */
export type ReadRange = (start: number, end: number, room?: Uint8Array) => Uint8Array;

/** Facts of a header that say where a block lies. */
export type SegmentHeader = Pick<RunFacts, 'names'> & Pick<RunHeader, 'begun' | 'joined' | 'blocks'>;

/** A part of a block that lies in one file. */
export interface Segment {
  /** Position of the file: the earlier ones, then the one that is open. */
  readonly file: number;
  /** Bytes from the beginning of the file, and elements there. */
  readonly offset: number;
  readonly stored: number;
  /** Elements of the block before it, and in it: more than are stored where names joined later. */
  readonly first: number;
  readonly length: number;
}

/** Where the elements of a block are, in order. */
export function segmentsOf(header: SegmentHeader, name: BlockName): Segment[] {
  const { names, begun: earlierNames = [], blocks } = header;
  const { offset, length, begins = [] } = blocks[name]!; // Who asks has looked.
  const segments: Segment[] = [];
  let first = 0;
  for (let file = 0; file < earlierNames.length; file++) {
    const stored = begins[2 * file + 1] ?? 0;
    const width = isPanel(name) ? widthIn(header, file) : names.length;
    const elements = width === names.length ? stored : (stored / width) * names.length;
    if (stored > 0) segments.push({ file, stored, first, offset: begins[2 * file]!, length: elements });
    first += elements;
  }
  return [...segments, { file: earlierNames.length, offset, first, length: length - first, stored: length - first }];
}

/** Names that the panels of a file have a column for. */
function widthIn({ names, joined = [] }: SegmentHeader, file: number): number {
  return names.length - joined.filter((name) => name.file > file).length;
}

/** Names that joined later than a file was written. */
export interface Later {
  /** Positions in the names of those that the file has, ascending. */
  readonly places: Int32Array;
  /** Positions of the others, and where the values of each begin in the block for those that joined. */
  readonly missing: readonly { readonly place: number; readonly values: number }[];
}

export function laterThan({ names, joined = [] }: SegmentHeader, file: number): Later {
  const placeOf = new Map(names.map((name, place) => [name, place]));
  const missing: { place: number; values: number }[] = [];
  const isMissing = new Uint8Array(names.length);
  let values = 0;
  for (const name of joined) {
    const place = placeOf.get(name.name)!; // Who joined is among the names.
    if (name.file > file) {
      missing.push({ place, values });
      isMissing[place] = 1;
    }
    values += name.dates;
  }
  return { missing, places: Int32Array.from(isMissing.keys()).filter((place) => isMissing[place] === 0) };
}

interface WidenInput {
  /** Whole rows as a file has them. */
  readonly rows: Numbers;
  readonly later: Later;
  /** Names of the run. */
  readonly width: number;
}

/**
 * Rows of a panel with a column for every name of the run: zero for those that the file has not.
 * @cost O(rows x names)
 */
export function widened({ rows, later: { places }, width }: WidenInput): Numbers {
  const narrow = places.length;
  const count = rows.length / narrow;
  const wide = new NUMBER_TYPES[typeOf(rows)](count * width);
  for (let row = 0; row < count; row++) {
    for (let k = 0; k < narrow; k++) wide[row * width + places[k]!] = rows[row * narrow + k]!;
  }
  return wide;
}

/** Rows whose first numbers are positions among the names that a file has, by the names of the run. */
export function renamed(rows: Numbers, every: number, { places }: Later): Numbers {
  const named = rows.slice();
  for (let at = 0; at < named.length; at += every) named[at] = places[named[at]!]!;
  return named;
}

/** A reader for each of the files, opened when it is first read. */
export function filesOf(
  { begun: earlierNames = [] }: SegmentHeader,
  own: ReadRange,
  open: (name: string) => ReadRange,
): (file: number) => ReadRange {
  const opened = new Map<number, ReadRange>([[earlierNames.length, own]]);
  return (file) => {
    let read = opened.get(file);
    if (!read) opened.set(file, (read = open(earlierNames[file]!)));
    return read;
  };
}
