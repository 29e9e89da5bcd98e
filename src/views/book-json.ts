import type { WeightsFrame } from '#domain/backtest/record/field.js';
import type { RecordedBook } from '#domain/backtest/record/schema.js';
import { formatDay } from '#domain/days.js';
import type { JsonWriter } from './json-writer.js';
import { daysToken, writeSeries, writeSeriesBody } from './series-json.js';
import { writeSnapshots } from './snapshots-json.js';

/** Writes weights frames of one record: one that was written already is copied instead of formatted again. */
export type FrameWriter = (frame: WeightsFrame) => void;

export function createFrameWriter(json: JsonWriter, identifiers: readonly string[]): FrameWriter {
  const written = new Map<WeightsFrame, { readonly from: number; readonly to: number }>();
  return (frame) => {
    const place = written.get(frame);
    if (place) {
      json.repeat(place.from, place.to);
      return;
    }
    const from = json.mark();
    writeWeightsFrame(json, identifiers, frame);
    written.set(frame, { from, to: json.mark() });
  };
}

export function writeBook(json: JsonWriter, identifiers: readonly string[], { book, writeFrame }: { readonly book: RecordedBook; readonly writeFrame: FrameWriter }): void {
  const { days, levels, divisor, frame, snapshots, coverage } = book;
  const dates = daysToken(days);
  json.raw('{"levels":');
  writeSeriesBody(json, { name: 'level', dates, values: levels });
  json.raw(',"weights":');
  if (frame) writeFrame(frame);
  else json.raw('{"index":[],"columns":[],"data":[]}');
  json.raw(`,"weights_dates_total":${frame ? days.length : 0},"rebalances":`);
  writeSnapshots(json, identifiers, snapshots);
  json.raw(`,"rebalances_total":${book.rebalancesTotal},"calendar_coverage":`);
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
  if (divisor) writeSeries(json, { key: 'divisor', name: 'divisor', dates, values: divisor });
  json.raw('}');
}

/** The names held on any date of a frame. */
function writeWeightsFrame(json: JsonWriter, identifiers: readonly string[], { days, columns, weights }: WeightsFrame): void {
  const width = columns.length;
  const held = new Uint8Array(width);
  for (let at = 0; at < weights.length; at += width) {
    for (let slot = 0; slot < width; slot++) if (weights[at + slot]! > 0) held[slot] = 1;
  }
  const slots = Int32Array.from([...held.keys()].filter((slot) => held[slot] === 1));
  json.raw('{"index":[');
  json.token(daysToken(days));
  json.raw('],"columns":[');
  json.raw(Array.from(slots, (slot) => JSON.stringify(identifiers[columns[slot]!]!)).join(','));
  json.raw('],"data":[');
  const isWhole = slots.length === width;
  const row = new Float64Array(isWhole ? 0 : slots.length);
  for (let t = 0; t < days.length; t++) {
    json.raw(t === 0 ? '[' : ',[');
    if (isWhole) {
      json.numbers(weights, t * width, (t + 1) * width);
    } else {
      for (let i = 0; i < slots.length; i++) row[i] = weights[t * width + slots[i]!]!;
      json.numbers(row);
    }
    json.raw(']');
  }
  json.raw(']}');
}
