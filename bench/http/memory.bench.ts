import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatDay } from '#domain/base/time.js';
import { writeMarket } from '#market/content/managed-folder.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { createSeededMarket, writePanels } from '../domain/seeded-market.js';
import { measureService, send, WORKS, type SharedMarket } from './peers/works.js';
import { startService, waitForIdle, type RunningService } from './service.js';

/**
 * Measures the memory of all processes of a service: idle, with a served store of 500 securities, after heavy jobs, and
 * after a pause, when the threads have freed memory. `resident` counts the pages of each process, `proportional` counts
 * a shared page once. Then measures backtests, of which the first computes the freed data again. Goals: 120 MB
 * proportional when idle, 400 MB resident 30 s after heavy jobs.
 */
const SIZE = { names: 500, sessions: 5033 };
/** Turns of each work. */
const TURNS = 6;
/** Backtests after the rest, whose data was freed. */
const AFTERWARDS = 3;
/** Ages of the rest at which the memory is read, in ms. */
const REST_MS = [0, 10_000, 30_000, 45_000];

/** Time between samples of a watched process. */
const SAMPLE_PAUSE_MS = 2000;

const [, , watchedPid] = process.argv;
if (watchedPid === undefined) await measureAll();
else watch(Number(watchedPid));

async function measureAll(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-memory-'));
  const service = await startService(['--data-roots', folder]);
  try {
    await sleep(REST_MS[1]!);
    print('ten seconds after the start, without a store', service);
    const market = await serveMarket(service, folder);
    print('idle, with a store', service);
    for (const work of WORKS.filter(({ name }) => /^(backtest, (quarterly|monthly)|sweep|risk|frontier)/.test(name))) {
      await work.prepare(service, market);
      for (let turn = 0; turn < TURNS; turn++) {
        await work.vary?.(service, market, turn);
        await work.run(service);
      }
      print(`after ${TURNS} turns: ${work.name}`, service);
    }
    for (const [k, age] of REST_MS.entries()) {
      await sleep(age - (REST_MS[k - 1] ?? 0));
      print(`${age / 1000} s of rest`, service);
    }
    const backtest = WORKS.find(({ name }) => name === 'backtest, quarterly')!;
    for (let turn = 0; turn < AFTERWARDS; turn++) {
      await backtest.vary!(service, market, 1000 + turn);
      const { wall, processor } = await measureService(backtest, service, false);
      console.log(`backtest ${turn + 1} after the rest: ${wall.toFixed(0)} ms, processor ${processor.toFixed(0)} ms`);
    }
  } finally {
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Samples the proportional memory of a process and its descendants until a message arrives. Then sends the highest sum
 * in MiB.
 */
function watch(pid: number): void {
  let highest = 0;
  const sample = (): void => void (highest = Math.max(highest, sumMemory(pid).Pss));
  sample();
  const timer = setInterval(sample, SAMPLE_PAUSE_MS);
  process.once('message', () => {
    clearInterval(timer);
    process.send!(Math.round(highest), () => process.disconnect());
  });
}

async function serveMarket(running: RunningService, folder: string): Promise<SharedMarket> {
  const market = createSeededMarket(openCalendars(), SIZE);
  const location = join(folder, 'store');
  await writeMarket(location, market, () => {});
  const size = writePanels(folder, market);
  await send(running, 'POST', '/data/stores', {
    store_id: 'bench',
    name: 'Bench',
    kind: 'folder',
    location,
    activate: true,
  });
  await waitForIdle(running);
  return { folder, ...size, dates: Array.from(market.dates, formatDay) };
}

function print(state: string, { pid }: RunningService): void {
  const { Rss, Pss } = sumMemory(pid);
  console.log(
    `${state.padEnd(72)} resident ${Rss.toFixed(0).padStart(5)} MiB, proportional ${Pss.toFixed(0).padStart(5)} MiB`,
  );
}

/** Returns the resident and the proportional memory of a process and its descendants, in MiB. */
function sumMemory(pid: number): { readonly Rss: number; readonly Pss: number } {
  const sums = { Rss: 0, Pss: 0 };
  for (const each of listProcesses(pid)) {
    const text = readIfAlive(`/proc/${each}/smaps_rollup`);
    for (const name of ['Rss', 'Pss'] as const)
      sums[name] += Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0) / 1024;
  }
  return sums;
}

function listProcesses(pid: number): number[] {
  const tasks = readdirSync(`/proc/${pid}/task`);
  const children = tasks.flatMap((task) =>
    readIfAlive(`/proc/${pid}/task/${task}/children`).trim().split(' ').filter(Boolean).map(Number),
  );
  return [pid, ...children.filter((child) => existsSync(`/proc/${child}/task`)).flatMap(listProcesses)];
}

/** Returns the text of a file; empty if its process has ended. */
function readIfAlive(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
