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

/** Maximum size of restored content: many times the longest document. */
const CONTENT_BYTES_MAX = 256 << 20;

/** Compression level: a fast one, because the second-fastest saves less than a tenth on definitions. */
const LEVEL = 1;
/** Memory of the compressor, 2^(n + 6) bytes: clearing more takes longer than deflating a definition. */
const MEMORY_LEVEL = 5;

/**
 * Maximum text that is deflated synchronously, in characters: half a millisecond. Another thread deflates longer ones.
 */
const AT_ONCE_MAX = 32 * 1024;

/** Bytes of output allocated at a time: most versions are shorter, and larger allocations are half their cost. */
const CHUNK_BYTES = 2048;

/** Minimum and maximum window of the compressor, 2^n bytes. */
const [WINDOW_BITS_MIN, WINDOW_BITS_MAX] = [10, 15];

/**
 * Returns the settings for a text length. A window longer than the text finds no more matches, and its allocation
 * takes longer than deflating a definition.
 */
function settingsFor(length: number): ZlibOptions {
  const bits = Math.ceil(Math.log2(Math.max(1, length)));
  const windowBits = Math.min(Math.max(bits, WINDOW_BITS_MIN), WINDOW_BITS_MAX);
  return { level: LEVEL, memLevel: MEMORY_LEVEL, chunkSize: CHUNK_BYTES, windowBits };
}

/**
 * Maximum text that is shortened, in characters. Deflating a definition of 100 securities, 1.1 KB, takes longer than
 * the rest of its version: docs/decisions/versions.md.
 */
const SHORT_MAX = SHORT_BYTES_MAX / 4;

/** Mark of text that was shortened with the dictionary of that module; no base64 begins with it. */
const SHORT_START = '~';
/** Mark of uncompressed base64, in homes of earlier versions. */
const PLAIN_START = '=';
/** First character of plain JSON, in homes of earlier versions. */
const JSON_START = '{';

/**
 * Packs the JSON of a document for a version, in base64, which needs no escapes in JSON and in a statement: a short
 * text shortened, a longer one deflated.
 * @cost about 10 us for a definition of 1 KB, 25 us for one of 4 KB; another thread packs a long one
 */
export async function packContent(text: string): Promise<string> {
  if (text.length <= SHORT_MAX) return SHORT_START + shorten(text).toString('base64');
  const settings = settingsFor(text.length);
  const bytes = text.length <= AT_ONCE_MAX ? deflateRawSync(text, settings) : await deflateRaw(text, settings);
  return bytes.toString('base64');
}

/** Restores the text; undefined if it is damaged. */
export function unpackContent(content: string): string | undefined {
  if (content.startsWith(SHORT_START)) return restoreText(Buffer.from(content.slice(1), 'base64'));
  if (content.startsWith(PLAIN_START)) return Buffer.from(content.slice(1), 'base64').toString('utf8');
  if (content.startsWith(JSON_START)) return content;
  try {
    return inflateRawSync(Buffer.from(content, 'base64'), { maxOutputLength: CONTENT_BYTES_MAX }).toString('utf8');
  } catch {
    return undefined; // damaged, because deflation did not produce it
  }
}
