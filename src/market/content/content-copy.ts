import { Buffer } from 'node:buffer';
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';
import { copyInParts } from '#kernels/memory/paged-memory.js';
import { raiseToPower } from '#kernels/power.js';
import type { MarketContent } from './market-content.js';
import {
  type ContentChange,
  createTables,
  encodeTables,
  packChange,
  type TableTexts,
  unpackChange,
} from './versions.js';

/**
 * Encoding of panel cells as bytes that compress well. Numbers with few decimals are stored as integers. Each integer
 * is the difference from the previous day, and bytes of equal significance are grouped. Prices and counts take a tenth
 * of the time of doubles and half of the space.
 */

/** Maximum number of decimals tried for the encoding as integers. */
const DECIMALS_MAX = 6;

/**
 * First byte of cells that are stored as doubles. For integers, the first byte is the number of decimals, plus the
 * second constant for long integers.
 */
const DOUBLES = 255;
const LONG_CODE = 128;

/** Exclusive upper bound of long integers, and their size in bytes. Below the bound, twice a difference is exact. */
const LONG_END = 2 ** 51;
const LONG_WIDTH = 7;

/** Represents a missing value among long integers. */
const LONG_NONE = -LONG_END;

const WORD_VALUES = 2 ** 32;

/** Stands for a missing value among 32-bit integers. All other integers are larger. */
const MISSING_INTEGER = -(2 ** 31);

/** Upper half of the only NaN that panels contain; the lower half is 0. */
const NAN_HIGH = 0x7ff80000;

const WIDTH = Int32Array.BYTES_PER_ELEMENT;

/**
 * Encodes the cells of a part of a panel.
 * @param assets number of cells per day
 * @returns bytes from which `decodeCells` restores bit-identical cells, in memory that the next call overwrites
 */
export function encodeCells(cells: Float64Array, assets: number): Uint8Array {
  for (const end of [-MISSING_INTEGER, LONG_END]) {
    for (
      let decimals = findFirstFit(cells, 0, end);
      decimals <= DECIMALS_MAX;
      decimals = findFirstFit(cells, decimals + 1, end)
    ) {
      const integers = findIntegers(cells, decimals, end);
      if (integers instanceof Int32Array) return encodePlanes(integers, assets, decimals);
      if (integers !== undefined) return encodeLongPlanes(integers, assets, decimals);
    }
  }
  const bytes = allocateBytes(1 + cells.byteLength);
  bytes[0] = DOUBLES;
  bytes.set(new Uint8Array(cells.buffer, cells.byteOffset, cells.byteLength), 1);
  return bytes;
}

/**
 * Memory of this thread for integers and bytes, which is reused. New memory for each part would remain until the next
 * garbage collection.
 */
const buffers = { integers: new ArrayBuffer(0), bytes: new ArrayBuffer(0) };

function getBuffer(what: keyof typeof buffers, bytes: number): ArrayBuffer {
  if (buffers[what].byteLength < bytes) buffers[what] = new ArrayBuffer(bytes);
  return buffers[what];
}

const allocateBytes = (length: number): Uint8Array<ArrayBuffer> =>
  new Uint8Array(getBuffer('bytes', length), 0, length);

/** Returns the smallest number of decimals, at least `from`, that represents the first value. */
function findFirstFit(cells: Float64Array, from: number, end: number): number {
  const first = cells.find((value) => value === value) ?? 0;
  for (let decimals = from; decimals <= DECIMALS_MAX; decimals++) {
    const scale = raiseToPower(10, decimals);
    if (isExact(first, Math.round(first * scale), { scale, end })) return decimals;
  }
  return Math.max(from, DECIMALS_MAX + 1);
}

/** Returns true if an integer within the bounds restores a bit-identical value. */
function isExact(
  value: number,
  integer: number,
  { scale, end }: { readonly scale: number; readonly end: number },
): boolean {
  return integer / scale === value && (integer !== 0 || Object.is(value, 0)) && integer > -end && integer < end;
}

/**
 * Converts cells to integers. @returns 32-bit or long integers, depending on the bound; undefined if a value cannot be
 * restored exactly from an integer
 */
function findIntegers(cells: Float64Array, decimals: number, end: number): Int32Array | Float64Array | undefined {
  const form = { scale: raiseToPower(10, decimals), end };
  const halves = new Uint32Array(cells.buffer, cells.byteOffset, 2 * cells.length);
  const memory = getBuffer('integers', cells.byteLength);
  const integers = new (end === LONG_END ? Float64Array : Int32Array)(memory, 0, cells.length);
  for (let i = 0; i < cells.length; i++) {
    const value = cells[i]!;
    if (value !== value) {
      if (halves[2 * i] !== 0 || halves[2 * i + 1] !== NAN_HIGH) return undefined;
      integers[i] = -end;
      continue;
    }
    const integer = Math.round(value * form.scale);
    if (!isExact(value, integer, form)) return undefined;
    integers[i] = integer;
  }
  return integers;
}

/**
 * Returns differences as bytes, grouped by significance. Differences are mapped so that small negative ones have few
 * significant bytes.
 */
function encodePlanes(integers: Int32Array, assets: number, decimals: number): Uint8Array {
  const count = integers.length;
  const bytes = allocateBytes(1 + WIDTH * count);
  bytes[0] = decimals;
  for (let i = 0; i < count; i++) {
    const difference = (integers[i]! - (i < assets ? 0 : integers[i - assets]!)) | 0;
    const code = (difference << 1) ^ (difference >> 31);
    bytes[1 + i] = code;
    bytes[1 + count + i] = code >>> 8;
    bytes[1 + 2 * count + i] = code >>> 16;
    bytes[1 + 3 * count + i] = code >>> 24;
  }
  return bytes;
}

function encodeLongPlanes(integers: Float64Array, assets: number, decimals: number): Uint8Array {
  const count = integers.length;
  const bytes = allocateBytes(1 + LONG_WIDTH * count);
  bytes[0] = LONG_CODE + decimals;
  for (let i = 0; i < count; i++) {
    const difference = integers[i]! - (i < assets ? 0 : integers[i - assets]!);
    const code = difference < 0 ? -2 * difference - 1 : 2 * difference;
    const high = Math.floor(code / WORD_VALUES);
    const low = (code - high * WORD_VALUES) | 0;
    bytes[1 + i] = low;
    bytes[1 + count + i] = low >>> 8;
    bytes[1 + 2 * count + i] = low >>> 16;
    bytes[1 + 3 * count + i] = low >>> 24;
    bytes[1 + 4 * count + i] = high;
    bytes[1 + 5 * count + i] = high >>> 8;
    bytes[1 + 6 * count + i] = high >>> 16;
  }
  return bytes;
}

/** Returns true if encoded cells consist of integers. */
const areIntegers = (bytes: Uint8Array): boolean => bytes[0] !== DOUBLES;

export function decodeCells(bytes: Uint8Array, assets: number, cells: Float64Array): void {
  const decimals = bytes[0]!;
  if (decimals === DOUBLES) {
    new Uint8Array(cells.buffer, cells.byteOffset, cells.byteLength).set(bytes.subarray(1));
    return;
  }
  if (decimals >= LONG_CODE) {
    decodeLong(bytes, assets, cells);
    return;
  }
  const scale = raiseToPower(10, decimals);
  const count = cells.length;
  const integers = new Int32Array(count);
  for (let i = 0; i < count; i++) {
    const code =
      bytes[1 + i]! |
      (bytes[1 + count + i]! << 8) |
      (bytes[1 + 2 * count + i]! << 16) |
      (bytes[1 + 3 * count + i]! << 24);
    const difference = (code >>> 1) ^ -(code & 1);
    const integer = (difference + (i < assets ? 0 : integers[i - assets]!)) | 0;
    integers[i] = integer;
    cells[i] = integer === MISSING_INTEGER ? Number.NaN : integer / scale;
  }
}

function decodeLong(bytes: Uint8Array, assets: number, cells: Float64Array): void {
  const scale = raiseToPower(10, bytes[0]! - LONG_CODE);
  const count = cells.length;
  const integers = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const low =
      bytes[1 + i]! |
      (bytes[1 + count + i]! << 8) |
      (bytes[1 + 2 * count + i]! << 16) |
      (bytes[1 + 3 * count + i]! << 24);
    const high = bytes[1 + 4 * count + i]! | (bytes[1 + 5 * count + i]! << 8) | (bytes[1 + 6 * count + i]! << 16);
    const code = high * WORD_VALUES + (low >>> 0);
    const difference = low % 2 === 0 ? code / 2 : -(code + 1) / 2;
    const integer = difference + (i < assets ? 0 : integers[i - assets]!);
    integers[i] = integer;
    cells[i] = integer === LONG_NONE ? Number.NaN : integer / scale;
  }
}

/** Maximum size of an inflated change: panels of 4 GB. */
const CHANGE_BYTES_MAX = 2 ** 32;

export const encodeChange = (change: ContentChange): Uint8Array => deflateRawSync(packChange(change));

/** Decodes a change. @throws Error if the bytes are not a change */
export const decodeChange = (bytes: Uint8Array): ContentChange =>
  unpackChange(inflateRawSync(bytes, { maxOutputLength: CHANGE_BYTES_MAX }));

/** Version of the encoding. In version 1, each panel is one part of doubles. */
const FORMAT = 2;

/** Compression level. Prices compress to half; a higher level takes twice the time to save one per cent. */
const COMPRESSION_LEVEL = 1;

/** Maximum size of an inflated part: a panel of 2 GiB. */
const PART_BYTES_MAX = 2 ** 31;

/** Number of bytes of cells per part of a copy, and per piece. A piece is encoded without a pause of the thread. */
const PART_BYTES = 4 << 20;
const PIECE_BYTES = 32 << 20;

interface Header {
  readonly format: 1 | typeof FORMAT;
  readonly dates: readonly number[];
  readonly identifiers: readonly string[];
  readonly tables: TableTexts;
  readonly fields: readonly string[];
  /** Number of days per part of a panel; absent in version 1. */
  readonly days?: number;
}

/**
 * Piece of a copy, and the number of the part with which the next piece begins. The number is null after the last
 * piece.
 */
interface CopyPiece {
  readonly piece: readonly Uint8Array[];
  readonly next: number | null;
}

/**
 * Encodes a whole content in pieces. A header in JSON is followed by the parts of each panel. Each part is compressed,
 * and its length precedes it.
 * @param from number of the part with which the piece begins, 0 for the first
 * @cost 3 ms a megabyte of prices, 10 ms for values with many decimals
 */
export function encodeContent(content: MarketContent, from: number): CopyPiece {
  const { dates, identifiers, fields } = content;
  const assets = identifiers.length;
  const days = Math.max(1, Math.floor(PART_BYTES / Float64Array.BYTES_PER_ELEMENT / Math.max(1, assets)));
  const panels = [...fields.values()];
  const parts = Math.ceil(dates.length / days);
  const deflatedParts: Buffer[] = [];
  const add = (bytes: Uint8Array, strategy: number = constants.Z_DEFAULT_STRATEGY) => {
    const deflatedPart = deflateRawSync(bytes, { level: COMPRESSION_LEVEL, strategy });
    deflatedParts.push(encodeLength(deflatedPart), deflatedPart);
  };
  if (from === 0) add(Buffer.from(JSON.stringify(createHeader(content, days))));
  const buffer = new Float64Array(days * assets);
  let next = from;
  for (let pieceBytes = 0; next < parts * panels.length && pieceBytes < PIECE_BYTES; next++) {
    const first = (next % parts) * days * assets;
    const cells = panels[Math.floor(next / parts)]!.subarray(first, first + days * assets);
    const encodedCells = encodeCells(copyInParts(cells, buffer), assets);
    add(encodedCells, areIntegers(encodedCells) ? constants.Z_RLE : undefined); // encoded integers contain runs of bytes and few other repetitions
    pieceBytes += cells.byteLength;
  }
  return { piece: deflatedParts, next: next < parts * panels.length ? next : null };
}

function createHeader(content: MarketContent, days: number): Header {
  return {
    format: FORMAT,
    dates: [...content.dates],
    identifiers: content.identifiers,
    tables: encodeTables(content),
    fields: [...content.fields.keys()],
    days,
  };
}

function encodeLength({ length }: Buffer): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(length);
  return bytes;
}

/** Decodes a content. Its panels are in shared memory. @throws Error if the bytes are not a content */
export function decodeContent(bytes: Uint8Array): MarketContent {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let offset = 0;
  const takePart = (): Buffer => {
    const from = offset + 4;
    offset = from + buffer.readUInt32LE(offset);
    return inflateRawSync(buffer.subarray(from, offset), { maxOutputLength: PART_BYTES_MAX });
  };
  // written by `encodeContent`
  const { dates, identifiers, tables, fields, days } = JSON.parse(takePart().toString('utf8')) as Header;
  const assets = identifiers.length;
  const readPanel = (): Float64Array => {
    const panel = new Float64Array(new SharedArrayBuffer(dates.length * assets * Float64Array.BYTES_PER_ELEMENT));
    if (days === undefined) new Uint8Array(panel.buffer).set(takePart());
    else
      for (let day = 0; day < dates.length; day += days)
        decodeCells(takePart(), assets, panel.subarray(day * assets, (day + days) * assets));
    return panel;
  };
  return {
    identifiers,
    dates: Int32Array.from(dates),
    fields: new Map(fields.map((name) => [name, readPanel()])),
    ...createTables(tables),
  };
}
