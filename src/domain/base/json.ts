import { compareText } from './findings.js';
import { LIMITS } from './limits.js';
import { Refusal } from './refusals.js';

/** Difference between two JSON values: an operation of RFC 6902 with the previous value. */
export interface DocumentChange {
  /** JSON pointer (RFC 6901) into the value after all preceding changes. */
  readonly path: string;
  readonly op: 'add' | 'remove' | 'replace';
  /** Value before the change; null for an addition. */
  readonly before: unknown;
  /** Value after the change; null for a removal. */
  readonly after: unknown;
}

/**
 * Computes the changes from one JSON value to another. Applied in order, they turn `before` into `after`. Members of
 * objects are compared by name, in code-point order. Of two lists, the common beginning and end are skipped, and the
 * elements between them are compared by position.
 */
export function listChanges(before: unknown, after: unknown): DocumentChange[] {
  const changes: DocumentChange[] = [];
  compareValues(before, after, '', changes);
  return changes;
}

function compareValues(before: unknown, after: unknown, path: string, changes: DocumentChange[]): void {
  if (isSame(before, after)) return;
  if (Array.isArray(before) && Array.isArray(after)) compareLists(before, after, path, changes);
  else if (isObject(before) && isObject(after)) compareObjects(before, after, path, changes);
  else changes.push({ path, op: 'replace', before, after });
}

type Json = Readonly<Record<string, unknown>>;

function compareObjects(before: Json, after: Json, path: string, changes: DocumentChange[]): void {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted();
  for (const name of names) {
    const memberPath = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (!Object.hasOwn(after, name))
      changes.push({ path: memberPath, op: 'remove', before: before[name], after: null });
    else if (!Object.hasOwn(before, name))
      changes.push({ path: memberPath, op: 'add', before: null, after: after[name] });
    else compareValues(before[name], after[name], memberPath, changes);
  }
}

function compareLists(
  before: readonly unknown[],
  after: readonly unknown[],
  path: string,
  changes: DocumentChange[],
): void {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && isSame(before[start], after[start])) start++;
  let tail = 0;
  while (tail < shorter - start && isSame(before.at(-1 - tail), after.at(-1 - tail))) tail++;
  const pairCount = shorter - start - tail;
  for (let i = start; i < start + pairCount; i++) compareValues(before[i], after[i], `${path}/${i}`, changes);
  for (let i = before.length - tail - 1; i >= start + pairCount; i--)
    changes.push({ path: `${path}/${i}`, op: 'remove', before: before[i], after: null });
  for (let i = start + pairCount; i < after.length - tail; i++)
    changes.push({ path: `${path}/${i}`, op: 'add', before: null, after: after[i] });
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => isSame(item, b[i]));
  if (!isObject(a) || !isObject(b)) return false;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && isSame(a[name], b[name]))
  );
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Returns JSON with keys in code-point order and without white space, so that equal documents have equal bytes.
 * Negative zero is written as 0.
 * @cost cost of JSON.stringify if the keys are in order, otherwise twice as much
 * @throws Refusal NUMERIC_FAILURE for a number that is not finite
 */
export function toCanonicalJson(value: unknown): string {
  return isCanonical(value) ? JSON.stringify(value) : printValue(value);
}

/** Returns true if the result of `JSON.stringify` is canonical. @cost ends at the first object with unordered keys */
function isCanonical(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true;
  if (typeof value !== 'object' || 'toJSON' in value) return false;
  if (Array.isArray(value)) return value.every(isCanonical);
  const keys = Object.keys(value);
  if (!isOrdered(keys)) return false;
  const members = value as Readonly<Record<string, unknown>>; // the value is not an array
  return keys.every((key) => members[key] === undefined || isCanonical(members[key]));
}

function printValue(value: unknown): string {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return JSON.stringify(value);
    case 'number':
      if (!Number.isFinite(value)) throw new Refusal('NUMERIC_FAILURE', `A result is not a JSON number: ${value}.`);
      return JSON.stringify(value);
    case 'object':
      if (value === null) return 'null';
      return Array.isArray(value) ? printArray(value) : printObject(value as Readonly<Record<string, unknown>>); // the value is not an array
    default:
      throw new Error(`not a JSON value: ${typeof value}`);
  }
}

function printArray(items: readonly unknown[]): string {
  if (items.every((item) => typeof item === 'string')) return JSON.stringify(items);
  let text = '';
  for (const item of items) text += `${text === '' ? '[' : ','}${printValue(item ?? null)}`;
  return `${text}]`;
}

function printObject(members: Readonly<Record<string, unknown>>): string {
  const keys = Object.keys(members);
  if (!isOrdered(keys)) keys.sort(compareText);
  let text = '';
  for (const key of keys) {
    const member = members[key];
    if (member !== undefined) text += `${text === '' ? '{' : ','}${JSON.stringify(key)}:${printValue(member)}`;
  }
  return text === '' ? '{}' : `${text}}`;
}

function isOrdered(keys: readonly string[]): boolean {
  for (let i = 1; i < keys.length; i++) if (compareText(keys[i - 1]!, keys[i]!) > 0) return false;
  return true;
}

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
  /** Number of texts, numbers, words, lists and objects, without keys. */
  readonly values: number;
}

/** Maximum number of keys in an object. An object with more keys is an attack on the hash table, not a document. */
const KEYS_MAX = 20_000;

/** Maximum number of keys that are compared one by one. For so few keys this is cheaper than a set. */
const KEYS_LISTED = 8;

/** Maximum number of digits of an integer that is certainly within the range of a double. */
const SAFE_DIGITS_MAX = 308;

/**
 * Scans a JSON text by the grammar of RFC 8259. Detects faults that `JSON.parse` ignores: nesting that is too deep,
 * duplicate keys in one object (after unescaping) and the key `__proto__`. `JSON.parse` accepts every text that passes
 * this scan.
 * @cost one pass over the text; memory for the keys of open objects.
 */
export function scanJson(
  text: string,
  depthMax: number = LIMITS.MAX_JSON_DEPTH,
  valuesMax: number = Number.POSITIVE_INFINITY,
): JsonScan {
  let position = 0;
  let values = 0;
  let hasOverflow = false;

  try {
    scanValue(0);
    skipSpace();
    if (position < text.length) throw new Fault('something follows the end of the value', position);
    return { fault: undefined, overflows: hasOverflow, values };
  } catch (failure) {
    if (failure instanceof Fault)
      return { fault: { reason: failure.message, offset: failure.offset }, overflows: hasOverflow, values };
    throw failure;
  }

  function scanValue(depth: number): void {
    skipSpace();
    if (++values > valuesMax) throw new Fault(`the body has more than ${valuesMax} values`, position);
    switch (text.charCodeAt(position)) {
      case BRACE_OPEN:
        return scanObject(depth + 1);
      case BRACKET_OPEN:
        return scanArray(depth + 1);
      case QUOTE:
        position = findStringEnd(text, position);
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
    openContainer(depth);
    if (skipBracket(BRACE_CLOSE)) return;
    const list: string[] = [];
    let knownTexts: Set<string> | undefined;
    for (let count = 1; ; count++) {
      skipSpace();
      const keyPosition = position;
      if (text.charCodeAt(position) !== QUOTE) throw createFault(text, position, 'a key in quotes');
      position = findStringEnd(text, keyPosition);
      const key = unescapeString(text, keyPosition, position);
      if (key === '__proto__') throw new Fault('the key "__proto__" is not accepted', keyPosition);
      if (count > KEYS_MAX) throw new Fault(`an object has more than ${KEYS_MAX} keys`, keyPosition);
      if (count > KEYS_LISTED) knownTexts ??= new Set(list);
      if (knownTexts === undefined ? list.includes(key) : knownTexts.has(key))
        throw new Fault(`the key ${quoteText(key)} occurs twice in one object`, keyPosition);
      if (knownTexts === undefined) list.push(key);
      else knownTexts.add(key);
      skipSpace();
      if (text.charCodeAt(position) !== COLON) throw createFault(text, position, 'a colon');
      position++;
      scanValue(depth);
      if (skipBracket(BRACE_CLOSE)) return;
      scanSeparator('a comma or }');
    }
  }

  function scanArray(depth: number): void {
    openContainer(depth);
    if (skipBracket(BRACKET_CLOSE)) return;
    for (;;) {
      scanValue(depth);
      if (skipBracket(BRACKET_CLOSE)) return;
      scanSeparator('a comma or ]');
    }
  }

  function openContainer(depth: number): void {
    if (depth > depthMax) throw new Fault(`the body is nested more than ${depthMax} levels deep`, position);
    position++;
  }

  function skipBracket(bracket: number): boolean {
    skipSpace();
    if (text.charCodeAt(position) !== bracket) return false;
    position++;
    return true;
  }

  function scanSeparator(expected: string): void {
    if (text.charCodeAt(position) !== COMMA) throw createFault(text, position, expected);
    position++;
  }

  function scanNumber(): void {
    const { end, mayOverflow } = findNumberEnd(text, position);
    if (mayOverflow && !Number.isFinite(Number(text.slice(position, end)))) hasOverflow = true;
    position = end;
  }

  function scanWord(expected: string): void {
    if (!text.startsWith(expected, position)) throw createFault(text, position, 'a value');
    position += expected.length;
  }

  function skipSpace(): void {
    for (;;) {
      const code = text.charCodeAt(position);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      position++;
    }
  }
}

/** Returns the text between two quotes after decoding escapes. */
function unescapeString(text: string, start: number, end: number): string {
  const content = text.slice(start + 1, end - 1);
  return content.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : content;
}

/** Returns the position after a string. @param start position of its opening quote */
function findStringEnd(text: string, start: number): number {
  for (let position = start + 1; ; position++) {
    const code = text.charCodeAt(position);
    if (code === QUOTE) return position + 1;
    if (code === BACKSLASH) {
      position++;
      if (text.charCodeAt(position) === 0x75) position = findHexEnd(text, position);
      else if (!ESCAPE_CHARACTERS.has(text.charCodeAt(position)))
        throw createFault(text, position, 'an escape JSON knows');
    } else if (!(code >= 0x20)) {
      throw position >= text.length
        ? createFault(text, position, 'the end of a string')
        : new Fault('a control character is in a string', position);
    }
  }
}

/** Returns the position of the last of four hexadecimal digits. @param start position of the letter before them */
function findHexEnd(text: string, start: number): number {
  for (let position = start + 1; position <= start + 4; position++)
    if (!isHex(text.charCodeAt(position))) throw createFault(text, position, 'a hexadecimal digit');
  return start + 4;
}

/** Returns the position after a number, and true if the number may exceed the range of a double. */
function findNumberEnd(text: string, start: number): { readonly end: number; readonly mayOverflow: boolean } {
  let position = start;
  if (text.charCodeAt(position) === MINUS) position++;
  if (text.charCodeAt(position) === ZERO) position++;
  else position = findDigitsEnd(text, position, position === start ? 'a value' : 'a digit');
  let mayOverflow = position - start > SAFE_DIGITS_MAX;
  if (text.charCodeAt(position) === DOT) position = findDigitsEnd(text, position + 1, 'a digit');
  const exponent = text.charCodeAt(position);
  if (exponent === 0x65 || exponent === 0x45) {
    mayOverflow = true;
    position++;
    const sign = text.charCodeAt(position);
    if (sign === PLUS || sign === MINUS) position++;
    position = findDigitsEnd(text, position, 'a digit');
  }
  return { end: position, mayOverflow };
}

function findDigitsEnd(text: string, start: number, expected: string): number {
  let position = start;
  while (isDigit(text.charCodeAt(position))) position++;
  if (position === start) throw createFault(text, position, expected);
  return position;
}

function createFault(text: string, position: number, expected: string): Fault {
  const result =
    position < text.length
      ? `${quoteText(String.fromCodePoint(text.codePointAt(position) ?? 0))} stands`
      : 'the body ends';
  return new Fault(`${result} where ${expected} is expected`, position);
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
const quoteText = (text: string) => JSON.stringify(text.length <= 64 ? text : `${text.slice(0, 61)}...`);

export interface ParsedJson {
  /** Parsed value; undefined if there was no body and none is required. */
  readonly value: unknown;
  /** True if the text contains a number outside the range of a double. Such a number is infinite in `value`. */
  readonly overflows: boolean;
}

/** Text of a body that `JSON.parse` accepts. */
export interface ScannedText extends Pick<JsonScan, 'overflows' | 'values'> {
  readonly text: string;
}

const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * Decodes the bytes of a body and scans them.
 * @throws Refusal BODY_TOO_LARGE; MALFORMED_REQUEST with the position of the fault
 */
export function readJsonText(bytes: Uint8Array, valuesMax: number = Number.POSITIVE_INFINITY): ScannedText {
  const text = decode(bytes);
  const { fault, overflows, values } = scanJson(text, undefined, valuesMax);
  if (values > valuesMax)
    throw new Refusal(
      'BODY_TOO_LARGE',
      `The body has more than ${valuesMax} values (texts, numbers, lists and objects); at most ${valuesMax} are accepted.`,
      { limit: valuesMax },
    );
  if (fault !== undefined)
    throw new Refusal(
      'MALFORMED_REQUEST',
      `The body is refused at ${formatPosition(text, fault.offset)}: ${fault.reason}.`,
    );
  return { text, overflows, values };
}

/**
 * Parses the bytes of a body as JSON.
 * @throws Refusal MALFORMED_REQUEST with the position of the fault
 */
export function parseJson(bytes: Uint8Array): ParsedJson {
  const { text, overflows } = readJsonText(bytes);
  return { value: JSON.parse(text) as unknown, overflows };
}

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new Refusal('MALFORMED_REQUEST', 'The body is not UTF-8.');
  }
}

function formatPosition(text: string, offset: number): string {
  const before = text.slice(0, offset);
  const line = before.split('\n').length;
  return `line ${line}, column ${offset - before.lastIndexOf('\n')}`;
}
