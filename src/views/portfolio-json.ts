import type { RecordedOrder, RecordedPortfolio, RunRecord } from '#domain/backtest/run-record.js';
import { TRADE_REASONS } from '#domain/backtest/trades.js';
import { formatDay } from '#domain/days.js';
import { compareText } from '#domain/findings.js';
import type { FrameWriter } from './book-json.js';
import { jsonToken, type JsonWriter } from './json-writer.js';
import { daysToken, dayText, writeSeries, writeSeriesBody } from './series-json.js';

const PORTFOLIO_ID_LENGTH = 64;

export function writePortfolio(json: JsonWriter, { runId, portfolio, identifiers }: RunRecord, writeFrame: FrameWriter): void {
  const { days, value, initialCapital: capital } = portfolio;
  const dates = daysToken(Int32Array.of(portfolio.dayBefore, ...days));
  const nav = Float64Array.of(capital, ...value);
  const cash = Float64Array.of(capital, ...portfolio.cash.map((fraction, t) => fraction * value[t]!));
  const text = rowTexts(days, identifiers);
  json.raw('{"cash":');
  writeSeriesBody(json, { name: 'cash', dates, values: cash });
  json.raw(',"initial_capital":');
  json.number(capital);
  writeSeries(json, { key: 'nav', name: 'nav', dates, values: nav });
  json.raw(',"portfolio_id":');
  json.string(`portfolio-${runId}`.slice(0, PORTFOLIO_ID_LENGTH));
  writePositions(json, portfolio, text);
  writeTransactions(json, portfolio, text);
  json.raw(',"weights":');
  writeFrame(portfolio.frame);
  json.raw(`,"weights_dates_total":${days.length}}`);
}

function writePositions(json: JsonWriter, { positions }: RecordedPortfolio, text: RowTexts): void {
  const { at, columns, units, price, value, weight } = positions;
  json.raw(',"positions":');
  writeTable(json, {
    columns: ['date', 'asset_id', 'units', 'price', 'value', 'weight'],
    count: at.length,
    writeRow(i) {
      json.token(text.dates[at[i]!]!);
      json.token(text.names[columns[i]!]!);
      json.number(units[i]!);
      json.token(COMMA);
      json.number(price[i]!);
      json.token(COMMA);
      json.number(value[i]!);
      json.token(COMMA);
      json.number(weight[i]!);
      json.token(ROW_END);
    },
  });
  json.raw(`,"positions_total":${positions.total}`);
}

function writeTransactions(json: JsonWriter, { transactions, costRate }: RecordedPortfolio, text: RowTexts): void {
  const { total, at, columns, notional, price, reason, isFree } = transactions;
  json.raw(`,"transactions_total":${total},"transactions":`);
  writeTable(json, {
    columns: ['date', 'asset_id', 'side', 'units', 'price', 'notional', 'cost', 'reason'],
    count: at.length,
    writeRow(i) {
      const money = Math.abs(notional[i]!);
      json.token(text.dates[at[i]!]!);
      json.token(text.names[columns[i]!]!);
      json.token(notional[i]! > 0 ? BUY : SELL);
      json.number(money / price[i]!);
      json.token(COMMA);
      json.number(price[i]!);
      json.token(COMMA);
      json.number(money);
      json.token(COMMA);
      json.number(isFree[i] === 1 ? 0 : costRate * money);
      json.token(REASONS[reason[i]!]!);
    },
  });
}

const COMMA = jsonToken(',');
const BUY = jsonToken('"buy",');
const SELL = jsonToken('"sell",');
const ROW_END = jsonToken(']');
const REASONS = TRADE_REASONS.map((reason) => jsonToken(`,"${reason}"]`));

interface RowTexts {
  readonly dates: readonly Uint8Array[];
  readonly names: readonly Uint8Array[];
}

/** Beginnings of long-form rows: `["2024-01-02",` by date of a book and `"AAPL",` by name. */
function rowTexts(days: Int32Array, identifiers: readonly string[]): RowTexts {
  return {
    dates: Array.from(days, (day) => jsonToken(`[${dayText(day)},`)),
    names: identifiers.map((identifier) => jsonToken(`${JSON.stringify(identifier)},`)),
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

export function writeUnfilled(json: JsonWriter, unfilled: readonly RecordedOrder[]): void {
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
  json.value(rows.toSorted((a, b) => compareText(a.date, b.date) || compareText(a.asset_id, b.asset_id)));
}
