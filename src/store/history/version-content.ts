import { Buffer } from 'node:buffer';
import { promisify } from 'node:util';
import {
  deflateRaw as deflateRawCallback,
  deflateRawSync,
  inflateRawSync,
  type InputType,
  type ZlibOptions,
} from 'node:zlib';
import { restoreText, SHORT_BYTES_MAX, shorten } from './short-text.js';

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

/** First character of a text that is compressed with the dictionary of `short-text.ts`. Base64 never begins with it. */
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
