import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { indexDecider } from '#domain/backtest/simulate/index-decider.js';
import type { Run } from '#domain/backtest/run.js';
import { runBacktest } from '#domain/backtest/run-backtest.js';
import { openColumns } from '#domain/backtest/run-file/read.js';
import { readRecord } from '#domain/backtest/run-file/record.js';
import { keptMemory } from '#domain/kept-memory.js';
import { runToColumns } from '#domain/backtest/run-file/write.js';
import { formatDay } from '#domain/days.js';
import { IndexDocument } from '#domain/documents/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { openCalendars } from '#market/serving/calendar-files.js';
import { recordJson } from '#views/record-json.js';
import { processMs, threadMs } from '../../thread-time.js';
import { seededMarket, writePanels } from '../seeded-market.js';
import { runOverviewJson, runResultJson } from '#views/run-json.js';

/**
 * Whole backtests as a worker runs them, monthly, capped, total return, with costs: decisions, books, columns, JSON and hashes; beside that the record, which is written when it is read.
 * Beside them the same outputs from vectorised numpy, in processor time of either thread, and whether both come to the same level.
 * Goals: 500 names x 5,040 sessions <= 150 ms, 3,000 x 2,520 <= 500 ms; the simulation at most numpy's time.
 */
const SIZES = [
  { names: 500, sessions: 5040 },
  { names: 3000, sessions: 2520 },
];
const REPEATS = 5;
const CAP = 0.02;
const COST_BPS = 10;
const STAMP = { runAt: '2026-01-01T00:00:00+00:00', runHash: '', storeContentHash: '', engineVersion: '' };

const calendars = openCalendars();

for (const size of SIZES) {
  const market = seededMarket(calendars, size);
  const best = { total: Infinity, process: Infinity, simulation: Infinity, decided: Infinity };
  let run: Run | undefined;
  let columns: Uint8Array | undefined;
  const first = once(market);
  for (let i = 0; i < REPEATS; i++) {
    const timed = once(market);
    ({ run, columns } = timed);
    best.total = Math.min(best.total, timed.total);
    best.process = Math.min(best.process, timed.process);
    best.simulation = Math.min(best.simulation, timed.simulation);
    best.decided = Math.min(best.decided, timed.decided);
  }
  const megabytes = (first.bytes / 1e6).toFixed(0);
  console.log(
    `${size.names} names x ${size.sessions} sessions: first ${first.total.toFixed(0)} ms, then ${best.total.toFixed(0)} ms of the thread (${best.process.toFixed(0)} of the process) for ${megabytes} MB of results; decided in ${best.decided.toFixed(0)} ms, decided, simulated and measured in ${best.simulation.toFixed(0)} ms`,
  );
  readRecordOf(columns!);
  compareWithNumpy(market, run!, best.simulation);
}

interface Timed {
  readonly run: Run;
  /** Processor milliseconds of the thread: of everything, of the run without its serialisation, and of its decisions. */
  readonly total: number;
  /** The same of everything with the threads that compile and collect beside it. */
  readonly process: number;
  readonly simulation: number;
  readonly decided: number;
  readonly bytes: number;
  readonly columns: Uint8Array;
}

function once(market: MarketData): Timed {
  const document = IndexDocument.parse({
    id: 'BENCH',
    name: 'Bench',
    calendar: 'XNYS',
    base_date: formatDay(market.dates[0]!),
    rebalance: { frequency: 'monthly' },
    pipeline: { treatment: { dividends: 'total' }, weighting: { type: 'MarketCapWeight', cap: CAP } },
  });
  const begin = threadMs();
  const beginProcess = processMs();
  let decided = 0;
  const run = runBacktest({
    market,
    calendars,
    createDecider: indexDecider,
    memory: keptMemory,
    report: (_fraction, message) => {
      if (message === 'simulating the index') decided = threadMs() - begin;
    },
    plan: {
      runId: 'BENCH',
      name: 'Bench',
      indexId: 'BENCH',
      documents: { BENCH: document },
      request: { benchmark: null, start: null, end: null, initial_capital: 1_000_000, transaction_cost_bps: COST_BPS },
    },
  });
  const simulation = threadMs() - begin;
  const columns = runToColumns(run, { contentHash: '', inPlace: true });
  const outputs = [columns, runResultJson(run, STAMP), runOverviewJson(run)];
  for (const bytes of outputs) createHash('sha256').update(bytes).digest('hex');
  const total = threadMs() - begin;
  return {
    run,
    simulation,
    decided,
    total,
    process: processMs() - beginProcess,
    columns,
    bytes: outputs.reduce((sum, { length }) => sum + length, 0),
  };
}

/** The record written from the columns, as it is when it is read. */
function readRecordOf(columns: Uint8Array): void {
  const begin = threadMs();
  const record = recordJson(readRecord(openColumns((start, end) => columns.slice(start, end))), STAMP);
  console.log(
    `  the record of ${(record.length / 1e6).toFixed(0)} MB is read in ${(threadMs() - begin).toFixed(0)} ms`,
  );
}

/** Runs the peer in a process of its own where there is one. */
function compareWithNumpy(market: MarketData, run: Run, milliseconds: number): void {
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
    // The script lies beside the sources: only TypeScript is compiled.
    const script = fileURLToPath(new URL('../../../../bench/domain/backtest/simulate.py', import.meta.url));
    const peer = JSON.parse(
      execFileSync('python3', [script, folder], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
    );
    const differs = [
      [peer.level, run.index.book.value.at(-1)!],
      [peer.value, run.portfolio.value.at(-1)!],
      [peer.uncapped, run.uncapped!.at(-1)!],
    ].map(([a, b]) => Math.abs(a - b) / b);
    console.log(
      `  numpy ${peer.numpy}: ${peer.ms[0].toFixed(0)} ms; ratio ${(milliseconds / peer.ms[0]).toFixed(2)}; levels differ by ${Math.max(...differs).toExponential(1)}`,
    );
  } catch (failure) {
    console.log(
      `  no comparison with numpy: ${failure instanceof Error ? failure.message.split('\n')[0] : String(failure)}`,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
