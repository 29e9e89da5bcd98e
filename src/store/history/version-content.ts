import { Buffer } from 'node:buffer';
import { promisify } from 'node:util';
import {
  deflateRaw as deflateRawCallback,
  deflateRawSync,
  inflateRawSync,
  type InputType,
  type ZlibOptions,
} from 'node:zlib';
import { lengthened, SHORT_BYTES_MAX, shortened } from './short-text.js';

const deflateRaw = promisify<InputType, ZlibOptions, Buffer>(deflateRawCallback);

/** Longest content that a version is read to: the longest document there is, many times over. */
const CONTENT_BYTES_MAX = 256 << 20;

/** A fast level: the second-fastest is smaller by less than a tenth on definitions. */
const LEVEL = 1;
/** Memory of the compressor, 2^(n + 6) bytes: clearing a larger one takes longer than deflating a definition. */
const MEMORY_LEVEL = 5;

/** Longest text that is deflated at once, in characters: half a millisecond. Longer ones are another thread's. */
const AT_ONCE_MAX = 32 * 1024;

/** Bytes of output that memory is taken for at a time: most versions are shorter, and taking more is half their cost. */
const CHUNK_BYTES = 2048;

/** Least and greatest window of the compressor, 2^n bytes. */
const [WINDOW_BITS_MIN, WINDOW_BITS_MAX] = [10, 15];

/**
 * Settings for a text of so many characters. A window that is longer than the text finds nothing more, and the memory
 * for it takes longer than deflating a definition.
 */
function settingsFor(length: number): ZlibOptions {
  const bits = Math.ceil(Math.log2(Math.max(1, length)));
  const windowBits = Math.min(Math.max(bits, WINDOW_BITS_MIN), WINDOW_BITS_MAX);
  return { level: LEVEL, memLevel: MEMORY_LEVEL, chunkSize: CHUNK_BYTES, windowBits };
}

/**
 * Longest text that is shortened, in characters. Deflating a definition of 100 names, of 1.1 KB, takes longer than all
 * else of its version: docs/decisions/versions.md.
 */
const SHORT_MAX = SHORT_BYTES_MAX / 4;

/** Begins what was shortened, with the dictionary of that module; nothing in base64 begins with it. */
const SHORT_START = '~';
/** Begins what is in base64 as it is, which homes of before have. */
const PLAIN_START = '=';
/** Begins JSON as it is, which homes of before have. */
const JSON_START = '{';

/**
 * JSON of a document as a version keeps it, in base64, which needs no escapes within JSON and in a statement: a short one
 * shortened, a longer one deflated.
 * @cost about 10 us for a definition of 1 KB, 25 us for one of 4 KB; of a long one that of another thread
 */
export async function packContent(text: string): Promise<string> {
  if (text.length <= SHORT_MAX) return SHORT_START + shortened(text).toString('base64');
  const settings = settingsFor(text.length);
  const bytes = text.length <= AT_ONCE_MAX ? deflateRawSync(text, settings) : await deflateRaw(text, settings);
  return bytes.toString('base64');
}

/** The text again; undefined when it cannot be. */
export function unpackContent(content: string): string | undefined {
  if (content.startsWith(SHORT_START)) return lengthened(Buffer.from(content.slice(1), 'base64'));
  if (content.startsWith(PLAIN_START)) return Buffer.from(content.slice(1), 'base64').toString('utf8');
  if (content.startsWith(JSON_START)) return content;
  try {
    return inflateRawSync(Buffer.from(content, 'base64'), { maxOutputLength: CONTENT_BYTES_MAX }).toString('utf8');
  } catch {
    return undefined; // Not what deflation leaves behind: damaged.
  }
}
