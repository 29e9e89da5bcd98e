import { NUMBER_TYPES, findNumberType, type Numbers } from '../../numbers/number-types.js';
import type { RunFacts, RunHeader } from './header.js';
import { isPanel, type BlockName } from './schema.js';

/**
 * Reads bytes `start` to `end` (exclusive) of a stored file. Writes them into `room` if the sizes match, otherwise into
 * new memory.
 */
export type RangeReader = (start: number, end: number, room?: Uint8Array) => Uint8Array;

/** Header members that give the position of a block. */
export type SegmentHeader = Pick<RunFacts, 'names'> & Pick<RunHeader, 'begun' | 'joined' | 'blocks'>;

/** Part of a block that is in one file. */
export interface Segment {
  /** Number of the file; the open file is numbered after the earlier files. */
  readonly file: number;
  /** Offset of the segment in bytes from the start of the file, and number of elements stored there. */
  readonly offset: number;
  readonly stored: number;
  /**
   * Number of block elements in earlier files (`first`) and in this file (`length`). `length` exceeds `stored` if
   * securities joined later.
   */
  readonly first: number;
  readonly length: number;
}

/** Returns the segments of a block, in order. */
export function listSegments(header: SegmentHeader, name: BlockName): Segment[] {
  const { names, begun: earlierNames = [], blocks } = header;
  const { offset, length, begins = [] } = blocks[name]!; // the caller has checked that the block exists
  const segments: Segment[] = [];
  let first = 0;
  for (let file = 0; file < earlierNames.length; file++) {
    const storedLength = begins[2 * file + 1] ?? 0;
    const width = isPanel(name) ? countPanelColumns(header, file) : names.length;
    const elements = width === names.length ? storedLength : (storedLength / width) * names.length;
    if (storedLength > 0)
      segments.push({ file, stored: storedLength, first, offset: begins[2 * file]!, length: elements });
    first += elements;
  }
  return [...segments, { file: earlierNames.length, offset, first, length: length - first, stored: length - first }];
}

/** Returns the number of columns in the panels of a file. */
function countPanelColumns({ names, joined = [] }: SegmentHeader, file: number): number {
  return names.length - joined.filter((name) => name.file > file).length;
}

/** Securities that joined the run after a file was written. */
export interface LaterSecurities {
  /** Positions of the file's securities among the securities of the run, ascending. */
  readonly places: Int32Array;
  /**
   * Positions of the missing securities that joined later. `values` is the offset of their values in the block named by
   * `joined`.
   */
  readonly missing: readonly { readonly place: number; readonly values: number }[];
}

export function findLaterSecurities({ names, joined = [] }: SegmentHeader, file: number): LaterSecurities {
  const positionByName = new Map(names.map((name, place) => [name, place]));
  const missingSecurities: { place: number; values: number }[] = [];
  const isMissing = new Uint8Array(names.length);
  let values = 0;
  for (const name of joined) {
    const position = positionByName.get(name.name)!; // joined securities are securities of the run
    if (name.file > file) {
      missingSecurities.push({ place: position, values });
      isMissing[position] = 1;
    }
    values += name.dates;
  }
  return {
    missing: missingSecurities,
    places: Int32Array.from(isMissing.keys()).filter((place) => isMissing[place] === 0),
  };
}

interface WidenInput {
  /** Rows as stored in a file, with the file's columns. */
  readonly rows: Numbers;
  readonly later: LaterSecurities;
  /** Number of securities of the run. */
  readonly width: number;
}

/**
 * Returns rows with one column per security of the run. A security that the file lacks gets 0.
 * @cost O(rows x securities)
 */
export function widenRows({ rows, later: { places }, width }: WidenInput): Numbers {
  const storedWidth = places.length;
  const count = rows.length / storedWidth;
  const wide = new NUMBER_TYPES[findNumberType(rows)](count * width);
  for (let row = 0; row < count; row++) {
    for (let k = 0; k < storedWidth; k++) wide[row * width + places[k]!] = rows[row * storedWidth + k]!;
  }
  return wide;
}

/** Converts the first number of each row from a security position in the file to the position in the run. */
export function renumberSecurities(rows: Numbers, every: number, { places }: LaterSecurities): Numbers {
  const renumberedRows = rows.slice();
  for (let position = 0; position < renumberedRows.length; position += every)
    renumberedRows[position] = places[renumberedRows[position]!]!;
  return renumberedRows;
}

/** Returns a function that opens the reader of a file on first use. */
export function listFiles(
  { begun: earlierNames = [] }: SegmentHeader,
  ownRangeReader: RangeReader,
  open: (name: string) => RangeReader,
): (file: number) => RangeReader {
  const openFiles = new Map<number, RangeReader>([[earlierNames.length, ownRangeReader]]);
  return (file) => {
    let rangeReader = openFiles.get(file);
    if (!rangeReader) openFiles.set(file, (rangeReader = open(earlierNames[file]!)));
    return rangeReader;
  };
}
