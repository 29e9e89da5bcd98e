import type { BookPayload, CalendarCoveragePayload } from '#contract/analytics/record.js';
import type { WeightsFrame } from '#domain/backtest/record/field.js';
import type { RecordedBook } from '#domain/backtest/record/schema.js';
import { formatDay } from '#domain/time/days.js';
import {
  createJsonObject,
  createNumberMember,
  createObjectMember,
  createSeriesMember,
  createTextMember,
  createItemsUpgrade,
  createValueMember,
  createWrittenMember,
} from './json-object.js';
import type { JsonWriter } from './json-writer.js';
import { encodeDays } from './series-json.js';
import { SNAPSHOT, writeSnapshots } from './snapshots-json.js';

/** Function that writes a weights frame of one record. If the same frame was already written, its text is copied. */
export type FrameWriter = (frame: WeightsFrame) => void;

export function createFrameWriter(json: JsonWriter, identifiers: readonly string[]): FrameWriter {
  const writtenFrames = new Map<WeightsFrame, { readonly from: number; readonly to: number }>();
  return (frame) => {
    const offset = writtenFrames.get(frame);
    if (offset) {
      json.repeat(offset.from, offset.to);
      return;
    }
    const from = json.mark();
    writeWeightsFrame(json, identifiers, frame);
    writtenFrames.set(frame, { from, to: json.mark() });
  };
}

export interface BookSource {
  readonly book: RecordedBook;
  readonly identifiers: readonly string[];
  /** Days of the book, encoded by `encodeDays`. */
  readonly dates: Uint8Array;
  readonly writeFrame: FrameWriter;
}

export function createBookSource(
  book: RecordedBook,
  names: Pick<BookSource, 'identifiers' | 'writeFrame'>,
): BookSource {
  return { ...names, book, dates: encodeDays(book.days) };
}

const COVERAGE = createJsonObject<CalendarCoveragePayload, NonNullable<RecordedBook['coverage']>>({
  calendar: createTextMember(({ calendar }) => calendar),
  requested_start: createTextMember(({ requestedStart }) => formatDay(requestedStart)),
  requested_end: createTextMember(({ requestedEnd }) => formatDay(requestedEnd)),
  covered_start: createTextMember(({ coveredStart }) => formatDay(coveredStart)),
  covered_end: createTextMember(({ coveredEnd }) => formatDay(coveredEnd)),
  trimmed_start: createValueMember(({ trimmedStart }) => trimmedStart),
  trimmed_end: createValueMember(({ trimmedEnd }) => trimmedEnd),
});

export const BOOK = createJsonObject<BookPayload, BookSource>({
  levels: createSeriesMember('level', ({ book, dates }) => ({ dates, values: book.levels })),
  weights: createWrittenMember((json, { book: { frame }, writeFrame }) => {
    if (frame) writeFrame(frame);
    else json.raw('{"index":[],"columns":[],"data":[]}');
  }),
  weights_dates_total: createNumberMember(({ book: { frame, days } }) => (frame ? days.length : 0)),
  rebalances: {
    write: (json, { book, identifiers }) => writeSnapshots(json, identifiers, book.snapshots),
    upgrade: createItemsUpgrade(SNAPSHOT),
  },
  rebalances_total: createNumberMember(({ book }) => book.rebalancesTotal),
  calendar_coverage: createObjectMember(COVERAGE, ({ book }) => book.coverage),
  divisor: {
    ...createSeriesMember('divisor', ({ book: { divisor, levels }, dates }: BookSource) => ({
      dates,
      values: divisor ?? levels,
    })),
    has: ({ book }) => book.divisor !== null,
  },
  dividend_points: {
    ...createSeriesMember('dividend_points', ({ book: { dividendPoints, levels }, dates }: BookSource) => ({
      dates,
      values: dividendPoints ?? levels,
    })),
    has: ({ book }) => book.dividendPoints !== null,
  },
});

/** Writes a frame. Securities that are not held on any of its dates are left out. */
function writeWeightsFrame(
  json: JsonWriter,
  identifiers: readonly string[],
  { days, columns, weights }: WeightsFrame,
): void {
  const width = columns.length;
  const heldFlags = new Uint8Array(width);
  for (let position = 0; position < weights.length; position += width) {
    for (let slot = 0; slot < width; slot++) if (weights[position + slot] !== 0) heldFlags[slot] = 1;
  }
  const heldSlots = Int32Array.from([...heldFlags.keys()].filter((slot) => heldFlags[slot] === 1));
  json.raw('{"index":[');
  json.token(encodeDays(days));
  json.raw('],"columns":[');
  json.raw(Array.from(heldSlots, (slot) => JSON.stringify(identifiers[columns[slot]!]!)).join(','));
  json.raw('],"data":[');
  const isWhole = heldSlots.length === width;
  const row = new Float64Array(isWhole ? 0 : heldSlots.length);
  for (let t = 0; t < days.length; t++) {
    json.raw(t === 0 ? '[' : ',[');
    if (isWhole) {
      json.numbers(weights, t * width, (t + 1) * width);
    } else {
      for (let i = 0; i < heldSlots.length; i++) row[i] = weights[t * width + heldSlots[i]!]!;
      json.numbers(row);
    }
    json.raw(']');
  }
  json.raw(']}');
}
