import { formatDay } from '#domain/days.js';
import { jsonToken, type JsonWriter } from './json-writer.js';

interface SeriesInput {
  readonly key: string;
  readonly name: string;
  /** Dates as `daysToken` gives them. */
  readonly dates: Uint8Array;
  readonly values: Float64Array;
}

export function writeSeries(json: JsonWriter, { key, name, dates, values }: SeriesInput): void {
  json.raw(`,"${key}":`);
  writeSeriesBody(json, { name, dates, values });
}

export function writeSeriesBody(json: JsonWriter, { name, dates, values }: Omit<SeriesInput, 'key'>): void {
  json.raw('{"index":[');
  json.token(dates);
  json.raw('],"data":[');
  json.numbers(values);
  json.raw(`],"name":"${name}"}`);
}

/** Days between which texts are kept: 1900 to 2100, far more than a market has. */
const DAY_TEXTS_FROM = -25_567;
const DAY_TEXTS_TO = 47_482;
const dayTexts: (string | undefined)[] = [];

/** A day as a JSON string, made once per thread. */
export function dayText(day: number): string {
  if (day < DAY_TEXTS_FROM || day > DAY_TEXTS_TO) return `"${formatDay(day)}"`;
  return (dayTexts[day - DAY_TEXTS_FROM] ??= `"${formatDay(day)}"`);
}

/** Dates as JSON strings between commas. */
export function daysText(days: Int32Array): string {
  return Array.from(days, dayText).join(',');
}

/** The same for a writer, which takes it as often as there are series on the dates. */
export function daysToken(days: Int32Array): Uint8Array {
  return jsonToken(daysText(days));
}
