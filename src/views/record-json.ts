import type { BacktestResultSummary, BookPayload } from '#contract/analytics/record.js';
import type { RecordedBook, RunRecord } from '#domain/backtest/record/schema.js';
import { BOOK, createBookSource, createFrameWriter, type FrameWriter } from './book-json.js';
import {
  createJsonObject,
  createObjectMember,
  createTextMember,
  createValueMember,
  type Member,
} from './json-object.js';
import { createJsonWriter, type JsonWriter } from './json-writer.js';
import { PORTFOLIO, createPortfolioSource, toUnfilledPayload } from './portfolio-json.js';
import { createGapsAndPricing, createProvenance, type RunStamp } from './provenance-json.js';

/** Formats a BacktestResultSummary, the record of a run. Equal records and stamps give equal bytes. */
export function encodeRecord(record: RunRecord, stamp: RunStamp): Uint8Array<ArrayBuffer> {
  const json = createJsonWriter(estimateBytes(record));
  writeRecord(json, record, stamp);
  return json.bytes();
}

interface RecordSource {
  readonly run: RunRecord;
  readonly stamp: RunStamp;
  readonly writeFrame: FrameWriter;
}

const INDEX = createJsonObject<BacktestResultSummary['index'], RecordSource>({
  target: createBookMember(({ target }) => target),
  optimised: createBookMember(({ optimised }) => optimised),
});

const RECORD = createJsonObject<BacktestResultSummary, RecordSource>({
  benchmark: createBookMember(({ benchmark }) => benchmark),
  index: createObjectMember(INDEX, (source) => source),
  metrics: createValueMember(({ run }) => run.metrics),
  portfolio: createObjectMember(PORTFOLIO, ({ run, writeFrame }) => createPortfolioSource(run, writeFrame)),
  ...createGapsAndPricing<RecordSource>(),
  run_at: createTextMember(({ stamp }) => stamp.runAt),
  unfilled: createValueMember(({ run }) => toUnfilledPayload(run.unfilled)),
  ...createProvenance<RecordSource>(),
});

function createBookMember(readBook: (run: RunRecord) => RecordedBook | null): Member<BookPayload | null, RecordSource> {
  return createObjectMember(BOOK, ({ run, writeFrame }) => {
    const book = readBook(run);
    return book && createBookSource(book, { identifiers: run.identifiers, writeFrame });
  });
}

/**
 * Writes a record with any writer. The text equals that of `encodeRecord`.
 * @cost about 60 ns per number
 */
export function writeRecord(json: JsonWriter, run: RunRecord, stamp: RunStamp): void {
  RECORD.write(json, { run, stamp, writeFrame: createFrameWriter(json, run.identifiers) });
}

/** Adds members to a stored record that were introduced after it was stored. */
export function upgradeRecord(storedRecord: unknown): unknown {
  return RECORD.upgrade(storedRecord);
}

/**
 * Approximate sizes in bytes: of a weight with its comma, of a row of transactions, of a row of positions, and of a
 * date with its value in a series.
 */
const WEIGHT_BYTES = 23;
const TRANSACTION_BYTES = 150;
const POSITION_BYTES = 120;
const SERIES_BYTES = 36;

/**
 * Estimates the size of the large texts of a record in bytes. If the estimate is too high, that costs nothing: memory
 * that is not written is not allocated.
 */
function estimateBytes({ benchmark, target, optimised, portfolio }: RunRecord): number {
  const books = [benchmark, target, optimised].filter((book) => book !== null);
  const frames = [portfolio, ...books].reduce((sum, { frame }) => sum + (frame?.weights.length ?? 0), 0);
  const snapshots = books.reduce(
    (sum, { snapshots: list }) => sum + list.reduce((cells, { columns }) => cells + columns.length, 0),
    0,
  );
  const series = [portfolio, ...books].reduce((sum, { days }) => sum + 4 * days.length, 0);
  const tables = TRANSACTION_BYTES * portfolio.transactions.at.length + POSITION_BYTES * portfolio.positions.at.length;
  return 100_000 + WEIGHT_BYTES * frames + 2.6 * WEIGHT_BYTES * snapshots + tables + SERIES_BYTES * series;
}
