import type { SeriesPayload } from '#contract/payloads.js';
import { Refusal } from '#domain/base/refusals.js';
import { formatDay, toCivilDate } from '#domain/base/time.js';
import {
  CHUNK_ROWS,
  type ColumnKind,
  createNumberText,
  type NumberText,
  type RowMarks,
} from '#kernels/engines/number-text.js';

/** Writer of JSON objects whose members are numbers. The same keys occur in many objects. */
interface NumberMembers {
  /**
   * Writes members without braces.
   * @param keys keys as JSON, each with a leading comma and a trailing colon
   * @param positions position of the key of each value
   * @returns false if a value is not finite
   */
  write(keys: readonly string[], positions: Int32Array, values: Float64Array): boolean;
  /** Releases the remembered keys. */
  release(): void;
}

/** Mark of a key that has no token in the memory of the table yet. */
const UNKNOWN = -2;

const NO_KEYS: readonly string[] = [];
const KINDS: readonly ColumnKind[] = ['text', 'number'];
const ENCODER = new TextEncoder();

/**
 * Creates a writer of number members. Keys and numbers are two columns of a table that is written at once.
 * @cost some 30 ns per member
 */
function createNumberMembers(text: NumberText): NumberMembers {
  const { table } = text;
  const slots = { keys: table.integers(0), values: table.numbers(1) };
  let lastKeys = NO_KEYS;
  let tokens = new Int32Array(0);
  let knownDrops = -1;
  let rowMarks: RowMarks = { start: 0, separator: 0, end: 0, none: 0 };

  function begin(keys: readonly string[]): void {
    table.dropTokens();
    knownDrops = table.drops;
    lastKeys = keys;
    tokens = new Int32Array(keys.length).fill(UNKNOWN);
    const emptyToken = table.token('');
    rowMarks = { start: emptyToken, separator: emptyToken, end: emptyToken, none: emptyToken };
  }

  /**
   * Fills a column with the tokens of keys.
   * @returns false if there is no space for another token
   */
  function fillKeys(positions: Int32Array, from: number, to: number): boolean {
    for (let k = from; k < to; k++) {
      const position = positions[k]!;
      if (tokens[position] === UNKNOWN) tokens[position] = table.token(lastKeys[position]!);
      if (tokens[position]! < 0) return false;
      slots.keys[k - from] = tokens[position]!;
    }
    return true;
  }

  /**
   * Fills a column with values.
   * @returns false if a value is not finite
   */
  function fillValues(values: Float64Array, from: number, to: number): boolean {
    for (let k = from; k < to; k++) {
      const value = values[k]!;
      if (value - value !== 0) return false;
      slots.values[k - from] = value;
    }
    return true;
  }

  function writeMember(key: string, value: number): boolean {
    if (!text.ascii(key)) text.bytes(ENCODER.encode(key));
    return text.number(value);
  }

  return {
    write(keys, positions, values) {
      if (positions.length === 0) return true;
      if (!writeMember(keys[positions[0]!]!.slice(1), values[0]!)) return false;
      for (let from = 1; from < positions.length; from += CHUNK_ROWS) {
        const to = Math.min(positions.length, from + CHUNK_ROWS);
        if (keys !== lastKeys || knownDrops !== table.drops) begin(keys);
        // Tokens of earlier keys may have used all the space. The table is then cleared once.
        if (fillKeys(positions, from, to) || (begin(keys), fillKeys(positions, from, to))) {
          if (!fillValues(values, from, to) || !table.write(KINDS, rowMarks, to - from)) return false;
        } else {
          for (let k = from; k < to; k++) if (!writeMember(keys[positions[k]!]!, values[k]!)) return false;
        }
      }
      return true;
    },
    release() {
      lastKeys = NO_KEYS;
      tokens = new Int32Array(0);
    },
  };
}

/**
 * Writer of JSON text as bytes. It is several times faster than building objects for JSON.stringify. The caller writes
 * the syntax, and the writer formats the values. A number has the shortest form that parses to the same double; -0
 * becomes 0. The output equals that of JSON.stringify for the same value.
 */
export interface JsonWriter {
  /** Writes text that is already JSON: syntax, keys and constants. */
  raw(text: string): void;
  /** Writes JSON text that `encodeToken` has encoded as bytes. For text that is written often. */
  token(text: Uint8Array): void;
  string(value: string): void;
  /**
   * Writes a number.
   * @throws Refusal NUMERIC_FAILURE if the number is not finite
   */
  number(value: number): void;
  /**
   * Writes the numbers from `from` to `to` (exclusive), separated by commas and without brackets.
   * @throws Refusal NUMERIC_FAILURE
   */
  numbers(values: Float64Array, from?: number, to?: number): void;
  /**
   * Writes the members of an object without its braces.
   * @param keys keys as JSON, each with a leading comma and a trailing colon
   * @param positions position of the key of each value
   * @throws Refusal NUMERIC_FAILURE
   */
  members(keys: readonly string[], positions: Int32Array, values: Float64Array): void;
  value(value: unknown): void;
  /**
   * Returns the number of bytes written so far.
   * @cost passes the contents of the memory to the sink
   */
  mark(): number;
  /** Repeats the text between two marks. */
  repeat(from: number, to: number): void;
  /** Returns a copy of the text between two marks; null if the text is no longer in memory. */
  written(from: number, to: number): Uint8Array | null;
}

export interface JsonBytesWriter extends JsonWriter {
  /** Returns the text. The writer must not be used afterwards. */
  bytes(): Uint8Array<ArrayBuffer>;
}

/** Receives the text of a writer. Each part is valid until the call returns. */
export interface JsonSink {
  /** Number of bytes received so far. */
  readonly length: number;
  append(part: Uint8Array): void;
  /** Repeats the bytes between two positions. */
  repeat(from: number, to: number): void;
  /** Returns a copy of the bytes between two positions. Omitted for a sink that does not keep its bytes. */
  written?(from: number, to: number): Uint8Array;
}

/** Writer that passes its text to a sink of the caller. */
interface JsonSinkWriter extends JsonWriter {
  /** Passes the remaining text to the sink. The writer must not be used afterwards. */
  end(): void;
}

/** Encodes JSON text as bytes. A writer can copy them without looking at each character. */
export function encodeToken(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Memory of a writer. */
interface Window {
  readonly text: NumberText;
  readonly members: NumberMembers;
}

/** Memory of the last writer. The next writer of the thread uses it again. */
let spareWindow: Window | undefined;

function createWindow(): Window {
  const text = createNumberText();
  return { text, members: createNumberMembers(text) };
}

/**
 * Creates a writer into memory.
 * @param expectedBytes initial size of the buffer; with a good estimate its contents need not be moved
 */
export function createJsonWriter(expectedBytes = 1 << 14): JsonBytesWriter {
  let buffer = new Uint8Array(Math.ceil(expectedBytes));
  let length = 0;

  function reserve(bytes: number): void {
    if (length + bytes <= buffer.length) return;
    const largerBuffer = new Uint8Array(Math.max(length + bytes, Math.ceil(buffer.length * GROWTH)));
    largerBuffer.set(buffer.subarray(0, length));
    buffer = largerBuffer;
  }

  const { end, ...writer } = createJsonSinkWriter({
    get length() {
      return length;
    },
    append(part) {
      reserve(part.length);
      buffer.set(part, length);
      length += part.length;
    },
    repeat(from, to) {
      reserve(to - from);
      buffer.copyWithin(length, from, to);
      length += to - from;
    },
    written: (from, to) => buffer.slice(from, to),
  });
  return {
    ...writer,
    bytes() {
      end();
      return length * FILL_RATIO_MIN >= buffer.length ? buffer.subarray(0, length) : buffer.slice(0, length);
    },
  };
}

export function createJsonSinkWriter(sink: JsonSink): JsonSinkWriter {
  const window = spareWindow ?? createWindow();
  const { text, members } = window;
  spareWindow = undefined;
  const encoder = new TextEncoder();
  text.begin((part) => sink.append(part));

  const writeRaw = (json: string): void => {
    if (!text.ascii(json)) text.bytes(encoder.encode(json));
  };
  return {
    raw: writeRaw,
    mark() {
      text.flush();
      return sink.length;
    },
    token: text.bytes,
    string: (value) => writeRaw(JSON.stringify(value)),
    number(value) {
      if (!text.number(value)) throw createNotFinite(value);
    },
    numbers(values, from = 0, to = values.length) {
      if (!text.numbers(values, from, to))
        throw createNotFinite(values.subarray(from, to).find((value) => !Number.isFinite(value)));
    },
    members(keys, positions, values) {
      if (!members.write(keys, positions, values))
        throw createNotFinite(values.find((value) => !Number.isFinite(value)));
    },
    value(value) {
      assertFinite(value);
      writeRaw(JSON.stringify(value));
    },
    repeat(from, to) {
      text.flush();
      sink.repeat(from, to);
    },
    written: (from, to) => sink.written?.(from, to) ?? null,
    end() {
      text.flush();
      members.release();
      spareWindow = window;
    },
  };
}

/** Factor by which a full buffer grows. */
const GROWTH = 1.5;
/** Maximum ratio of buffer size to contents at which the buffer is returned without a copy. */
const FILL_RATIO_MIN = 1.5;

/**
 * Refuses numbers that are not finite. This extra pass is faster than JSON.stringify with a replacer function.
 * @throws Refusal NUMERIC_FAILURE
 */
function assertFinite(value: unknown): void {
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw createNotFinite(value);
  } else if (Array.isArray(value)) {
    for (const member of value) assertFinite(member);
  } else if (typeof value === 'object' && value !== null) {
    for (const member of Object.values(value)) assertFinite(member);
  }
}

function createNotFinite(value: number | undefined): Refusal {
  return new Refusal('NUMERIC_FAILURE', `A result is ${value}, not a finite number.`);
}

interface SeriesInput {
  readonly name: string;
  /** Dates encoded by `encodeDays`. */
  readonly dates: Uint8Array;
  readonly values: Float64Array;
}

export function writeSeriesBody(json: JsonWriter, { name, dates, values }: SeriesInput): void {
  json.raw('{"index":[');
  json.token(dates);
  json.raw('],"data":[');
  json.numbers(values);
  json.raw(`],"name":"${name}"}`);
}

/**
 * Writes numbers in brackets; a missing value is null.
 * @throws Refusal NUMERIC_FAILURE
 */
export function writeKnown(json: JsonWriter, values: Float64Array): void {
  json.raw('[');
  writeKnownWithin(json, values, 0, values.length);
  json.raw(']');
}

/**
 * Writes a range of numbers like `writeKnown`, without brackets.
 * @throws Refusal NUMERIC_FAILURE
 */
export function writeKnownWithin(json: JsonWriter, values: Float64Array, first: number, end: number): void {
  for (let from = first; from < end;) {
    if (from > first) json.raw(',');
    let to = from;
    while (to < end && values[to] === values[to]) to++;
    if (to > from) json.numbers(values, from, to);
    else json.raw('null');
    from = Math.max(to, from + 1);
  }
}

export function formatDayText(day: number): string {
  return `"${formatDay(day)}"`;
}

/** Size of a date as a JSON string with a comma, in bytes. */
const DATE_BYTES = 13;

/**
 * Encodes dates as JSON strings separated by commas. A writer can use them several times. Digits are written directly,
 * because the strings of 20 years would be a megabyte of garbage.
 */
export function encodeDays(days: Int32Array): Uint8Array {
  const token = new Uint8Array(Math.max(0, DATE_BYTES * days.length - 1));
  for (let i = 0; i < days.length; i++) {
    const position = DATE_BYTES * i;
    if (i > 0) token[position - 1] = COMMA;
    writeDay(token, position, days[i]!);
  }
  return token;
}

const COMMA = 44;
const QUOTE = 34;
const HYPHEN = 45;
const ZERO = 48;

function writeDay(token: Uint8Array, position: number, day: number): void {
  const { year, month, day: dayOfMonth } = toCivilDate(day);
  if (year < 0 || year > 9999) throw new Error(`day ${day} is outside of the years with four digits`);
  token[position] = QUOTE;
  writeTwoDigits(token, position + 1, Math.floor(year / 100));
  writeTwoDigits(token, position + 3, year % 100);
  token[position + 5] = HYPHEN;
  writeTwoDigits(token, position + 6, month);
  token[position + 8] = HYPHEN;
  writeTwoDigits(token, position + 9, dayOfMonth);
  token[position + 11] = QUOTE;
}

function writeTwoDigits(token: Uint8Array, position: number, number: number): void {
  const tens = Math.floor(number / 10);
  token[position] = ZERO + tens;
  token[position + 1] = ZERO + number - 10 * tens;
}

/** A parsed JSON object. */
type StoredObject = Readonly<Record<string, unknown>>;

/** Writes a member of type V from a source. */
export interface Member<V, S> {
  readonly write: (json: JsonWriter, source: S) => void;
  /** Returns true if an object has the member. Default: always. */
  readonly has?: (source: S) => boolean;
  /**
   * Returns the value for an object that was stored before the member existed. Absent if the member existed in every
   * version.
   */
  readonly older?: (storedObject: StoredObject) => V;
  /** Upgrades a stored member that itself has members. */
  readonly upgrade?: (value: unknown) => unknown;
}

/** Members of a contract type, in the order in which they are written. If one is missing, the code does not compile. */
export type Members<T, S> = { readonly [M in keyof T]-?: Member<Required<T>[M], S> };

/** Writer of a contract type as JSON. It builds no object. */
interface JsonObjectWriter<S> {
  write(json: JsonWriter, source: S): void;
  /** Adds to a stored value the members that did not exist when it was stored. */
  upgrade(value: unknown): unknown;
}

export function createJsonObject<T, S>(members: Members<T, S>): JsonObjectWriter<S> {
  const listedMembers = Object.entries<Member<unknown, S>>(members).map(([name, member]) => ({
    name,
    member,
    key: `${JSON.stringify(name)}:`,
  }));
  return {
    write(json, source) {
      let prefix = '{';
      for (const { member, key } of listedMembers) {
        if (member.has?.(source) === false) continue;
        json.raw(prefix + key);
        member.write(json, source);
        prefix = ',';
      }
      json.raw(prefix === '{' ? '{}' : '}');
    },
    upgrade(value) {
      if (!isObject(value)) return value;
      const upgradedObject: Record<string, unknown> = { ...value };
      for (const {
        name,
        member: { older, upgrade },
      } of listedMembers) {
        if (!(name in value)) {
          if (older) upgradedObject[name] = older(value);
        } else if (upgrade) upgradedObject[name] = upgrade(value[name]);
      }
      return upgradedObject;
    },
  };
}

function isObject(value: unknown): value is StoredObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function createNumberMember<S>(readValue: (source: S) => number): Member<number, S> {
  return { write: (json, source) => json.number(readValue(source)) };
}

export function createTextMember<V extends string, S>(readValue: (source: S) => V): Member<V, S> {
  return { write: (json, source) => json.string(readValue(source)) };
}

export function createValueMember<V, S>(readValue: (source: S) => V): Member<V, S> {
  return { write: (json, source) => json.value(readValue(source)) };
}

export function createWrittenMember<V, S>(write: (json: JsonWriter, source: S) => void): Member<V, S> {
  return { write };
}

/** Creates a member that is an object. It is null if the source returns null. */
export function createObjectMember<V, S, P>(
  object: JsonObjectWriter<P>,
  readPart: (source: S) => P | null,
): Member<V, S> {
  return {
    write(json, source) {
      const part = readPart(source);
      if (part === null) json.raw('null');
      else object.write(json, part);
    },
    upgrade: object.upgrade,
  };
}

export function createItemsUpgrade<P>(object: JsonObjectWriter<P>): (value: unknown) => unknown {
  return (value) => (Array.isArray(value) ? value.map(object.upgrade) : value);
}

/**
 * Creates a member that is a dated series.
 * @param readDated returns the dates, encoded by `encodeDays`, and their values
 */
export function createSeriesMember<S>(
  name: string,
  readDated: (source: S) => { readonly dates: Uint8Array; readonly values: Float64Array },
): Member<SeriesPayload, S> {
  return { write: (json, source) => writeSeriesBody(json, { name, ...readDated(source) }) };
}

export interface DatedTable {
  readonly days: Int32Array;
  /** Columns with one value per day. */
  readonly columns: readonly { readonly name: string; readonly values: Float64Array }[];
  /** Treatment of numbers that are not finite: they become null, or the table is refused. */
  readonly holes?: 'null' | 'refused';
}

/**
 * Writes a dated table of numbers as a TableFrame.
 * @throws Refusal NUMERIC_FAILURE if a number is not finite and holes are refused
 * @cost 20 ns per number
 */
export function writeDatedTable(json: JsonWriter, { days, columns, holes = 'null' }: DatedTable): void {
  json.raw('{"index":[');
  json.token(encodeDays(days));
  json.raw(`],"columns":${JSON.stringify(columns.map(({ name }) => name))},"data":[`);
  const row = new Float64Array(columns.length);
  for (let i = 0; i < days.length; i++) {
    let isWhole = true;
    for (let c = 0; c < row.length; c++) {
      const value = columns[c]!.values[i]!;
      row[c] = value;
      if (!Number.isFinite(value)) isWhole = false;
    }
    json.token(i === 0 ? FIRST_ROW : NEXT_ROW);
    if (isWhole || holes === 'refused') json.numbers(row);
    else writeHoled(json, row);
  }
  json.raw(days.length === 0 ? ']}' : ']]}');
}

const FIRST_ROW = encodeToken('[');
const NEXT_ROW = encodeToken('],[');
const TABLE_JSON_COMMA = encodeToken(',');
const NULL = encodeToken('null');

function writeHoled(json: JsonWriter, row: Float64Array): void {
  for (let c = 0; c < row.length; c++) {
    if (c > 0) json.token(TABLE_JSON_COMMA);
    if (Number.isFinite(row[c])) json.number(row[c]!);
    else json.token(NULL);
  }
}
