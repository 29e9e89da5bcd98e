import type {
  BacktestResultSummary,
  BookPayload,
  CalendarCoveragePayload,
  PortfolioBookPayload,
  UnfilledOrderPayload,
} from '#contract/analytics/record.js';
import type { RecordedOrder } from '#domain/backtest/positions.js';
import type { WeightsFrame } from '#domain/backtest/record-fields.js';
import type { RecordedBook, RecordedPortfolio, RunRecord } from '#domain/backtest/record.js';
import { computeCashWeight } from '#domain/analytics/concentration.js';
import { compareText } from '#domain/base/findings.js';
import { formatDay } from '#domain/base/time.js';
import { TRADE_REASONS } from '#domain/books/trades.js';
import { formatCashName } from '#domain/outputs/exports.js';
import {
  createItemsUpgrade,
  createJsonObject,
  createNumberMember,
  createObjectMember,
  createSeriesMember,
  createTextMember,
  createValueMember,
  createWrittenMember,
  encodeDays,
  formatDayText,
  type Member,
} from './objects.js';
import { createGapsAndPricing, createProvenanceMembers, type RunStamp, SNAPSHOT_JSON, writeSnapshots } from './run.js';
import { createJsonWriter, encodeToken, type JsonWriter } from './writer.js';

/** Function that writes a weights frame of one record. If the same frame was already written, its text is copied. */
type FrameWriter = (frame: WeightsFrame) => void;

type WeightNames = Pick<RunRecord, 'identifiers' | 'cashCurrency'>;

function createFrameWriter(json: JsonWriter, names: WeightNames): FrameWriter {
  const writtenFrames = new Map<WeightsFrame, { readonly from: number; readonly to: number }>();
  return (frame) => {
    const offset = writtenFrames.get(frame);
    if (offset) {
      json.repeat(offset.from, offset.to);
      return;
    }
    const from = json.mark();
    writeWeightsFrame(json, names, frame);
    writtenFrames.set(frame, { from, to: json.mark() });
  };
}

export interface BookSource extends WeightNames {
  readonly book: RecordedBook;
  /** Days of the book, encoded by `encodeDays`. */
  readonly dates: Uint8Array;
  readonly writeFrame: FrameWriter;
}

function createBookSource(book: RecordedBook, names: Omit<BookSource, 'book' | 'dates'>): BookSource {
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

const BOOK = createJsonObject<BookPayload, BookSource>({
  levels: createSeriesMember('level', ({ book, dates }) => ({ dates, values: book.levels })),
  weights: createWrittenMember((json, { book: { frame }, writeFrame }) => {
    if (frame) writeFrame(frame);
    else json.raw('{"index":[],"columns":[],"data":[]}');
  }),
  weights_dates_total: createNumberMember(({ book: { frame, days } }) => (frame ? days.length : 0)),
  rebalances: {
    write: (json, { book, ...names }) => writeSnapshots(json, names, book.snapshots),
    upgrade: createItemsUpgrade(SNAPSHOT_JSON),
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

/**
 * Writes a frame. Securities that are not held on any of its dates are left out. The last column is the cash of an
 * overlay, if there is any on one of the dates.
 */
function writeWeightsFrame(
  json: JsonWriter,
  { identifiers, cashCurrency }: WeightNames,
  { days, columns, weights }: WeightsFrame,
): void {
  const width = columns.length;
  const cash = new Float64Array(cashCurrency === null ? 0 : days.length);
  cash.forEach((_, t) => (cash[t] = computeCashWeight(weights.subarray(t * width, (t + 1) * width))));
  const hasCash = cash.some((weight) => weight !== 0);
  const heldFlags = new Uint8Array(width);
  for (let position = 0; position < weights.length; position += width) {
    for (let slot = 0; slot < width; slot++) if (weights[position + slot] !== 0) heldFlags[slot] = 1;
  }
  const heldSlots = Int32Array.from([...heldFlags.keys()].filter((slot) => heldFlags[slot] === 1));
  json.raw('{"index":[');
  json.token(encodeDays(days));
  json.raw('],"columns":[');
  const names = Array.from(heldSlots, (slot) => identifiers[columns[slot]!]!);
  json.raw(
    [...names, ...(hasCash ? [formatCashName(cashCurrency!)] : [])].map((name) => JSON.stringify(name)).join(','),
  );
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
    if (hasCash) {
      if (heldSlots.length > 0) json.raw(',');
      json.number(cash[t]!);
    }
    json.raw(']');
  }
  json.raw(']}');
}

const PORTFOLIO_ID_LENGTH = 64;

export interface PortfolioSource {
  readonly record: RunRecord;
  /** Days of the portfolio and the day before them, encoded by `encodeDays`. */
  readonly dates: Uint8Array;
  readonly text: RowTexts;
  readonly writeFrame: FrameWriter;
}

function createPortfolioSource(record: RunRecord, writeFrame: FrameWriter): PortfolioSource {
  const {
    portfolio: { days, dayBefore },
    identifiers,
  } = record;
  const allDays = new Int32Array(days.length + 1);
  allDays[0] = dayBefore;
  allDays.set(days, 1);
  return { record, writeFrame, dates: encodeDays(allDays), text: createRowTexts(days, identifiers) };
}

const PORTFOLIO = createJsonObject<PortfolioBookPayload, PortfolioSource>({
  cash: createSeriesMember(
    'cash',
    ({
      record: {
        portfolio: { cash, value, initialCapital },
      },
      dates,
    }) => {
      const cashValues = cash.map((fraction, t) => fraction * value[t]!);
      return { dates, values: prependCapital(initialCapital, cashValues) };
    },
  ),
  initial_capital: createNumberMember(({ record }) => record.portfolio.initialCapital),
  nav: createSeriesMember(
    'nav',
    ({
      record: {
        portfolio: { value, initialCapital },
      },
      dates,
    }) => ({ dates, values: prependCapital(initialCapital, value) }),
  ),
  portfolio_id: createTextMember(({ record }) => `portfolio-${record.runId}`.slice(0, PORTFOLIO_ID_LENGTH)),
  positions: createWrittenMember((json, { record, text }) => writePositions(json, record.portfolio, text)),
  positions_total: createNumberMember(({ record }) => record.portfolio.positions.total),
  transactions_total: {
    ...createNumberMember(({ record }: PortfolioSource) => record.portfolio.transactions.total),
    // Version 0.1.0 returned all rows.
    older: ({ transactions }) => countRows(transactions),
  },
  transactions: createWrittenMember((json, { record, text }) => writeTransactions(json, record.portfolio, text)),
  weights: createWrittenMember((_json, { record, writeFrame }) => writeFrame(record.portfolio.frame)),
  weights_dates_total: createNumberMember(({ record }) => record.portfolio.days.length),
});

function countRows(table: unknown): number {
  return typeof table === 'object' && table !== null && 'data' in table && Array.isArray(table.data)
    ? table.data.length
    : 0;
}

/** Returns a series that starts one day earlier with the initial capital. */
function prependCapital(capital: number, values: Float64Array): Float64Array {
  const series = new Float64Array(values.length + 1);
  series[0] = capital;
  series.set(values, 1);
  return series;
}

function writePositions(json: JsonWriter, { positions }: RecordedPortfolio, text: RowTexts): void {
  const { at, columns, units, price, value, weight } = positions;
  const numbers = new Float64Array(4);
  writeTable(json, {
    columns: ['date', 'asset_id', 'units', 'price', 'value', 'weight'],
    count: at.length,
    writeRow(i) {
      numbers[0] = units[i]!;
      numbers[1] = price[i]!;
      numbers[2] = value[i]!;
      numbers[3] = weight[i]!;
      json.token(text.date(at[i]!));
      json.token(text.names[columns[i]!]!);
      json.numbers(numbers);
      json.token(ROW_END);
    },
  });
}

function writeTransactions(json: JsonWriter, { transactions, costRate }: RecordedPortfolio, text: RowTexts): void {
  const { at, columns, notional, price, reason, isFree } = transactions;
  const numbers = new Float64Array(4);
  writeTable(json, {
    columns: ['date', 'asset_id', 'side', 'units', 'price', 'notional', 'cost', 'reason'],
    count: at.length,
    writeRow(i) {
      const amount = Math.abs(notional[i]!);
      numbers[0] = amount / price[i]!;
      numbers[1] = price[i]!;
      numbers[2] = amount;
      numbers[3] = isFree[i] === 1 ? 0 : costRate * amount;
      json.token(text.date(at[i]!));
      json.token(text.names[columns[i]!]!);
      json.token(notional[i]! > 0 ? BUY : SELL);
      json.numbers(numbers);
      json.token(REASONS[reason[i]!]!);
    },
  });
}

const COMMA = encodeToken(',');
const BUY = encodeToken('"buy",');
const SELL = encodeToken('"sell",');
const ROW_END = encodeToken(']');
const REASONS = TRADE_REASONS.map((reason) => encodeToken(`,"${reason}"]`));

/** Encoded starts of long-form rows. */
interface RowTexts {
  /** Returns the start of a row by position of the date, for example `["2024-01-02",`. */
  date(position: number): Uint8Array;
  /** Identifiers by position of the security, for example `"AAPL",`. */
  readonly names: readonly Uint8Array[];
}

/** Returns the starts of rows. The last date is cached, because the rows of a session follow each other. */
function createRowTexts(days: Int32Array, identifiers: readonly string[]): RowTexts {
  let last = -1;
  let jsonBytes = encodeToken('');
  return {
    date(position) {
      if (position !== last) jsonBytes = encodeToken(`[${formatDayText(days[position]!)},`);
      last = position;
      return jsonBytes;
    },
    names: identifiers.map((identifier) => encodeToken(`${JSON.stringify(identifier)},`)),
  };
}

interface TableInput {
  readonly columns: readonly string[];
  readonly count: number;
  readonly writeRow: (i: number) => void;
}

/** Writes a long-form table. Its row labels are 0 to n - 1. */
function writeTable(json: JsonWriter, { columns, count, writeRow }: TableInput): void {
  json.raw('{"index":[');
  writeLabels(json, count);
  json.raw(`],"columns":${JSON.stringify(columns)},"data":[`);
  for (let i = 0; i < count; i++) {
    if (i > 0) json.token(COMMA);
    writeRow(i);
  }
  json.raw(']}');
}

/** Number of labels written at a time. */
const LABELS = 512;

/** Writes the labels from 0 to count - 1. */
function writeLabels(json: JsonWriter, count: number): void {
  const labels = Float64Array.from({ length: LABELS }, (_, i) => i);
  for (let from = 0; from < count; from += LABELS) {
    if (from > 0) {
      json.token(COMMA);
      for (let i = 0; i < LABELS; i++) labels[i]! += LABELS;
    }
    json.numbers(labels, 0, Math.min(LABELS, count - from));
  }
}

/** Converts the orders that could not be filled on their session. They are sorted by date and then by security. */
function toUnfilledPayload(unfilled: readonly RecordedOrder[]): UnfilledOrderPayload[] {
  const rows = unfilled.map(({ day, identifier, side, target, held, notional, reason, filledDay }) => ({
    date: formatDay(day),
    asset_id: identifier,
    side,
    target_weight: target,
    held_weight: held,
    notional,
    reason,
    filled_on: filledDay === null ? null : formatDay(filledDay),
  }));
  return rows.toSorted((a, b) => compareText(a.date, b.date) || compareText(a.asset_id, b.asset_id));
}

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
  ...createProvenanceMembers<RecordSource>(),
});

function createBookMember(readBook: (run: RunRecord) => RecordedBook | null): Member<BookPayload | null, RecordSource> {
  return createObjectMember(BOOK, ({ run, writeFrame }) => {
    const book = readBook(run);
    const { identifiers, cashCurrency } = run;
    return book && createBookSource(book, { identifiers, cashCurrency, writeFrame });
  });
}

/**
 * Writes a record with any writer. The text equals that of `encodeRecord`.
 * @cost about 60 ns per number
 */
export function writeRecord(json: JsonWriter, run: RunRecord, stamp: RunStamp): void {
  RECORD.write(json, { run, stamp, writeFrame: createFrameWriter(json, run) });
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
