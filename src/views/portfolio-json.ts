import type { PortfolioBookPayload, UnfilledOrderPayload } from '#contract/analytics/record.js';
import type { RecordedOrder } from '#domain/backtest/record/rows.js';
import type { RecordedPortfolio, RunRecord } from '#domain/backtest/record/schema.js';
import { TRADE_REASONS } from '#domain/books/trades.js';
import { formatDay } from '#domain/time/days.js';
import { compareText } from '#domain/refusals/findings.js';
import type { FrameWriter } from './book-json.js';
import {
  createJsonObject,
  createNumberMember,
  createSeriesMember,
  createTextMember,
  createWrittenMember,
} from './json-object.js';
import { encodeToken, type JsonWriter } from './json-writer.js';
import { encodeDays, formatDayText } from './series-json.js';

const PORTFOLIO_ID_LENGTH = 64;

export interface PortfolioSource {
  readonly record: RunRecord;
  /** Days of the portfolio and the day before them, encoded by `encodeDays`. */
  readonly dates: Uint8Array;
  readonly text: RowTexts;
  readonly writeFrame: FrameWriter;
}

export function createPortfolioSource(record: RunRecord, writeFrame: FrameWriter): PortfolioSource {
  const {
    portfolio: { days, dayBefore },
    identifiers,
  } = record;
  const allDays = new Int32Array(days.length + 1);
  allDays[0] = dayBefore;
  allDays.set(days, 1);
  return { record, writeFrame, dates: encodeDays(allDays), text: createRowTexts(days, identifiers) };
}

export const PORTFOLIO = createJsonObject<PortfolioBookPayload, PortfolioSource>({
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

/** Returns the number of rows of a stored table. */
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
export function toUnfilledPayload(unfilled: readonly RecordedOrder[]): UnfilledOrderPayload[] {
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
