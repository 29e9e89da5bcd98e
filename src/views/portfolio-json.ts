import type { Book } from '#domain/backtest/book.js';
import { latestPositions, tradePrices } from '#domain/backtest/portfolio.js';
import type { Run } from '#domain/backtest/run.js';
import { TRADE_REASONS } from '#domain/backtest/trades.js';
import { formatDay } from '#domain/days.js';
import { compareText } from '#domain/findings.js';
import { LIMITS } from '#domain/limits.js';
import { sameFrame, writeWeightsFrame, type WrittenFrame } from './book-json.js';
import { jsonToken, type JsonWriter } from './json-writer.js';
import { daysText, dayText, writeSeries, writeSeriesBody } from './series-json.js';

const PORTFOLIO_ID_LENGTH = 64;

export function writePortfolio(json: JsonWriter, run: Run, shared: WrittenFrame): void {
  const { portfolio, days, plan } = run;
  const { initial_capital: capital } = plan.request;
  const dates = daysText(Int32Array.of(dayBefore(portfolio), ...days));
  const nav = Float64Array.of(capital, ...portfolio.value);
  const cash = Float64Array.of(capital, ...portfolio.cash.map((fraction, t) => fraction * portfolio.value[t]!));
  json.raw('{"cash":');
  writeSeriesBody(json, { name: 'cash', dates, values: cash });
  json.raw(',"initial_capital":');
  json.number(capital);
  writeSeries(json, { key: 'nav', name: 'nav', dates, values: nav });
  json.raw(',"portfolio_id":');
  json.string(`portfolio-${plan.runId}`.slice(0, PORTFOLIO_ID_LENGTH));
  writePositions(json, run);
  writeTransactions(json, run);
  json.raw(',"weights":');
  if (sameFrame(portfolio, shared.book)) json.repeat(shared.from, shared.to);
  else writeWeightsFrame(json, portfolio);
  json.raw(`,"weights_dates_total":${portfolio.length}}`);
}

/** The session of the calendar before the first of the run; the calendar day before where the calendar begins there. */
function dayBefore({ sm, from }: Book): number {
  const { sessions } = sm.calendar;
  const first = sm.sessions[from]!;
  const position = sessions.indexOf(first);
  return sessions[position - 1] ?? first - 1;
}

function writePositions(json: JsonWriter, run: Run): void {
  const positions = latestPositions(run, LIMITS.MAX_POSITION_ROWS);
  const text = rowTexts(run.portfolio);
  json.raw(',"positions":');
  writeTable(json, {
    columns: ['date', 'asset_id', 'units', 'price', 'value', 'weight'],
    count: positions.count,
    writeRow(i) {
      json.token(text.dates[positions.session[i]! - run.portfolio.from]!);
      json.token(text.names[positions.slot[i]!]!);
      json.number(positions.units[i]!);
      json.token(COMMA);
      json.number(positions.price[i]!);
      json.token(COMMA);
      json.number(positions.value[i]!);
      json.token(COMMA);
      json.number(positions.weight[i]!);
      json.token(ROW_END);
    },
  });
  json.raw(`,"positions_total":${positions.total}`);
}

/** Rows of the transactions table, most recent first served: some 130 MB of text, 20 years of daily trades in 200 names. */
const TRANSACTION_ROWS_MAX = 1_000_000;

function writeTransactions(json: JsonWriter, run: Run): void {
  const { trades, plan } = run;
  const { units, price } = tradePrices(run);
  const text = rowTexts(run.portfolio);
  const rate = plan.request.transaction_cost_bps / 10_000;
  const first = Math.max(0, trades.count - TRANSACTION_ROWS_MAX);
  json.raw(`,"transactions_total":${trades.count},"transactions":`);
  writeTable(json, {
    columns: ['date', 'asset_id', 'side', 'units', 'price', 'notional', 'cost', 'reason'],
    count: trades.count - first,
    writeRow(row) {
      const i = first + row;
      const money = Math.abs(trades.notional[i]!);
      json.token(text.dates[trades.at[i]!]!);
      json.token(text.names[trades.slot[i]!]!);
      json.token(trades.notional[i]! > 0 ? BUY : SELL);
      json.number(units[i]!);
      json.token(COMMA);
      json.number(price[i]!);
      json.token(COMMA);
      json.number(money);
      json.token(COMMA);
      json.number(trades.isFree[i] === 1 ? 0 : rate * money);
      json.token(REASONS[trades.reason[i]!]!);
    },
  });
}

const COMMA = jsonToken(',');
const BUY = jsonToken('"buy",');
const SELL = jsonToken('"sell",');
const ROW_END = jsonToken(']');
const REASONS = TRADE_REASONS.map((reason) => jsonToken(`,"${reason}"]`));

/** Beginnings of long-form rows: `["2024-01-02",` by date of a book and `"AAPL",` by slot. */
function rowTexts({ sm, from, length, columns }: Book): { readonly dates: readonly Uint8Array[]; readonly names: readonly Uint8Array[] } {
  return {
    dates: Array.from(sm.sessions.subarray(from, from + length), (day) => jsonToken(`[${dayText(day)},`)),
    names: Array.from(columns, (column) => jsonToken(`${JSON.stringify(sm.identifiers[column]!)},`)),
  };
}

interface TableInput {
  readonly columns: readonly string[];
  readonly count: number;
  readonly writeRow: (i: number) => void;
}

/** A long-form table with rows labelled 0 to n - 1. */
function writeTable(json: JsonWriter, { columns, count, writeRow }: TableInput): void {
  json.raw('{"index":[');
  json.numbers(Float64Array.from({ length: count }, (_, i) => i));
  json.raw(`],"columns":${JSON.stringify(columns)},"data":[`);
  for (let i = 0; i < count; i++) {
    if (i > 0) json.token(COMMA);
    writeRow(i);
  }
  json.raw(']}');
}

export function writeUnfilled(json: JsonWriter, { portfolio }: Run): void {
  const { sm, columns, from, unfilled } = portfolio;
  const date = (at: number): string => formatDay(sm.sessions[from + at]!);
  const rows = unfilled.map(({ at, slot, side, target, held, notional, reason, filledAt }) => ({
    date: date(at),
    asset_id: sm.identifiers[columns[slot]!]!,
    side,
    target_weight: target,
    held_weight: held,
    notional,
    reason,
    filled_on: filledAt === null ? null : date(filledAt),
  }));
  json.value(rows.toSorted((a, b) => compareText(a.date, b.date) || compareText(a.asset_id, b.asset_id)));
}
