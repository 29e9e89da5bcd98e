import { LIMITS } from '../refusals/limits.js';

/** Reason and position of the refusal of a text before it is parsed. */
export interface JsonFault {
  /** One clause: `the key "name" is given twice in one object`. */
  readonly reason: string;
  /** Offset in UTF-16 units. */
  readonly offset: number;
}

export interface JsonScan {
  readonly fault: JsonFault | undefined;
  /** True if a number of the text exceeds the range of a double: parsing makes it infinite. */
  readonly overflows: boolean;
}

/** Maximum number of keys of one object. More keys are an attack on the hash table, not a document. */
const KEYS_MAX = 20_000;

/** Number of keys up to which they are compared individually, which is cheaper than a set. */
const KEYS_LISTED = 8;

/** Number of digits of an integer that a double can always hold. */
const DIGITS_SAFE = 308;

/**
 * Scans a JSON text by the grammar of RFC 8259, and finds problems that `JSON.parse` ignores: too deep nesting,
 * duplicate keys in one object (after unescaping) and the key `__proto__`. Texts that pass this scan are accepted by
 * `JSON.parse`.
 * @cost one pass over the text; memory for the keys of open objects.
 */
export function scanJson(text: string, depthMax: number = LIMITS.MAX_JSON_DEPTH): JsonScan {
  let at = 0;
  let overflows = false;

  try {
    value(0);
    skipSpace();
    if (at < text.length) throw new Fault('something follows the end of the value', at);
    return { fault: undefined, overflows };
  } catch (failure) {
    if (failure instanceof Fault) return { fault: { reason: failure.message, offset: failure.offset }, overflows };
    throw failure;
  }

  function value(depth: number): void {
    skipSpace();
    switch (text.charCodeAt(at)) {
      case BRACE_OPEN:
        return object(depth + 1);
      case BRACKET_OPEN:
        return array(depth + 1);
      case QUOTE:
        return void string();
      case 0x74:
        return word('true');
      case 0x66:
        return word('false');
      case 0x6e:
        return word('null');
      default:
        return number();
    }
  }

  function object(depth: number): void {
    open(depth);
    if (closes(BRACE_CLOSE)) return;
    const list: string[] = [];
    let set: Set<string> | undefined;
    for (let count = 1; ; count++) {
      skipSpace();
      const keyAt = at;
      if (text.charCodeAt(at) !== QUOTE) throw unexpected('a key in quotes');
      const key = string();
      if (key === '__proto__') throw new Fault('the key "__proto__" is not accepted', keyAt);
      if (count > KEYS_MAX) throw new Fault(`an object has more than ${KEYS_MAX} keys`, keyAt);
      if (count > KEYS_LISTED) set ??= new Set(list);
      if (set === undefined ? list.includes(key) : set.has(key))
        throw new Fault(`the key ${quote(key)} is given twice in one object`, keyAt);
      if (set === undefined) list.push(key);
      else set.add(key);
      skipSpace();
      if (text.charCodeAt(at) !== COLON) throw unexpected('a colon');
      at++;
      value(depth);
      if (closes(BRACE_CLOSE)) return;
      separator('a comma or }');
    }
  }

  function array(depth: number): void {
    open(depth);
    if (closes(BRACKET_CLOSE)) return;
    for (;;) {
      value(depth);
      if (closes(BRACKET_CLOSE)) return;
      separator('a comma or ]');
    }
  }

  function open(depth: number): void {
    if (depth > depthMax) throw new Fault(`the body is nested more than ${depthMax} levels deep`, at);
    at++;
  }

  function closes(bracket: number): boolean {
    skipSpace();
    if (text.charCodeAt(at) !== bracket) return false;
    at++;
    return true;
  }

  function separator(wanted: string): void {
    if (text.charCodeAt(at) !== COMMA) throw unexpected(wanted);
    at++;
  }

  /** Skips a string and returns it unescaped. */
  function string(): string {
    const start = at;
    let escaped = false;
    for (at++; ; at++) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) break;
      if (code === BACKSLASH) {
        escaped = true;
        at++;
        if (text.charCodeAt(at) === 0x75) hexDigits();
        else if (!ESCAPABLE.has(text.charCodeAt(at))) throw unexpected('an escape JSON knows');
      } else if (!(code >= 0x20)) {
        throw at >= text.length
          ? unexpected('the end of a string')
          : new Fault('a control character is in a string', at);
      }
    }
    at++;
    return escaped ? (JSON.parse(text.slice(start, at)) as string) : text.slice(start + 1, at - 1);
  }

  function hexDigits(): void {
    for (let i = 0; i < 4; i++) {
      at++;
      if (!isHex(text.charCodeAt(at))) throw unexpected('a hexadecimal digit');
    }
  }

  function number(): void {
    const start = at;
    if (text.charCodeAt(at) === MINUS) at++;
    if (text.charCodeAt(at) === ZERO) at++;
    else digits(at === start ? 'a value' : 'a digit');
    let checked = at - start > DIGITS_SAFE;
    if (text.charCodeAt(at) === DOT) {
      at++;
      digits('a digit');
    }
    const exponent = text.charCodeAt(at);
    if (exponent === 0x65 || exponent === 0x45) {
      checked = true;
      at++;
      const sign = text.charCodeAt(at);
      if (sign === PLUS || sign === MINUS) at++;
      digits('a digit');
    }
    if (checked && !Number.isFinite(Number(text.slice(start, at)))) overflows = true;
  }

  function digits(wanted: string): void {
    const start = at;
    while (isDigit(text.charCodeAt(at))) at++;
    if (at === start) throw unexpected(wanted);
  }

  function word(expected: string): void {
    if (!text.startsWith(expected, at)) throw unexpected('a value');
    at += expected.length;
  }

  function skipSpace(): void {
    for (;;) {
      const code = text.charCodeAt(at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      at++;
    }
  }

  function unexpected(wanted: string): Fault {
    const result =
      at < text.length ? `${quote(String.fromCodePoint(text.codePointAt(at) ?? 0))} stands` : 'the body ends';
    return new Fault(`${result} where ${wanted} is expected`, at);
  }
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
/** Characters that may follow a backslash, other than `u`: " \ / b f n r t */
const ESCAPABLE = new Set([QUOTE, BACKSLASH, 0x2f, 0x62, 0x66, 0x6e, 0x72, 0x74]);

const isDigit = (code: number) => code >= ZERO && code <= 0x39;
const isHex = (code: number) => isDigit(code) || (code >= 0x41 && code <= 0x46) || (code >= 0x61 && code <= 0x66);
const quote = (text: string) => JSON.stringify(text.length <= 64 ? text : `${text.slice(0, 61)}...`);
