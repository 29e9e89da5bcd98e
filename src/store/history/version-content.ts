import { Buffer } from 'node:buffer';
import { promisify } from 'node:util';
import {
  deflateRaw as deflateRawCallback,
  deflateRawSync,
  inflateRawSync,
  type InputType,
  type ZlibOptions,
} from 'node:zlib';

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

const SETTINGS = { level: LEVEL, memLevel: MEMORY_LEVEL, chunkSize: CHUNK_BYTES };

/** A text deflated, in base64. @cost about 20 us for a definition of 2 KB; of a long one that of another thread */
export async function deflateContent(text: string): Promise<string> {
  const bytes = text.length <= AT_ONCE_MAX ? deflateRawSync(text, SETTINGS) : await deflateRaw(text, SETTINGS);
  return bytes.toString('base64');
}

/** The text again; undefined when it cannot be. */
export function inflateContent(content: string): string | undefined {
  try {
    return inflateRawSync(Buffer.from(content, 'base64'), { maxOutputLength: CONTENT_BYTES_MAX }).toString('utf8');
  } catch {
    return undefined; // Not what deflation leaves behind: damaged.
  }
}
