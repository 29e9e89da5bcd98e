import type { RecordedBook, RunRecord } from '#domain/backtest/record/schema.js';
import { createFrameWriter, writeBook } from './book-json.js';
import { createJsonWriter, type JsonWriter } from './json-writer.js';
import { writePortfolio, writeUnfilled } from './portfolio-json.js';
import { writeGapsAndPricing, writeProvenance, type RunStamp } from './provenance-json.js';

/** BacktestResultSummary: the record of a run. The same record and stamp give the same bytes. */
export function recordJson(record: RunRecord, stamp: RunStamp): Uint8Array<ArrayBuffer> {
  const json = createJsonWriter(estimatedBytes(record));
  writeRecord(json, record, stamp);
  return json.bytes();
}

/** The same, wherever the writer writes. @cost some 60 ns a number */
export function writeRecord(json: JsonWriter, record: RunRecord, stamp: RunStamp): void {
  const { identifiers } = record;
  const writeFrame = createFrameWriter(json, identifiers);
  const write = (book: RecordedBook | null): void => {
    if (book) writeBook(json, identifiers, { book, writeFrame });
    else json.raw('null');
  };
  json.raw('{"benchmark":');
  write(record.benchmark);
  json.raw(',"index":{"target":');
  write(record.target);
  json.raw(',"optimised":');
  write(record.optimised);
  json.raw('},"metrics":');
  json.value(record.metrics);
  json.raw(',"portfolio":');
  writePortfolio(json, record, writeFrame);
  writeGapsAndPricing(json, record);
  json.raw(',"run_at":');
  json.string(stamp.runAt);
  json.raw(',"unfilled":');
  writeUnfilled(json, record.unfilled);
  writeProvenance(json, record.findings, stamp);
  json.raw('}');
}

/** Bytes of a weight with its comma, of a row of the tables, and of a date and a value of a series. */
const WEIGHT_BYTES = 23;
const TRANSACTION_BYTES = 150;
const POSITION_BYTES = 120;
const SERIES_BYTES = 36;

/** Room for the larger texts of a record: too much costs nothing before it is written to. */
function estimatedBytes({ benchmark, target, optimised, portfolio }: RunRecord): number {
  const books = [benchmark, target, optimised].filter((book) => book !== null);
  const frames = [portfolio, ...books].reduce((sum, { frame }) => sum + (frame?.weights.length ?? 0), 0);
  const snapshots = books.reduce((sum, { snapshots: list }) => sum + list.reduce((cells, { columns }) => cells + columns.length, 0), 0);
  const series = [portfolio, ...books].reduce((sum, { days }) => sum + 4 * days.length, 0);
  const tables = TRANSACTION_BYTES * portfolio.transactions.at.length + POSITION_BYTES * portfolio.positions.at.length;
  return 100_000 + WEIGHT_BYTES * frames + 2.6 * WEIGHT_BYTES * snapshots + tables + SERIES_BYTES * series;
}
