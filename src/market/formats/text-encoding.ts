import type { ENCODINGS } from '#domain/documents/mapping.js';

export type TextEncoding = (typeof ENCODINGS)[number];

/**
 * Yields the bytes of a text as UTF-8. A byte order mark takes precedence over the given encoding. If there is neither,
 * the bytes are passed through unchanged.
 * @cost none if the bytes are UTF-8
 */
export async function* convertToUtf8(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  encoding: TextEncoding | null,
): AsyncGenerator<Uint8Array> {
  let startBytes: Uint8Array = new Uint8Array(0);
  let decode: Decode | undefined;
  for await (const chunk of chunks) {
    const bytes: Uint8Array = startBytes.length > 0 ? Buffer.concat([startBytes, chunk]) : chunk;
    if (decode === undefined && bytes.length < MARK_BYTES) {
      startBytes = new Uint8Array(bytes);
      continue;
    }
    startBytes = new Uint8Array(0);
    decode ??= chooseDecoder(bytes, encoding);
    yield decode(bytes);
  }
  decode ??= chooseDecoder(startBytes, encoding);
  yield decode(startBytes);
  yield decode(undefined);
}

/**
 * Function that decodes the next bytes to UTF-8. For `undefined`, which marks the end, it returns the remaining bytes.
 */
type Decode = (bytes: Uint8Array | undefined) => Uint8Array;

/** Length of the longest byte order mark. */
const MARK_BYTES = 3;

const NO_BYTES = new Uint8Array(0);

function chooseDecoder([a, b, c]: Uint8Array, encoding: TextEncoding | null): Decode {
  if (a === 0xff && b === 0xfe) return createDecoder('utf-16le');
  if (a === 0xfe && b === 0xff) return createDecoder('utf-16be');
  const isUtf8 = encoding === null || encoding === 'utf-8' || (a === 0xef && b === 0xbb && c === 0xbf);
  if (isUtf8) return (bytes = NO_BYTES) => bytes;
  return encoding === 'windows-1252'
    ? (bytes = NO_BYTES) => Buffer.from(decodeWindows1252(bytes))
    : createDecoder(encoding);
}

function createDecoder(encoding: TextEncoding): Decode {
  const decoder = new TextDecoder(encoding);
  return (bytes) => Buffer.from(bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true }));
}

/** Characters of windows-1252 from 0x80, where Latin-1 has control characters; unassigned codes are unchanged. */
const WINDOWS_1252_CHARACTERS = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ';

/** Decodes windows-1252. The decoders of some versions of Node treat it as Latin-1. */
const decodeWindows1252 = (bytes: Uint8Array) =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    .toString('latin1')
    .replaceAll(/[\u0080-\u009f]/g, (letter) => WINDOWS_1252_CHARACTERS[letter.charCodeAt(0) - 0x80]!);
