import { Buffer } from 'node:buffer';
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';
import { copyInParts } from '#kernels/memory/paged-memory.js';
import type { MarketContent } from '../content/market-content.js';
import { areIntegers, decodeCells, encodeCells } from './cell-codes.js';
import { createTables, encodeTables, type TableTexts } from './table-texts.js';

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
export interface CopyPiece {
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
