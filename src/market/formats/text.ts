import type { ENCODINGS } from '#domain/definition/mapping.js';

/**
 * Minimum and maximum number of slots of a dictionary, powers of two. The dictionary starts small, because most files
 * are small, and grows. When three quarters of the maximum are used, further texts are not cached.
 */
const SLOTS_MIN = 1 << 8;
const SLOTS_MAX = 1 << 16;

/**
 * Returns a function that caches values by the bytes of their spelling. Each text is therefore decoded once. A spelling
 * without a value is looked up each time, because each occurrence gives a finding.
 */
export function createByteTexts(
  meaning: (bytes: Uint8Array, start: number, end: number) => number | undefined,
): (bytes: Uint8Array, start: number, end: number) => number | undefined {
  let slots = SLOTS_MIN;
  let spellings: (Uint8Array | undefined)[] = Array.from({ length: slots });
  let values = new Int32Array(slots);
  let filledSlots = 0;

  function grow(): void {
    const [before, numbers] = [spellings, values];
    slots *= 2;
    spellings = Array.from({ length: slots });
    values = new Int32Array(slots);
    before.forEach((spelling, i) => {
      if (spelling === undefined) return;
      let slot = findFirstSlot(spelling, 0, spelling.length, slots);
      while (spellings[slot] !== undefined) slot = (slot + 1) & (slots - 1);
      spellings[slot] = spelling;
      values[slot] = numbers[i]!;
    });
  }

  return (bytes, start, end) => {
    let slot = findFirstSlot(bytes, start, end, slots);
    for (;;) {
      const spelling = spellings[slot];
      if (spelling === undefined) break;
      if (spelling.length === end - start && hasBytesAt(spelling, bytes, start)) return values[slot];
      slot = (slot + 1) & (slots - 1);
    }
    const value = meaning(bytes, start, end);
    if (value !== undefined && filledSlots < slots * 0.75) {
      spellings[slot] = bytes.slice(start, end);
      values[slot] = value;
      filledSlots += 1;
      if (filledSlots >= slots * 0.75 && slots < SLOTS_MAX) grow();
    }
    return value;
  };
}

function findFirstSlot(bytes: Uint8Array, start: number, end: number, slots: number): number {
  let hash = 0x811c9dc5;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  return (hash ^ (hash >>> 16)) & (slots - 1);
}

function hasBytesAt(spelling: Uint8Array, bytes: Uint8Array, start: number): boolean {
  for (let i = 0; i < spelling.length; i++) if (spelling[i] !== bytes[start + i]) return false;
  return true;
}

/** Number of bytes in which the beginning of a file is recognised, after spaces and a byte order mark. */
export const HEAD_BYTES = 1024;

/** Beginnings of files that take the place of a table, with their descriptions. */
const FOREIGN_TEXTS: readonly (readonly [beginning: RegExp, message: string])[] = [
  [
    /^version https:\/\/git-lfs\.github\.com\/spec\//,
    'The file is a pointer of Git LFS, not the data itself; git lfs pull fetches the data.',
  ],
  [
    /^(\.\.\/)*(\.git)?\/?annex\/objects\//,
    'The file is a pointer of git-annex, not the data itself; git annex get fetches the data.',
  ],
  [
    /^(<\?xml[^>]*>\s*)?(<!--[^]*?-->\s*)*<(!doctype\s+html|html|head|body|title|script|meta|table|div|p|h1|center)\b(?!>[,;\t|])/i,
    'The file is a web page (HTML), not a table; a download probably returned an error page or a sign-in page.',
  ],
  [
    /^<(\?xml|[A-Za-z][^<>,;|\t]*>\s*<)/,
    'The file is an XML document, not a table; CSV, JSON lines, Parquet and xlsx files are read.',
  ],
];

/** A CSV file that begins like a JSON document, such as the error of a web service. */
const JSON_TEXT = /^(\{\s*("|\})|\[\s*[[{])/;

/** Returns a message if bytes are the beginning of something that takes the place of a table. */
export function describeForeignText(bytes: Uint8Array, format: 'csv' | 'other' = 'other'): string | undefined {
  const text = new TextDecoder().decode(bytes.subarray(0, HEAD_BYTES)).trimStart();
  const message = FOREIGN_TEXTS.find(([beginning]) => beginning.test(text))?.[1];
  if (message !== undefined || format !== 'csv' || !JSON_TEXT.test(text)) return message;
  return 'The file is a JSON document, not a table; JSON is read as lines with one object each (.jsonl).';
}

/** Yields the bytes of a CSV file unchanged. @throws the error that `fault` creates for a text of another kind */
export async function* refuseForeignText(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  fault: (message: string) => Error,
): AsyncGenerator<Uint8Array> {
  let isFirst = true;
  for await (const chunk of chunks) {
    const message = isFirst ? describeForeignText(chunk, 'csv') : undefined;
    if (message !== undefined) throw fault(message);
    isFirst = false;
    yield chunk;
  }
}

/**
 * Characters that start a formula in a spreadsheet, including full-width forms.
 * @source OWASP ASVS 1.2.10
 */
const FORMULA_STARTS: ReadonlySet<string> = new Set([
  '=',
  '+',
  '-',
  '@',
  '\t',
  '\r',
  '\0',
  '\uff0b',
  '\uff0d',
  '\uff1d',
  '\uff20',
]);

/** Returns a text for a sheet, with a leading apostrophe if a spreadsheet would read it as a formula. */
export function protectText(text: string): string {
  return FORMULA_STARTS.has(text[0] ?? '') ? `'${text}` : text;
}

/** Returns the original text of `protectText`. */
export function removeProtection(text: string): string {
  return text[0] === "'" && FORMULA_STARTS.has(text[1] ?? '') ? text.slice(1) : text;
}

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
