import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { computeMedian } from '#domain/base/numbers.js';
import { formatDay } from '#domain/base/time.js';
import { writeMarket } from '#market/content/managed-folder.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { createSeededMarket, writePanels } from '../domain/seeded-market.js';
import { send, WORKS, type SharedMarket, type ComparedWork } from './peers/works.js';
import { waitForIdle, startService, readServiceThreads, type RunningService } from './service.js';

/**
 * Measures the wall-clock time of a backtest, a risk model and an optimisation in three situations: the first jobs of a
 * service that started ten seconds before with a served store, later jobs, and jobs while another process occupies one
 * processor. For the first jobs it also measures the time of the event loop and of the busiest thread, which work one
 * after the other. Other load on the machine affects these times less.
 */
const SIZE = { names: 500, sessions: 5033 };
const STARTED_MS = 10_000;
const LATER_REQUESTS = 9;
const STARTS = 3;

interface Cost {
  readonly clock: number;
  readonly threads: number;
}

const timedWorks = ['backtest, quarterly', 'risk model', 'frontier'].map((name) =>
  WORKS.find((work) => work.name.startsWith(name))!,
);
const folder = await mkdtemp(join(tmpdir(), 'bench-circumstances-'));
let service = await startService(['--data-roots', folder]);
try {
  const market = await serveMarket(service);
  for (const work of timedWorks) await work.prepare(service, market);
  const firsts = timedWorks.map((): Cost[] => []);
  for (let start = 0; start < STARTS; start++)
    for (const [k, work] of timedWorks.entries()) {
      service = await service.restart();
      await sleep(STARTED_MS);
      firsts[k]!.push(await measureCost(work, market, -1 - start));
    }
  for (const work of timedWorks)
    for (let turn = 0; turn < LATER_REQUESTS; turn++) await measureCost(work, market, turn);
  console.log(`${'clock, ms, medians'.padEnd(56)}  later  first  ratio  busy  ratio  threads: later  first  ratio`);
  for (const [k, work] of timedWorks.entries()) {
    const [quiet, busy]: [Cost[], Cost[]] = [[], []];
    for (let turn = 0; turn < LATER_REQUESTS; turn++) {
      quiet.push(await measureCost(work, market, LATER_REQUESTS + 2 * turn));
      busy.push(await runDuringLoad(() => measureCost(work, market, LATER_REQUESTS + 2 * turn + 1)));
    }
    const findMedian = (costs: readonly Cost[], figure: keyof Cost) => computeMedian(costs.map((cost) => cost[figure]));
    const [laterCost, firstCost, loadedCost] = [
      findMedian(quiet, 'clock'),
      findMedian(firsts[k]!, 'clock'),
      findMedian(busy, 'clock'),
    ];
    const [laterThreads, firstThreads] = [findMedian(quiet, 'threads'), findMedian(firsts[k]!, 'threads')];
    const cells = [laterCost, firstCost, firstCost / laterCost, loadedCost, loadedCost / laterCost];
    cells.push(laterThreads, firstThreads, firstThreads / laterThreads);
    console.log(
      work.name.padEnd(56),
      cells.map((value, c) => value.toFixed(c === 2 || c === 4 || c === 7 ? 2 : 0).padStart(c === 5 ? 16 : 6)).join(''),
    );
  }
} finally {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
}

async function serveMarket(of: RunningService): Promise<SharedMarket> {
  const market = createSeededMarket(openCalendars(), SIZE);
  const storeFolder = join(folder, 'store');
  await writeMarket(storeFolder, market, () => {});
  const size = writePanels(folder, market);
  const body = { store_id: 'bench', name: 'Bench', kind: 'folder', location: storeFolder, activate: true };
  await send(of, 'POST', '/data/stores', body);
  await waitForIdle(of);
  return { folder, ...size, dates: Array.from(market.dates, formatDay) };
}

async function measureCost(work: ComparedWork, market: SharedMarket, turn: number): Promise<Cost> {
  await work.vary?.(service, market, turn);
  const [before, begin] = [readServiceThreads(service), performance.now()];
  await work.run(service);
  const clock = performance.now() - begin;
  const serviceThread = `${service.pid}`;
  const spentMs = new Map(Array.from(readServiceThreads(service), ([id, ms]) => [id, ms - (before.get(id) ?? 0)]));
  const otherThreadMs = [...spentMs].flatMap(([id, ms]) => (id === serviceThread ? [] : [ms]));
  return { clock, threads: spentMs.get(serviceThread)! + Math.max(...otherThreadMs) };
}

/** Runs a function while another process occupies a processor. */
async function runDuringLoad<T>(work: () => Promise<T>): Promise<T> {
  const other = spawn(process.execPath, ['--eval', 'for (;;) {}'], { stdio: 'ignore' });
  try {
    await sleep(300);
    return await work();
  } finally {
    other.kill('SIGKILL');
  }
}
