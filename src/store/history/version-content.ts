import { Buffer } from 'node:buffer';
import { promisify } from 'node:util';
import {
  deflateRaw as deflateRawCallback,
  deflateRawSync,
  inflateRawSync,
  type InputType,
  type ZlibOptions,
} from 'node:zlib';

/**
 * Common parts of stored documents with their default values. The most frequent parts come last, nearest to the text.
 * Stored versions depend on this dictionary, so it must never change. A different dictionary needs a different mark in
 * `version-content.ts`.
 */
const DICTIONARY = [
  '{"template_id":"","name":"","blocks":[{"kind":"header","title":null,"index_id":"","width":"full","subtitle":"",',
  '"stamp":true},{"kind":"stat_grid","stats":["total_return","volatility","sharpe_ratio"],"columns":4,"values":null},',
  '{"kind":"chart","lines":["level","benchmark"],"log_scale":false,"rule":null,"height":180},{"kind":"table"}],',
  '"page":{"size":"A4","orientation":"portrait","margin":48}}',
  '{"watchlist_id":"","name":"","description":null,"identifiers":["AAPL","MSFT"],"updated_at":"2026-01-01T00:00:00.000',
  '000+00:00"}{"adjustment":"none","currency":null,"kind":"imported","mapping":null,"name":"","source":null,',
  '"store_id":"","synthetic":null,"tables":{}}{"id":"","name":"","constraints":[{"type":"PositionBounds","id":"pos",',
  '"params":{"lower":0,"upper":0.05}},{"type":"ActiveGroupBounds","id":"sec","params":{"field":"SECTOR","lower":-0.02,',
  '"upper":0.02}},{"type":"Turnover","id":"turn","params":{"limit":0.15,"priority":2,"reference":"index"}}]}',
  '"benchmark":null,"start":null,"end":null,"initial_capital":1000000,"transaction_cost_bps":5,"constraint_set_id":',
  'null,"rebalance":{"frequency":"annual","anchor":"last_session"},"drift_tolerance":0.002,"exposure":0.98}',
  '{"objective":{"type":"min_tracking_error"},"risk_model":null,"source_index_id":"","overlay":null,"kind":"overlay"',
  '{"type":"TopN","params":{"count":50,"field":"FREE_FLOAT_MARKET_CAP"}},{"type":"EqualWeight","params":{}}',
  '{"id":"","name":"","description":null,"calendar":"XNYS","base_date":"2020-01-02","base_value":100,"currency":"USD",',
  '"universe":{"kind":"all"},"universe":{"kind":"list","identifiers":["rebalance":{"frequency":"quarterly",',
  '"anchor":"third_friday","months":null,"weekday":null,"nth":null,"day":null,"roll":"following","effective_lag":0,',
  '"dates":[]},"pipeline":{"selection":[{"id":"liquid","type":"LiquidityFilter","params":{"minimum":5000000}},',
  '{"id":"size","type":"BufferedTopN","params":{"count":100,"field":"FREE_FLOAT_MARKET_CAP"}}],"selection":[],',
  '"treatment":{"dividends":"total","withholding_tax":0,"special_dividends":"reinvest","splits":"apply","delisting":',
  '"action_value","spin_offs":"zero_price","missing_prices":"carry","max_stale_sessions":5,"stale_targets":"carry"},',
  '"weighting":{"type":"EqualWeight","type":"MarketCapWeight","params":{"free_float":true},"params":{},"cap":0.1,',
  '"cap":null,"floor":null,"group_caps":[]}},"derivation":null,"tags":[]}',
].join('');

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
const SHORT_BYTES_MAX = 8192;
const MATCH_MIN = 4;
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
function shorten(text: string): Buffer {
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
function restoreText(bytes: Uint8Array): string | undefined {
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

const deflateRaw = promisify<InputType, ZlibOptions, Buffer>(deflateRawCallback);

/** Maximum size of restored content in bytes: many times the longest document. */
const CONTENT_BYTES_MAX = 256 << 20;

/** Compression level. It is the fastest one, because the second-fastest saves less than a tenth on definitions. */
const COMPRESSION_LEVEL = 1;
/**
 * Memory level n of the compressor, which allocates 2^(n + 9) bytes in addition to its window. It is low, because
 * clearing more memory takes longer than deflating a definition.
 */
const MEMORY_LEVEL = 5;

/**
 * Maximum length of a text that is deflated synchronously, in characters. Deflating it takes half a millisecond.
 * Another thread deflates longer texts.
 */
const SYNCHRONOUS_BYTES_MAX = 32 * 1024;

/**
 * Number of output bytes that are allocated at a time. Most versions are shorter; larger allocations would account for
 * half of their cost.
 */
const CHUNK_BYTES = 2048;

/** Minimum and maximum window of the compressor, as a power of two in bytes. */
const [WINDOW_BITS_MIN, WINDOW_BITS_MAX] = [10, 15];

/**
 * Returns the settings of the compressor for a text length. A window longer than the text finds no more matches, and
 * its allocation takes longer than deflating a definition.
 */
function chooseSettings(length: number): ZlibOptions {
  const bits = Math.ceil(Math.log2(Math.max(1, length)));
  const windowBits = Math.min(Math.max(bits, WINDOW_BITS_MIN), WINDOW_BITS_MAX);
  return { level: COMPRESSION_LEVEL, memLevel: MEMORY_LEVEL, chunkSize: CHUNK_BYTES, windowBits };
}

/**
 * Maximum length of a text that is compressed with the dictionary, in characters. Deflating a definition of 100
 * securities, 1.1 KB, takes longer than the rest of its version: docs/decisions/versions.md.
 */
const SHORT_MAX = SHORT_BYTES_MAX / 4;

/** First character of a text that is compressed with `DICTIONARY`. Base64 never begins with it. */
const SHORT_PREFIX = '~';
/** Mark of uncompressed base64, written by earlier releases. */
const UNCOMPRESSED_PREFIX = '=';
/** First character of plain JSON, written by earlier releases. */
const JSON_START = '{';

/**
 * Encodes the JSON of a document for a version in base64, which needs no escapes in JSON and SQL. A short text is
 * compressed with the dictionary, a longer one is deflated.
 * @cost about 10 us for a definition of 1 KB, 25 us for 4 KB; another thread encodes a long text
 */
export async function packContent(text: string): Promise<string> {
  if (text.length <= SHORT_MAX) return SHORT_PREFIX + shorten(text).toString('base64');
  const settings = chooseSettings(text.length);
  const bytes =
    text.length <= SYNCHRONOUS_BYTES_MAX ? deflateRawSync(text, settings) : await deflateRaw(text, settings);
  return bytes.toString('base64');
}

/** Restores the text of a version. Returns undefined if it is damaged. */
export function unpackContent(content: string): string | undefined {
  if (content.startsWith(SHORT_PREFIX)) return restoreText(Buffer.from(content.slice(1), 'base64'));
  if (content.startsWith(UNCOMPRESSED_PREFIX)) return Buffer.from(content.slice(1), 'base64').toString('utf8');
  if (content.startsWith(JSON_START)) return content;
  try {
    return inflateRawSync(Buffer.from(content, 'base64'), { maxOutputLength: CONTENT_BYTES_MAX }).toString('utf8');
  } catch {
    return undefined; // damaged, because it is not the output of deflation
  }
}
