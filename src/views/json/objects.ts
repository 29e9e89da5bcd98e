import type { SeriesPayload } from '#contract/payloads.js';
import { formatDay, toCivilDate } from '#domain/base/time.js';
import { encodeToken, type JsonWriter } from './writer.js';

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
