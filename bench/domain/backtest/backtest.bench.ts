import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import type { Run } from '#domain/backtest/run.js';
import { runBacktest } from '#domain/backtest/run-backtest.js';
import { createRunColumns, createRunFiles, openColumns, readRecord } from '#domain/backtest/run-file/columns.js';
import { allocateRetainedMemory } from '#base/memory.js';
import { computeMedian } from '#domain/base/numbers.js';
import { formatDay } from '#domain/base/time.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { encodeRecord } from '#views/json/record.js';
import { measureProcessMs, measureThreadMs } from '../../measure.js';
import { createSeededMarket, writePanels } from '../seeded-market.js';

/**
 * Measures whole backtests as a worker runs them: monthly, capped, total return, with costs. A backtest computes
 * decisions, books and columns, and hashes the columns. The record is written only when it is read, so it is measured
 * separately.
 *
 * The peer is vectorised numpy. Each side may use one thread, and the bench compares their processor times. It also
 * checks that both compute the same levels, costs and units. numpy computes arrays: levels, weights, trades with units
 * and costs, gaps, metrics. Two figures are compared with it: the part of the task with the same outputs, including
 * decisions, and the whole task, which also writes columns and hashes them.
 *
 * Goals: 500 securities x 5,040 sessions <= 150 ms, 3,000 x 2,520 <= 500 ms. The part with the same outputs takes at
 * most the time of numpy.
 *
 * Also prints the stages of a task with the default treatment by the clock, which is valid only on an idle machine, and
 * compares them with the bare simulation by numpy: the drift of the weights and the level.
 */
const SIZES = [
  { names: 500, sessions: 5040 },
  { names: 3000, sessions: 2520 },
];
const REPEATS = 5;
/** Number of runs whose stages are measured, after as many untimed ones. */
const STAGE_REPEATS = 15;
const CAP = 0.02;
const COST_BPS = 10;
const STAMP = { runAt: '2026-01-01T00:00:00+00:00', runHash: '', storeContentHash: '', engineVersion: '' };

const calendars = openCalendars();

for (const size of SIZES) {
  const market = createSeededMarket(calendars, size);
  const best = { total: Infinity, process: Infinity, simulation: Infinity, decided: Infinity };
  let run: Run | undefined;
  let columns: Uint8Array | undefined;
  let trades: TradeColumns | undefined;
  const first = timeBacktest(market);
  for (let i = 0; i < REPEATS; i++) {
    const timedRun = timeBacktest(market);
    ({ run, columns, trades } = timedRun);
    best.total = Math.min(best.total, timedRun.total);
    best.process = Math.min(best.process, timedRun.process);
    best.simulation = Math.min(best.simulation, timedRun.simulation);
    best.decided = Math.min(best.decided, timedRun.decided);
  }
  const megabytes = (first.bytes / 1e6).toFixed(0);
  console.log(
    `${size.names} names x ${size.sessions} sessions: first ${first.total.toFixed(0)} ms, then ${best.total.toFixed(0)} ms of the thread (${best.process.toFixed(0)} of the process) for ${megabytes} MB of results; decided in ${best.decided.toFixed(0)} ms, decided, simulated, traded and measured in ${best.simulation.toFixed(0)} ms`,
  );
  readRecordFrom(columns!);
  compareWithNumpy(market, run!, { ...best, trades: trades! });
  if (size.names === 500) for (const frequency of ['quarterly', 'monthly'] as const) printStages(market, frequency);
}

/** Prints the median time of each stage of a task, from the decisions to the hash of the columns. */
function printStages(market: MarketData, frequency: 'quarterly' | 'monthly'): void {
  const times = new Map<string, number[]>();
  let rebalances = 0;
  for (let repeat = -STAGE_REPEATS; repeat < STAGE_REPEATS; repeat++) {
    let [stage, since] = ['market and range', performance.now()];
    const begin = (next: string): void => {
      const now = performance.now();
      if (repeat >= 0) times.set(stage, [...(times.get(stage) ?? []), now - since]);
      [stage, since] = [next, now];
    };
    const run = runBacktest({
      market,
      calendars,
      createDecider: indexDecider,
      memory: allocateRetainedMemory,
      pricesApart: true,
      report: (_fraction, message) => {
        if (message !== stage) begin(message);
      },
      plan: {
        runId: 'BENCH',
        name: 'Bench',
        indexId: 'BENCH',
        documents: { BENCH: defineCapped(market, frequency, CAP - 1e-6 * (repeat + STAGE_REPEATS)) },
        request: {
          benchmark: null,
          start: null,
          end: null,
          initial_capital: 1_000_000,
          transaction_cost_bps: COST_BPS,
        },
      },
    });
    rebalances = run.rebalances.length;
    begin('record and columns');
    const { columns } = createRunFiles(run, { contentHash: '', inPlace: true });
    begin('SHA-256');
    createHash('sha256').update(columns).digest('hex');
    begin('end');
  }
  const medians = [...times].map(([stage, all]) => [stage, computeMedian(all)] as const);
  const total = medians.reduce((sum, [, ms]) => sum + ms, 0);
  console.log(`  stages, ${frequency} (${rebalances} rebalances), ${total.toFixed(0)} ms by the clock:`);
  for (const [stage, ms] of medians)
    console.log(
      `    ${stage.padEnd(26)} ${ms.toFixed(1).padStart(6)} ms ${((100 * ms) / total).toFixed(0).padStart(4)}%`,
    );
}

function defineCapped(market: MarketData, frequency: 'quarterly' | 'monthly', cap: number): IndexDocument {
  return IndexDocument.parse({
    id: 'BENCH',
    name: 'Bench',
    calendar: 'XNYS',
    base_date: formatDay(market.dates[0]!),
    rebalance: { frequency },
    pipeline: { treatment: { dividends: 'total' }, weighting: { type: 'MarketCapWeight', cap } },
  });
}

interface TimedRun {
  readonly run: Run;
  /** Units, money and cost of every trade, which numpy computes as well. */
  readonly trades: TradeColumns;
  /**
   * Processor times of the thread in ms. `total` is the time of the whole task. `simulation` is the time of the run and
   * its trades, without serialisation. `decided` is the time of its decisions.
   */
  readonly total: number;
  /** Processor time of the whole process, including the compiler and garbage collector threads. */
  readonly process: number;
  readonly simulation: number;
  readonly decided: number;
  readonly bytes: number;
  readonly columns: Uint8Array;
}

function timeBacktest(market: MarketData): TimedRun {
  const document = IndexDocument.parse({
    id: 'BENCH',
    name: 'Bench',
    calendar: 'XNYS',
    base_date: formatDay(market.dates[0]!),
    rebalance: { frequency: 'monthly' },
    // The peer reinvests a dividend in the security that paid it.
    pipeline: {
      treatment: { dividends: 'total', reinvestment: 'constituent' },
      weighting: { type: 'MarketCapWeight', cap: CAP },
    },
  });
  const begin = measureThreadMs();
  const beginProcess = measureProcessMs();
  let decidedMs = 0;
  const run = runBacktest({
    market,
    calendars,
    createDecider: indexDecider,
    memory: allocateRetainedMemory,
    report: (_fraction, message) => {
      if (message === 'simulating the index') decidedMs = measureThreadMs() - begin;
    },
    plan: {
      runId: 'BENCH',
      name: 'Bench',
      indexId: 'BENCH',
      documents: { BENCH: document },
      request: { benchmark: null, start: null, end: null, initial_capital: 1_000_000, transaction_cost_bps: COST_BPS },
    },
  });
  const trades = computeTradeColumns(run, market);
  const simulation = measureThreadMs() - begin;
  const columns = createRunColumns(run, { contentHash: '', inPlace: true });
  createHash('sha256').update(columns).digest('hex');
  const total = measureThreadMs() - begin;
  return {
    run,
    trades,
    simulation,
    decided: decidedMs,
    total,
    process: measureProcessMs() - beginProcess,
    columns,
    bytes: columns.length,
  };
}

/** Reads the record from the columns as a request does, and prints the time. */
function readRecordFrom(columns: Uint8Array): void {
  const begin = measureThreadMs();
  const record = encodeRecord(readRecord(openColumns((start, end) => columns.slice(start, end))), STAMP);
  console.log(
    `  the record of ${(record.length / 1e6).toFixed(0)} MB is read in ${(measureThreadMs() - begin).toFixed(0)} ms`,
  );
}

interface TradeColumns {
  /** One array element per trade, on the share basis of the session of the trade. */
  readonly units: Float64Array;
  readonly money: Float64Array;
  readonly costs: Float64Array;
}

/** Returns the trade columns of a run of the service. numpy computes the same columns as part of its run. */
function computeTradeColumns({ trades, portfolio }: Run, market: MarketData): TradeColumns {
  const { count, at, slot, notional } = trades;
  const close = market.fields.get('CLOSE')!;
  const width = market.identifiers.length;
  const [units, money, costs] = [new Float64Array(count), new Float64Array(count), new Float64Array(count)];
  for (let i = 0; i < count; i++) {
    const price = close[at[i]! * width + portfolio.columns[slot[i]!]!]!; // every session of the market is in the run
    money[i] = Math.abs(notional[i]!);
    units[i] = notional[i]! / price;
    costs[i] = (COST_BPS / 10_000) * money[i]!;
  }
  return { units, money, costs };
}

type BacktestComparison = Pick<TimedRun, 'trades' | 'simulation' | 'total' | 'process'>;

/** Runs the peer in a separate process if it is installed. */
function compareWithNumpy(market: MarketData, run: Run, { trades, ...times }: BacktestComparison): void {
  const folder = mkdtempSync(join(tmpdir(), 'bench-backtest-'));
  try {
    const { names, sessions } = writePanels(folder, market);
    writeFileSync(
      join(folder, 'rebalances.i32'),
      Int32Array.from(run.rebalances, ({ session }) => session),
    );
    writeFileSync(
      join(folder, 'shape.json'),
      JSON.stringify({ names, sessions, repeats: REPEATS, cap: CAP, cost: COST_BPS / 10_000 }),
    );
    // The compiler copies only TypeScript, so the script is in the source folder.
    const script = fileURLToPath(new URL('../../../../bench/domain/backtest/simulate.py', import.meta.url));
    const peer = JSON.parse(
      execFileSync('python3', [script, folder], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
    );
    const differences = [
      [peer.level, run.index.book.value.at(-1)!],
      [peer.value, run.portfolio.value.at(-1)!],
      [peer.uncapped, run.uncapped!().value.at(-1)!],
      [peer.costs, sumValues(trades.costs)],
      [peer.units, sumValues(trades.units.map(Math.abs))],
    ].map(([a, b]) => Math.abs(a - b) / b);
    const [numpy] = peer.ms;
    const formatRatio = (milliseconds: number): string => (milliseconds / numpy).toFixed(2);
    console.log(
      `  numpy ${peer.numpy}: ${numpy.toFixed(0)} ms, its bare simulation ${peer.bare[0].toFixed(0)} ms; of numpy: the part with the same outputs ${formatRatio(times.simulation)}, the whole task ${formatRatio(times.total)} (thread; ${formatRatio(times.process)} by the process); levels, costs and units differ by ${Math.max(...differences).toExponential(1)}`,
    );
  } catch (failure) {
    console.log(
      `  no comparison with numpy: ${failure instanceof Error ? failure.message.split('\n')[0] : String(failure)}`,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function sumValues(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0);
}
