import { LIMITS } from '../refusals/limits.js';

/** Reason and position of a fault in a text that must not be parsed. */
export interface JsonFault {
  /** Reason as a clause, for example `the key "name" is given twice in one object`. */
  readonly reason: string;
  /** Offset in UTF-16 code units. */
  readonly offset: number;
}

export interface JsonScan {
  readonly fault: JsonFault | undefined;
  /** True if a number in the text exceeds the range of a double and is parsed as infinite. */
  readonly overflows: boolean;
}

/** Maximum number of keys in an object. More keys are an attack on the hash table, not a document. */
const KEYS_MAX = 20_000;

/** Maximum number of keys that are compared individually, which is cheaper than a set. */
const KEYS_LISTED = 8;

/** Number of digits of an integer that is certainly within the range of a double. */
const DIGITS_SAFE = 308;

/**
 * Scans a JSON text by the grammar of RFC 8259, and detects faults that `JSON.parse` ignores: too deep nesting,
 * duplicate keys in one object (after unescaping) and the key `__proto__`. Texts that pass this scan are accepted by
 * `JSON.parse`.
 * @cost one pass over the text; memory for the keys of open objects.
 */
export function scanJson(text: string, depthMax: number = LIMITS.MAX_JSON_DEPTH): JsonScan {
  let at = 0;
  let overflows = false;

  try {
    scanValue(0);
    skipSpace();
    if (at < text.length) throw new Fault('something follows the end of the value', at);
    return { fault: undefined, overflows };
  } catch (failure) {
    if (failure instanceof Fault) return { fault: { reason: failure.message, offset: failure.offset }, overflows };
    throw failure;
  }

  function scanValue(depth: number): void {
    skipSpace();
    switch (text.charCodeAt(at)) {
      case BRACE_OPEN:
        return scanObject(depth + 1);
      case BRACKET_OPEN:
        return scanArray(depth + 1);
      case QUOTE:
        at = findStringEnd(text, at);
        return;
      case 0x74:
        return scanWord('true');
      case 0x66:
        return scanWord('false');
      case 0x6e:
        return scanWord('null');
      default:
        return scanNumber();
    }
  }

  function scanObject(depth: number): void {
    open(depth);
    if (skipBracket(BRACE_CLOSE)) return;
    const list: string[] = [];
    let set: Set<string> | undefined;
    for (let count = 1; ; count++) {
      skipSpace();
      const keyAt = at;
      if (text.charCodeAt(at) !== QUOTE) throw createFault(text, at, 'a key in quotes');
      at = findStringEnd(text, keyAt);
      const key = unescapeString(text, keyAt, at);
      if (key === '__proto__') throw new Fault('the key "__proto__" is not accepted', keyAt);
      if (count > KEYS_MAX) throw new Fault(`an object has more than ${KEYS_MAX} keys`, keyAt);
      if (count > KEYS_LISTED) set ??= new Set(list);
      if (set === undefined ? list.includes(key) : set.has(key))
        throw new Fault(`the key ${quote(key)} occurs twice in one object`, keyAt);
      if (set === undefined) list.push(key);
      else set.add(key);
      skipSpace();
      if (text.charCodeAt(at) !== COLON) throw createFault(text, at, 'a colon');
      at++;
      scanValue(depth);
      if (skipBracket(BRACE_CLOSE)) return;
      scanSeparator('a comma or }');
    }
  }

  function scanArray(depth: number): void {
    open(depth);
    if (skipBracket(BRACKET_CLOSE)) return;
    for (;;) {
      scanValue(depth);
      if (skipBracket(BRACKET_CLOSE)) return;
      scanSeparator('a comma or ]');
    }
  }

  function open(depth: number): void {
    if (depth > depthMax) throw new Fault(`the body is nested more than ${depthMax} levels deep`, at);
    at++;
  }

  function skipBracket(bracket: number): boolean {
    skipSpace();
    if (text.charCodeAt(at) !== bracket) return false;
    at++;
    return true;
  }

  function scanSeparator(wanted: string): void {
    if (text.charCodeAt(at) !== COMMA) throw createFault(text, at, wanted);
    at++;
  }

  function scanNumber(): void {
    const { end, mayOverflow } = findNumberEnd(text, at);
    if (mayOverflow && !Number.isFinite(Number(text.slice(at, end)))) overflows = true;
    at = end;
  }

  function scanWord(expected: string): void {
    if (!text.startsWith(expected, at)) throw createFault(text, at, 'a value');
    at += expected.length;
  }

  function skipSpace(): void {
    for (;;) {
      const code = text.charCodeAt(at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      at++;
    }
  }
}

/** Returns the text between two quotes after decoding escapes. */
function unescapeString(text: string, start: number, end: number): string {
  const inner = text.slice(start + 1, end - 1);
  return inner.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : inner;
}

/** Returns the position after a string. @param start position of its opening quote */
function findStringEnd(text: string, start: number): number {
  for (let at = start + 1; ; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code === BACKSLASH) {
      at++;
      if (text.charCodeAt(at) === 0x75) at = findHexEnd(text, at);
      else if (!ESCAPE_CHARACTERS.has(text.charCodeAt(at))) throw createFault(text, at, 'an escape JSON knows');
    } else if (!(code >= 0x20)) {
      throw at >= text.length
        ? createFault(text, at, 'the end of a string')
        : new Fault('a control character is in a string', at);
    }
  }
}

/** Returns the position of the last of four hexadecimal digits. @param start position of the letter before them */
function findHexEnd(text: string, start: number): number {
  for (let at = start + 1; at <= start + 4; at++)
    if (!isHex(text.charCodeAt(at))) throw createFault(text, at, 'a hexadecimal digit');
  return start + 4;
}

/** Returns the position after a number, and true if the number may exceed the range of a double. */
function findNumberEnd(text: string, start: number): { readonly end: number; readonly mayOverflow: boolean } {
  let at = start;
  if (text.charCodeAt(at) === MINUS) at++;
  if (text.charCodeAt(at) === ZERO) at++;
  else at = findDigitsEnd(text, at, at === start ? 'a value' : 'a digit');
  let mayOverflow = at - start > DIGITS_SAFE;
  if (text.charCodeAt(at) === DOT) at = findDigitsEnd(text, at + 1, 'a digit');
  const exponent = text.charCodeAt(at);
  if (exponent === 0x65 || exponent === 0x45) {
    mayOverflow = true;
    at++;
    const sign = text.charCodeAt(at);
    if (sign === PLUS || sign === MINUS) at++;
    at = findDigitsEnd(text, at, 'a digit');
  }
  return { end: at, mayOverflow };
}

function findDigitsEnd(text: string, start: number, wanted: string): number {
  let at = start;
  while (isDigit(text.charCodeAt(at))) at++;
  if (at === start) throw createFault(text, at, wanted);
  return at;
}

function createFault(text: string, at: number, wanted: string): Fault {
  const result =
    at < text.length ? `${quote(String.fromCodePoint(text.codePointAt(at) ?? 0))} stands` : 'the body ends';
  return new Fault(`${result} where ${wanted} is expected`, at);
}

class Fault extends Error {
  readonly offset: number;
  constructor(reason: string, offset: number) {
    super(reason);
    this.offset = offset;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const BRACE_OPEN = 0x7b;
const BRACE_CLOSE = 0x7d;
const BRACKET_OPEN = 0x5b;
const BRACKET_CLOSE = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;
const MINUS = 0x2d;
const PLUS = 0x2b;
const DOT = 0x2e;
const ZERO = 0x30;
/** Characters other than `u` that may follow a backslash: " \ / b f n r t */
const ESCAPE_CHARACTERS = new Set([QUOTE, BACKSLASH, 0x2f, 0x62, 0x66, 0x6e, 0x72, 0x74]);

const isDigit = (code: number) => code >= ZERO && code <= 0x39;
const isHex = (code: number) => isDigit(code) || (code >= 0x41 && code <= 0x46) || (code >= 0x61 && code <= 0x66);
const quote = (text: string) => JSON.stringify(text.length <= 64 ? text : `${text.slice(0, 61)}...`);
