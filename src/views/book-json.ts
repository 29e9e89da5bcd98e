import type { Book } from '#domain/backtest/book.js';
import type { IndexRun, Run } from '#domain/backtest/run.js';
import { formatDay } from '#domain/days.js';
import { LIMITS } from '#domain/limits.js';
import type { JsonWriter } from './json-writer.js';
import { daysText, writeSeries, writeSeriesBody } from './series-json.js';
import { writeSnapshots } from './snapshots-json.js';

/** Where the weights frame of a book was written, so that an equal one is copied instead of formatted again. */
export interface WrittenFrame {
  readonly book: Book;
  readonly from: number;
  readonly to: number;
}

export function writeIndexBook(json: JsonWriter, { book, days, compositions, coverage }: IndexRun): WrittenFrame {
  const served = compositions.list.filter(({ session }) => session < book.from + book.length);
  json.raw('{"levels":');
  writeSeriesBody(json, { name: 'level', dates: daysText(days), values: book.value });
  json.raw(',"weights":');
  const from = json.mark();
  writeWeightsFrame(json, book);
  const to = json.mark();
  json.raw(`,"weights_dates_total":${book.length},"rebalances":`);
  writeSnapshots(json, book.sm, served.slice(-LIMITS.MAX_REBALANCES));
  json.raw(`,"rebalances_total":${served.length},"calendar_coverage":`);
  if (coverage) {
    json.value({
      calendar: coverage.calendar,
      requested_start: formatDay(coverage.requestedStart),
      requested_end: formatDay(coverage.requestedEnd),
      covered_start: formatDay(coverage.coveredStart),
      covered_end: formatDay(coverage.coveredEnd),
      trimmed_start: coverage.trimmedStart,
      trimmed_end: coverage.trimmedEnd,
    });
  } else {
    json.raw('null');
  }
  writeSeries(json, { key: 'divisor', name: 'divisor', dates: daysText(days), values: book.divisor });
  json.raw('}');
  return { book, from, to };
}

export function writeBenchmarkBook(json: JsonWriter, { benchmark }: Run): void {
  if (!benchmark) {
    json.raw('null');
    return;
  }
  if (benchmark.index) {
    const { compositions, book, coverage } = benchmark.index;
    writeIndexBook(json, { compositions, book, days: benchmark.level.days, coverage });
    return;
  }
  json.raw('{"levels":');
  writeSeriesBody(json, { name: 'level', dates: daysText(benchmark.level.days), values: benchmark.level.values });
  json.raw(',"weights":{"index":[],"columns":[],"data":[]},"weights_dates_total":0,"rebalances":[],"rebalances_total":0,"calendar_coverage":null}');
}

/** The most recent dates of a book by the names held on any of them. */
export function writeWeightsFrame(json: JsonWriter, { sm, columns, weights, from, length }: Book): void {
  const first = Math.max(0, length - LIMITS.MAX_WEIGHT_DATES);
  const width = columns.length;
  const held = new Uint8Array(width);
  for (let at = first * width; at < length * width; at += width) {
    for (let slot = 0; slot < width; slot++) if (weights[at + slot]! > 0) held[slot] = 1;
  }
  const slots = Int32Array.from([...held.keys()].filter((slot) => held[slot] === 1));
  json.raw(`{"index":[${daysText(sm.sessions.subarray(from + first, from + length))}],"columns":[`);
  json.raw(Array.from(slots, (slot) => JSON.stringify(sm.identifiers[columns[slot]!]!)).join(','));
  json.raw('],"data":[');
  const row = new Float64Array(slots.length);
  for (let t = first; t < length; t++) {
    for (let i = 0; i < slots.length; i++) row[i] = weights[t * width + slots[i]!]!;
    json.raw(t === first ? '[' : ',[');
    json.numbers(row);
    json.raw(']');
  }
  json.raw(']}');
}

/** Whether two books serve the same dates, names and weights, bit for bit. */
export function sameFrame(a: Book, b: Book): boolean {
  const rowsA = Math.min(a.length, LIMITS.MAX_WEIGHT_DATES);
  const rowsB = Math.min(b.length, LIMITS.MAX_WEIGHT_DATES);
  if (a.sm !== b.sm || rowsA !== rowsB || a.columns.length !== b.columns.length || a.from + a.length !== b.from + b.length) return false;
  for (let slot = 0; slot < a.columns.length; slot++) if (a.columns[slot] !== b.columns[slot]) return false;
  if (a.weights.buffer === b.weights.buffer) return true;
  const cells = rowsA * a.columns.length;
  const endA = a.weights.length;
  const endB = b.weights.length;
  for (let i = 1; i <= cells; i++) if (a.weights[endA - i] !== b.weights[endB - i]) return false;
  return true;
}
