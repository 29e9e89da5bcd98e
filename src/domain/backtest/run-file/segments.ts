import { NUMBER_TYPES, findNumberType, type Numbers } from '../../numbers/number-types.js';
import type { RunFacts, RunHeader } from './header.js';
import { isPanel, type BlockName } from './schema.js';

/**
 * Reads bytes `start` to `end` (exclusive) of a stored file, into `room` if its size fits, otherwise into new memory.
 */
export type ReadRange = (start: number, end: number, room?: Uint8Array) => Uint8Array;

/** Members of a header that give the position of a block. */
export type SegmentHeader = Pick<RunFacts, 'names'> & Pick<RunHeader, 'begun' | 'joined' | 'blocks'>;

/** Part of a block in one file. */
export interface Segment {
  /** Position of the file among the earlier files and, last, the open file. */
  readonly file: number;
  /** Offset in bytes from the start of the file, and number of elements there. */
  readonly offset: number;
  readonly stored: number;
  /**
   * Number of elements of the block in earlier files, then in this file: more than stored if securities joined later.
   */
  readonly first: number;
  readonly length: number;
}

/** Returns the positions of the elements of a block, in order. */
export function listSegments(header: SegmentHeader, name: BlockName): Segment[] {
  const { names, begun: earlierNames = [], blocks } = header;
  const { offset, length, begins = [] } = blocks[name]!; // The caller has checked that the block exists.
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

/** Returns the number of securities for which the panels of a file have a column. */
function widthIn({ names, joined = [] }: SegmentHeader, file: number): number {
  return names.length - joined.filter((name) => name.file > file).length;
}

/** Securities that joined after a file was written. */
export interface Later {
  /** Positions in the securities of those in the file, ascending. */
  readonly places: Int32Array;
  /** Positions of the others, with the start of their values in the block if they joined. */
  readonly missing: readonly { readonly place: number; readonly values: number }[];
}

export function findLaterSecurities({ names, joined = [] }: SegmentHeader, file: number): Later {
  const placeOf = new Map(names.map((name, place) => [name, place]));
  const missing: { place: number; values: number }[] = [];
  const isMissing = new Uint8Array(names.length);
  let values = 0;
  for (const name of joined) {
    const place = placeOf.get(name.name)!; // Securities that joined are among the securities of the run.
    if (name.file > file) {
      missing.push({ place, values });
      isMissing[place] = 1;
    }
    values += name.dates;
  }
  return { missing, places: Int32Array.from(isMissing.keys()).filter((place) => isMissing[place] === 0) };
}

interface WidenInput {
  /** Whole rows as stored in a file. */
  readonly rows: Numbers;
  readonly later: Later;
  /** Number of securities of the run. */
  readonly width: number;
}

/**
 * Returns rows of a panel with a column for every security of the run: zero for those that the file lacks.
 * @cost O(rows x securities)
 */
export function widenRows({ rows, later: { places }, width }: WidenInput): Numbers {
  const narrow = places.length;
  const count = rows.length / narrow;
  const wide = new NUMBER_TYPES[findNumberType(rows)](count * width);
  for (let row = 0; row < count; row++) {
    for (let k = 0; k < narrow; k++) wide[row * width + places[k]!] = rows[row * narrow + k]!;
  }
  return wide;
}

/** Converts rows whose first number is the position of a security in the file to its position in the run. */
export function rename(rows: Numbers, every: number, { places }: Later): Numbers {
  const named = rows.slice();
  for (let at = 0; at < named.length; at += every) named[at] = places[named[at]!]!;
  return named;
}

/** Returns a reader for each file, opened when it is first read. */
export function listFiles(
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
