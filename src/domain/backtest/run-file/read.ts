import { NUMBER_TYPES, type Numbers, type NumberType } from '../../numbers/number-types.js';
import type { BlockPosition, RunHeader } from './header.js';
import { readHeader, createUnreadableError } from './read-header.js';
import { findBlock, isPanel, type BlockName } from './schema.js';
import {
  listFiles,
  findLaterSecurities,
  renumberSecurities,
  listSegments,
  widenRows,
  type LaterSecurities,
  type RangeReader,
  type Segment,
} from './segments.js';

/** Columns of a stored run. Each view reads only the ranges that it needs and simulates nothing. */
export interface RunColumns {
  readonly header: RunHeader;
  has(name: BlockName): boolean;
  /** Returns elements `from` to `to` (exclusive) of a block. Default: the whole block. */
  f64(name: BlockName, from?: number, to?: number): Float64Array;
  i32(name: BlockName, from?: number, to?: number): Int32Array;
  u8(name: BlockName, from?: number, to?: number): Uint8Array;
  /**
   * Fills an array with elements of a block, from a position on. Callers that read many ranges need no new array for
   * each.
   */
  fill(name: BlockName, from: number, out: Float64Array): void;
  /**
   * Returns one column of a panel with H columns, [rows].
   * @cost reads the whole panel in parts
   */
  column(name: BlockName, column: number): Float64Array;
  /** Returns the number of a block's elements in earlier files. */
  inEarlierFiles(name: BlockName): number;
}

/**
 * Opens the columns of a stored run.
 * @param openEarlier opens an earlier file of the run on its first read.
 * @throws Refusal DOCUMENT_UNREADABLE if the bytes are not a run
 */
export function openColumns(
  rangeReader: RangeReader,
  openEarlier: (name: string) => RangeReader = refuseMissingFile,
): RunColumns {
  const header = readHeader(rangeReader);
  const reader = createReader(header, listFiles(header, rangeReader, openEarlier));
  const { elements } = reader;
  // `requireBlock` checks the type of a block before every read.
  return {
    header,
    f64: (name, from = 0, to = undefined) => elements({ name, type: 'f64', from, to }) as Float64Array,
    i32: (name, from = 0, to = undefined) => elements({ name, type: 'i32', from, to }) as Int32Array,
    u8: (name, from = 0, to = undefined) => elements({ name, type: 'u8', from, to }) as Uint8Array,
    column: reader.column,
    fill: (name, from, out) => void elements({ name, type: 'f64', from, to: from + out.length }, out),
    has: (name) => header.blocks[name] !== undefined,
    inEarlierFiles: (name) => listSegments(header, name).at(-1)!.first,
  };
}

function refuseMissingFile(): never {
  throw createUnreadableError('one of its earlier files is missing');
}

/** Range of elements of a block. */
interface ElementRange {
  readonly name: BlockName;
  readonly type: NumberType;
  readonly from: number;
  /** End of the range, exclusive. Default: the end of the block. */
  readonly to: number | undefined;
}

/** Range of elements within one segment, counted from the segment's first element. */
interface SegmentRange {
  readonly name: BlockName;
  readonly type: NumberType;
  readonly segment: Segment;
  readonly from: number;
  readonly to: number;
}

interface Reader {
  /**
   * Returns elements of a block.
   * @param out array to fill. Default: a new array.
   */
  elements(wanted: ElementRange, out?: Numbers): Numbers;
  column(name: BlockName, column: number): Float64Array;
}

function createReader(header: RunHeader, readerOf: (file: number) => RangeReader): Reader {
  const width = header.names.length;
  const laterByFile = new Map<number, LaterSecurities>();

  /** Returns the securities that joined after a file was written. Returns null if the file has every security. */
  function findLater(file: number): LaterSecurities | null {
    if (!header.joined?.some((addedSecurity) => addedSecurity.file > file)) return null;
    let entry = laterByFile.get(file);
    if (!entry) laterByFile.set(file, (entry = findLaterSecurities(header, file)));
    return entry;
  }

  /** Returns elements of a segment, including those of securities that joined after its file was written. */
  function readWithin(part: SegmentRange, room?: Uint8Array): Numbers {
    const { name, segment } = part;
    const names = findLater(segment.file);
    const { positionsEvery } = findBlock(name);
    if (names === null) return readStored(part, readerOf, room);
    if (positionsEvery !== undefined) return renumberSecurities(readStored(part, readerOf), positionsEvery, names);
    return isPanel(name) ? readPanelRows(part, names) : readStored(part, readerOf, room);
  }

  /** Returns elements of a panel segment from a file with fewer securities than the run. */
  function readPanelRows(part: SegmentRange, names: LaterSecurities): Numbers {
    const {
      name,
      segment: { first, length, stored },
      from,
      to,
    } = part;
    const storedWidth = stored / (length / width);
    const firstRow = Math.floor(from / width);
    const endRow = Math.ceil(to / width);
    const wide = widenRows({
      rows: readStored({ ...part, from: firstRow * storedWidth, to: endRow * storedWidth }, readerOf),
      later: names,
      width,
    });
    const { joined } = findBlock(name);
    if (joined) {
      for (const { place, values } of names.missing) {
        const date = first / width + firstRow;
        const joinedNumbers = readElements({
          name: joined,
          type: 'f64',
          from: values + date,
          to: values + date + endRow - firstRow,
        });
        for (let row = 0; row < joinedNumbers.length; row++) wide[row * width + place] = joinedNumbers[row]!;
      }
    }
    return wide.subarray(from - firstRow * width, to - firstRow * width);
  }

  function readElements({ name, type, from, to }: ElementRange, out?: Numbers): Numbers {
    const block = requireBlock(header, name, type);
    const last = to ?? block.length;
    if (from < 0 || last > block.length || from > last)
      throw new Error(`elements ${from} to ${last} of ${name}, which has ${block.length}`);
    const touchedSegments = listSegments(header, name).filter(
      ({ first, length }) => from < first + length && last > first,
    );
    const locatePart = (segment: Segment): SegmentRange => ({
      name,
      type,
      segment,
      from: Math.max(0, from - segment.first),
      to: Math.min(last - segment.first, segment.length),
    });
    if (touchedSegments.length === 1 && !out) return readWithin(locatePart(touchedSegments[0]!));
    const numbers = out ?? new NUMBER_TYPES[type](last - from);
    for (const segment of touchedSegments) {
      const output = numbers.subarray(
        Math.max(0, segment.first - from),
        Math.min(last, segment.first + segment.length) - from,
      );
      const part = readWithin(locatePart(segment), new Uint8Array(output.buffer, output.byteOffset, output.byteLength));
      if (part.buffer !== output.buffer) output.set(part);
    }
    return numbers;
  }

  /** Copies one column of a panel segment into the result. */
  function copyColumnOfSegment(
    { name, segment, column }: { readonly name: BlockName; readonly segment: Segment; readonly column: number },
    rows: Float64Array,
  ): void {
    const names = findLater(segment.file);
    const missingSecurity = names?.missing.find(({ place }) => place === column);
    if (missingSecurity) {
      const { joined } = findBlock(name);
      const from = missingSecurity.values + segment.first / width;
      if (joined) rows.set(readElements({ name: joined, type: 'f64', from, to: from + rows.length }));
      return;
    }
    const storedWidth = names?.places.length ?? width;
    const columnPlace = names?.places.indexOf(column) ?? column;
    const step = storedWidth * Math.max(1, Math.floor(PART_ELEMENTS / storedWidth));
    const buffer = new Uint8Array(8 * Math.min(segment.stored, step));
    for (let from = 0, row = 0; from < segment.stored; from += step) {
      const to = Math.min(segment.stored, from + step);
      const part = readStored({ name, type: 'f64', segment, from, to }, readerOf, buffer.subarray(0, 8 * (to - from)));
      for (let position = columnPlace; position < part.length; position += storedWidth, row++)
        rows[row] = part[position]!;
    }
  }

  return {
    elements: readElements,
    column(name, column) {
      const values = new Float64Array(requireBlock(header, name, 'f64').length / width);
      for (const segment of listSegments(header, name)) {
        const { first, length } = segment;
        copyColumnOfSegment({ name, segment, column }, values.subarray(first / width, (first + length) / width));
      }
      return values;
    },
  };
}

/** Reads stored elements of a file, into `room` if its size fits. */
function readStored(
  { name, type, segment: { file, offset }, from, to }: SegmentRange,
  readerOf: (file: number) => RangeReader,
  room?: Uint8Array,
): Numbers {
  const Type = NUMBER_TYPES[type];
  const size = Type.BYTES_PER_ELEMENT;
  const bytes = requireWhole(name, readerOf(file)(offset + from * size, offset + to * size, room), (to - from) * size);
  const alignedBytes = bytes.byteOffset % 8 === 0 ? bytes : bytes.slice();
  return new Type(alignedBytes.buffer as ArrayBuffer, alignedBytes.byteOffset, to - from); // readers do not share memory
}

/** Number of panel elements that are read at once: 2 MB. */
const PART_ELEMENTS = 1 << 18;

/**
 * Returns the position of a block.
 * @throws Refusal DOCUMENT_UNREADABLE if the file has no such block of that type
 */
function requireBlock({ blocks }: RunHeader, name: BlockName, type: NumberType): BlockPosition {
  const block = blocks[name];
  if (block?.type !== type) throw createUnreadableError(`it has no ${type} block ${name}`);
  return block;
}

/**
 * Checks that all bytes of a range were read.
 * @throws Refusal DOCUMENT_UNREADABLE if the file ends earlier
 */
function requireWhole(name: BlockName, bytes: Uint8Array, length: number): Uint8Array {
  if (bytes.length !== length) throw createUnreadableError(`its block ${name} is truncated`);
  return bytes;
}
