import { toCivilDate, formatDay } from '#domain/time/days.js';
import type { JsonWriter } from './json-writer.js';

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

/** Formats a day as a JSON string. */
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
