import { compareText } from '#domain/findings.js';
import { formatDay, formatDayTimestamp } from '#domain/days.js';
import { LIMITS } from '#domain/limits.js';
import { concentration } from '#domain/analytics/concentration.js';
import type { Book } from '#domain/backtest/book.js';
import type { Composition } from '#domain/backtest/compositions.js';
import { latestPositions, tradePrices } from '#domain/backtest/portfolio.js';
import type { IndexRun, Run } from '#domain/backtest/run.js';
import { TRADE_REASONS } from '#domain/backtest/trades.js';
import type { SessionMarket } from '#domain/market/session-market.js';
import { createJsonWriter, jsonToken, type JsonWriter } from './json-writer.js';

/** What stands beside the numbers of a run. */
export interface RunStamp {
  /** Capture time, ISO-8601 UTC with offset. */
  readonly runAt: string;
  readonly runHash: string;
  readonly storeContentHash: string;
  readonly engineVersion: string;
}

/** Weights written in the snapshots of one result, most recent first: some 60 MB of text. */
const SNAPSHOT_CELLS_MAX = 2_000_000;

/** BacktestRunResult: the result of the job. */
export function runResultJson(run: Run, stamp: RunStamp): Uint8Array<ArrayBuffer> {
  const json = createJsonWriter(resultBytes(run));
  const { days, portfolio } = run;
  const within = servedSnapshots(run.rebalances);
  json.raw('{"annual_returns":{');
  run.annualReturns.forEach(([year, value], i) => {
    json.raw(`${i === 0 ? '' : ','}"${year}":`);
    json.number(value);
  });
  json.raw('},"benchmark":');
  writeRelative(json, run);
  const dates = daysText(days);
  writeSeries(json, { key: 'drawdown', name: 'drawdown', dates, values: run.drawdown });
  writeSeries(json, { key: 'index_level', name: 'index_level', dates, values: run.indexLevel });
  json.raw(',"initial_capital":');
  json.number(run.plan.request.initial_capital);
  writeSeries(json, { key: 'level', name: 'level', dates, values: run.level });
  json.raw(',"metrics":');
  json.value(run.metrics);
  writeGapsAndPricing(json, run);
  json.raw(',"rebalances":');
  writeSnapshots(json, portfolio.sm, within);
  json.raw(`,"rebalances_total":${run.rebalances.length}`);
  writeSeries(json, { key: 'returns', name: 'returns', dates: daysText(days.subarray(1)), values: run.returns });
  json.raw(',"total_costs":');
  json.number(run.totalCosts);
  writeProvenance(json, run, stamp);
  json.raw('}');
  return json.bytes();
}

/** BacktestResultSummary: the stored record. */
export function runRecordJson(run: Run, stamp: RunStamp): Uint8Array<ArrayBuffer> {
  const json = createJsonWriter(estimatedBytes(run));
  json.raw('{"benchmark":');
  writeBenchmarkBook(json, run);
  json.raw(',"index":{"target":');
  const shared = writeIndexBook(json, run.parent ?? run.index);
  json.raw(',"optimised":');
  const optimised = run.parent ? writeIndexBook(json, run.index) : null;
  if (optimised === null) json.raw('null');
  json.raw('},"metrics":');
  json.value(run.metrics);
  json.raw(',"portfolio":');
  writePortfolio(json, run, optimised ?? shared);
  writeGapsAndPricing(json, run);
  json.raw(',"run_at":');
  json.string(stamp.runAt);
  json.raw(',"unfilled":');
  writeUnfilled(json, run);
  writeProvenance(json, run, stamp);
  json.raw('}');
  return json.bytes();
}

/** OverviewView, under the id and the name the run is stored by. */
export function runOverviewJson(run: Run): Uint8Array<ArrayBuffer> {
  const json = createJsonWriter();
  const { days, rebalances, plan } = run;
  const last = rebalances.at(-1)!;
  json.raw('{"index_id":');
  json.string(plan.runId);
  json.raw(',"name":');
  json.string(plan.name);
  json.raw(',"concentration":');
  json.value(concentration(last.weights));
  writeSeries(json, { key: 'level', name: 'level', dates: daysText(days), values: run.level });
  json.raw(',"metrics":');
  json.value(run.metrics);
  json.raw(`,"observations":${days.length},"rebalances":${run.rebalancesWithin},"last_rebalance":"${formatDay(last.date)}"`);
  json.raw(`,"start":"${formatDay(days[0]!)}","end":"${formatDay(days.at(-1)!)}"}`);
  return json.bytes();
}

function resultBytes({ days, rebalances }: Run): number {
  return 100_000 + 2.6 * WEIGHT_BYTES * rebalances.reduce((sum, { columns }) => sum + columns.length, 0) + 6 * SERIES_BYTES * days.length;
}

/** Bytes of a weight with its comma, and of a row of the tables. */
const WEIGHT_BYTES = 23;
const TRANSACTION_BYTES = 150;
const POSITION_BYTES = 120;
/** Bytes of a date and of a value of a series. */
const SERIES_BYTES = 36;

/** Room for the larger texts of a run: too much costs nothing before it is written to. */
function estimatedBytes(run: Run): number {
  const { portfolio, index, parent, benchmark, rebalances, trades } = run;
  const books = [index.book, portfolio, parent?.book, benchmark?.index?.book].filter((book) => book !== undefined);
  const frames = books.reduce((sum, { length, columns }) => sum + Math.min(length, LIMITS.MAX_WEIGHT_DATES) * columns.length, 0);
  const snapshots = rebalances.reduce((sum, { columns }) => sum + columns.length, 0) * books.length;
  const series = books.reduce((sum, { length }) => sum + 4 * length, 0);
  return 100_000 + WEIGHT_BYTES * frames + 2.6 * WEIGHT_BYTES * snapshots + TRANSACTION_BYTES * trades.count + POSITION_BYTES * LIMITS.MAX_POSITION_ROWS + SERIES_BYTES * series;
}

/** Days between which texts are kept: 1900 to 2100, far more than a market has. */
const DAY_TEXTS_FROM = -25_567;
const DAY_TEXTS_TO = 47_482;
const dayTexts: (string | undefined)[] = [];

/** A day as a JSON string, made once per thread. */
function dayText(day: number): string {
  if (day < DAY_TEXTS_FROM || day > DAY_TEXTS_TO) return `"${formatDay(day)}"`;
  return (dayTexts[day - DAY_TEXTS_FROM] ??= `"${formatDay(day)}"`);
}

/** Dates as JSON strings between commas. */
function daysText(days: Int32Array): string {
  return Array.from(days, dayText).join(',');
}

interface SeriesInput {
  readonly key: string;
  readonly name: string;
  /** Dates as `daysText` gives them. */
  readonly dates: string;
  readonly values: Float64Array;
}

function writeSeries(json: JsonWriter, { key, name, dates, values }: SeriesInput): void {
  json.raw(`,"${key}":`);
  writeSeriesBody(json, { name, dates, values });
}

function writeSeriesBody(json: JsonWriter, { name, dates, values }: Omit<SeriesInput, 'key'>): void {
  json.raw('{"index":[');
  json.raw(dates);
  json.raw('],"data":[');
  json.numbers(values);
  json.raw(`],"name":"${name}"}`);
}

function writeRelative(json: JsonWriter, { benchmark }: Run): void {
  if (!benchmark) {
    json.raw('null');
    return;
  }
  const { relative, reference, variant } = benchmark;
  const { days } = relative;
  json.raw('{"reference":');
  json.value(reference);
  json.raw(`,"start":"${formatDayTimestamp(days[0]!)}","end":"${formatDayTimestamp(days.at(-1)!)}","observations":${relative.observations}`);
  writeSeries(json, { key: 'level', name: 'level', dates: daysText(days), values: relative.level });
  const figures = {
    benchmark_return: relative.benchmarkReturn,
    total_return: relative.totalReturn,
    excess_return: relative.excessReturn,
    beta: relative.beta,
    correlation: relative.correlation,
    tracking_error: relative.trackingError,
  };
  for (const [key, value] of Object.entries(figures)) {
    json.raw(`,"${key}":`);
    json.number(value);
  }
  json.raw(`,"return_variant":"${variant}"}`);
}

function writeGapsAndPricing(json: JsonWriter, { gaps, rebalances, portfolio: { sm } }: Run): void {
  json.raw(',"price_gaps":[');
  gaps.forEach(({ session, column }, i) => {
    json.raw(i === 0 ? '{"asset_id":' : ',{"asset_id":');
    json.string(sm.identifiers[column]!);
    const bar = sm.lastBar[session * sm.names + column]!;
    json.raw(`,"date":"${formatDay(sm.sessions[session]!)}","priced_from":"${formatDay(sm.sessions[bar]!)}"}`);
  });
  json.raw('],"rebalance_pricing":[');
  rebalances.forEach(({ date, session }, i) => {
    json.raw(`${i === 0 ? '' : ','}{"date":"${formatDay(date)}","priced_from":"${formatDay(sm.sessions[session]!)}"}`);
  });
  json.raw(']');
}

function writeProvenance(json: JsonWriter, { findings }: Run, { runHash, storeContentHash, engineVersion }: RunStamp): void {
  json.raw(',"findings":');
  json.value(findings);
  json.raw(`,"run_hash":"${runHash}","store_content_hash":`);
  json.string(storeContentHash);
  json.raw(',"engine_version":');
  json.string(engineVersion);
}

/** The most recent snapshots that fit. */
function servedSnapshots(rebalances: readonly Composition[]): readonly Composition[] {
  let cells = 0;
  let from = rebalances.length;
  while (from > 0 && cells + rebalances[from - 1]!.columns.length <= SNAPSHOT_CELLS_MAX) cells += rebalances[--from]!.columns.length;
  return rebalances.slice(from);
}

function writeSnapshots(json: JsonWriter, sm: SessionMarket, rebalances: readonly Composition[]): void {
  const keys = keysOf(sm);
  json.raw('[');
  rebalances.forEach((rebalance, i) => {
    const { columns, weights, uncapped, cap, capped, redistributed, announced } = rebalance;
    json.raw(`${i === 0 ? '' : ','}{"date":${dayText(rebalance.date)},"weights":`);
    const from = json.mark();
    writeWeights(json, keys, { columns, weights });
    const to = json.mark();
    json.raw(',"uncapped_weights":');
    if (equal(weights, uncapped)) json.repeat(from, to);
    else writeWeights(json, keys, { columns, weights: uncapped });
    json.raw(`,"cap":${cap === null ? 'null' : String(cap)},"capped":[`);
    json.raw(Array.from(capped, (column) => JSON.stringify(sm.identifiers[column]!)).join(','));
    json.raw('],"redistributed":');
    json.number(redistributed);
    json.raw(`,"announced":${announced === null ? 'null' : `"${formatDay(announced)}"`}}`);
  });
  json.raw(']');
}

const keysKept = new WeakMap<SessionMarket, Uint8Array[]>();

/** Every identifier as a key behind a comma. */
function keysOf(sm: SessionMarket): Uint8Array[] {
  let keys = keysKept.get(sm);
  if (!keys) keysKept.set(sm, (keys = sm.identifiers.map((identifier) => jsonToken(`,${JSON.stringify(identifier)}:`))));
  return keys;
}

function writeWeights(json: JsonWriter, keys: readonly Uint8Array[], { columns, weights }: Pick<Composition, 'columns' | 'weights'>): void {
  json.raw('{');
  for (let k = 0; k < columns.length; k++) {
    const key = keys[columns[k]!]!;
    json.token(k === 0 ? key.subarray(1) : key);
    json.number(weights[k]!);
  }
  json.raw('}');
}

function equal(a: Float64Array, b: Float64Array): boolean {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** Where the weights frame of a book was written, so that an equal one is copied instead of formatted again. */
interface WrittenFrame {
  readonly book: Book;
  readonly from: number;
  readonly to: number;
}

function writeIndexBook(json: JsonWriter, { book, days, compositions, coverage }: IndexRun): WrittenFrame {
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

/** The most recent dates of a book by the names held on any of them. */
function writeWeightsFrame(json: JsonWriter, { sm, columns, weights, from, length }: Book): void {
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

function writeBenchmarkBook(json: JsonWriter, { benchmark }: Run): void {
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

const PORTFOLIO_ID_LENGTH = 64;

function writePortfolio(json: JsonWriter, run: Run, shared: WrittenFrame): void {
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

/** Whether two books serve the same dates, names and weights, bit for bit. */
function sameFrame(a: Book, b: Book): boolean {
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

function writeTransactions(json: JsonWriter, run: Run): void {
  const { trades, plan } = run;
  const { units, price } = tradePrices(run);
  const text = rowTexts(run.portfolio);
  const rate = plan.request.transaction_cost_bps / 10_000;
  json.raw(',"transactions":');
  writeTable(json, {
    columns: ['date', 'asset_id', 'side', 'units', 'price', 'notional', 'cost', 'reason'],
    count: trades.count,
    writeRow(i) {
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

function writeUnfilled(json: JsonWriter, { portfolio }: Run): void {
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
