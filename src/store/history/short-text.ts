import { Buffer } from 'node:buffer';
import { DICTIONARY } from './short-text-dictionary.js';

/**
 * Compression of short texts with a dictionary. The format is LZ77 in sequences like LZ4, each `token | literals |
 * distance`. The upper half of a token is the number of literal bytes, and the lower half is the length of the match
 * less `MATCH_MIN`. A half of 15 is followed by the remainder as a number of variable length. The distance has the same
 * format. The last sequence has no match. Deflating a definition takes three to five times as long, mostly for the
 * setup of the compressor.
 */

/**
 * Maximum length of a text in bytes. It is four times the maximum number of characters of a compressed text, and UTF-8
 * needs at most three bytes per character.
 */
export const SHORT_BYTES_MAX = 8192;
const MATCH_MIN = 4;
/** Maximum number in a half of a token. */
const HALF_MAX = 15;

const dictionary = Buffer.from(DICTIONARY, 'latin1');
const TEXT_START = dictionary.length;
/** Dictionary followed by the text. A match may therefore begin in the dictionary and end in the text. */
const window = Buffer.alloc(TEXT_START + SHORT_BYTES_MAX);
dictionary.copy(window);
/** Output buffer. Compression adds at most a token and a length per 15 literals. */
const output = Buffer.alloc(2 * SHORT_BYTES_MAX);

const HASH_BITS = 11;
/** Last position of four bytes in the dictionary by their hash, plus one. It is 0 if there is none. */
const lastPositions = new Uint16Array(1 << HASH_BITS);
for (let offset = 0; offset + MATCH_MIN <= TEXT_START; offset++) lastPositions[hashFour(offset)] = offset + 1;
const positions = new Uint16Array(lastPositions.length);

function hashFour(offset: number): number {
  const fourBytes =
    window[offset]! | (window[offset + 1]! << 8) | (window[offset + 2]! << 16) | (window[offset + 3]! << 24);
  return Math.imul(fourBytes, 0x9e3779b1) >>> (32 - HASH_BITS);
}

/**
 * Compresses a text to bytes, which the next call overwrites.
 * @param text of at most `SHORT_BYTES_MAX` bytes
 * @cost about 10 us per kilobyte
 */
export function shorten(text: string): Buffer {
  const end = TEXT_START + window.write(text, TEXT_START, 'utf8');
  positions.set(lastPositions);
  let writtenLength = 0;
  let literalStart = TEXT_START;
  for (let offset = TEXT_START; offset + MATCH_MIN <= end;) {
    const slot = hashFour(offset);
    const from = positions[slot]! - 1;
    positions[slot] = offset + 1;
    const length = from < 0 ? 0 : measureMatch(from, offset, end);
    if (length < MATCH_MIN) {
      offset++;
      continue;
    }
    writtenLength = writeSequence(writtenLength, {
      literal: literalStart,
      at: offset,
      length,
      distance: offset - from,
    });
    offset += length;
    literalStart = offset;
  }
  writtenLength = writeSequence(writtenLength, { literal: literalStart, at: end, length: 0, distance: 0 });
  return output.subarray(0, writtenLength);
}

function measureMatch(from: number, offset: number, end: number): number {
  let length = 0;
  while (offset + length < end && window[from + length] === window[offset + length]) length++;
  return length;
}

interface Sequence {
  /** Start of the literal bytes, which end at `at`. */
  readonly literal: number;
  readonly at: number;
  /** Length of the match; 0 in the last sequence. */
  readonly length: number;
  readonly distance: number;
}

function writeSequence(to: number, { literal, at, length, distance }: Sequence): number {
  const count = at - literal;
  const matchExcess = length === 0 ? 0 : length - MATCH_MIN;
  let next = to;
  output[next++] = (Math.min(count, HALF_MAX) << 4) | Math.min(matchExcess, HALF_MAX);
  if (count >= HALF_MAX) next = writeNumber(next, count - HALF_MAX);
  for (let i = literal; i < at; i++) output[next++] = window[i]!;
  if (length === 0) return next;
  if (matchExcess >= HALF_MAX) next = writeNumber(next, matchExcess - HALF_MAX);
  return writeNumber(next, distance);
}

/** Writes a number in seven bits per byte, the lowest bits first; every byte except the last has its eighth bit set. */
function writeNumber(to: number, value: number): number {
  let [next, left] = [to, value];
  for (; left > 127; left >>>= 7) output[next++] = (left & 127) | 128;
  output[next++] = left;
  return next;
}

/** Restores a text; undefined for invalid bytes. */
export function restoreText(bytes: Uint8Array): string | undefined {
  let [offset, to] = [0, TEXT_START];
  const readNumber = (): number => {
    let value = 0;
    for (let shift = 0; shift < 21; shift += 7) {
      const byte = bytes[offset++] ?? 0;
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
    return Infinity;
  };
  while (offset < bytes.length) {
    const token = bytes[offset++]!;
    const count = token >> 4 === HALF_MAX ? HALF_MAX + readNumber() : token >> 4;
    if (offset + count > bytes.length || to + count > window.length) return undefined;
    for (let i = 0; i < count; i++) window[to++] = bytes[offset++]!;
    if (offset === bytes.length) return window.toString('utf8', TEXT_START, to);
    const lengthHalf = token & HALF_MAX;
    const length = MATCH_MIN + (lengthHalf === HALF_MAX ? HALF_MAX + readNumber() : lengthHalf);
    const distance = readNumber();
    if (distance === 0 || distance > to || to + length > window.length) return undefined;
    for (let i = 0; i < length; i++, to++) window[to] = window[to - distance]!;
  }
  return undefined; // the last sequence is missing
}
