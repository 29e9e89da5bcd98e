import { concentration } from '#domain/analytics/concentration.js';
import type { Composition } from '#domain/backtest/compositions.js';
import type { Run } from '#domain/backtest/run.js';
import { formatDay, formatDayTimestamp } from '#domain/days.js';
import { LIMITS } from '#domain/limits.js';
import { writeBenchmarkBook, writeIndexBook } from './book-json.js';
import { createJsonWriter, type JsonWriter } from './json-writer.js';
import { writePortfolio, writeUnfilled } from './portfolio-json.js';
import { daysText, writeSeries } from './series-json.js';
import { writeSnapshots } from './snapshots-json.js';

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

/** Bytes of a weight with its comma, and of a row of the tables. */
const WEIGHT_BYTES = 23;
const TRANSACTION_BYTES = 150;
const POSITION_BYTES = 120;
const TRANSACTIONS_EXPECTED = 1_000_000;
/** Bytes of a date and of a value of a series. */
const SERIES_BYTES = 36;

function resultBytes({ days, rebalances }: Run): number {
  return 100_000 + 2.6 * WEIGHT_BYTES * rebalances.reduce((sum, { columns }) => sum + columns.length, 0) + 6 * SERIES_BYTES * days.length;
}

/** Room for the larger texts of a run: too much costs nothing before it is written to. */
function estimatedBytes(run: Run): number {
  const { portfolio, index, parent, benchmark, rebalances, trades } = run;
  const books = [index.book, portfolio, parent?.book, benchmark?.index?.book].filter((book) => book !== undefined);
  const frames = books.reduce((sum, { length, columns }) => sum + Math.min(length, LIMITS.MAX_WEIGHT_DATES) * columns.length, 0);
  const snapshots = rebalances.reduce((sum, { columns }) => sum + columns.length, 0) * books.length;
  const series = books.reduce((sum, { length }) => sum + 4 * length, 0);
  return 100_000 + WEIGHT_BYTES * frames + 2.6 * WEIGHT_BYTES * snapshots + TRANSACTION_BYTES * Math.min(trades.count, TRANSACTIONS_EXPECTED) + POSITION_BYTES * LIMITS.MAX_POSITION_ROWS + SERIES_BYTES * series;
}
