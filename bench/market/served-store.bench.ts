import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { pino } from 'pino';
import { start, stop } from '#cli/serve.js';
import { readSettings } from '#cli/settings.js';
import { openCalendars } from '#market/serving/calendar-files.js';
import type { MarketContent } from '#market/content/market-content.js';
import { generateMarket } from '#market/synthetic/generate-market.js';
import { writeMarket } from '#market/content/write-market.js';
import { sessionsBetween } from '#services/datasets/synthetic-dataset.js';
import { benchMarket } from './synthetic-spec.js';

/**
 * A running service over Parquet folders of 500 names and 20 years: how long a refresh takes that appends one day, and what
 * those who read the served store notice of another that is being loaded.
 */
const DAYS = 5;

/** How often another store is loaded, and how many names are asked for in turn meanwhile. */
const LOADS = 4;
const NAMES = 40;

/** Asks some addresses in turn, again and again, in a thread of its own, and gives the times it took in ascending order. */
const CLIENT = `
  const { parentPort, workerData } = require('node:worker_threads');
  let isStopped = false;
  parentPort.once('message', () => { isStopped = true; });
  (async () => {
    const times = [];
    for (let n = 0; !isStopped; n++) {
      const begun = performance.now();
      await (await fetch(workerData[n % workerData.length])).arrayBuffer();
      times.push(performance.now() - begun);
      if (n === 20) { times.length = 0; parentPort.postMessage('warm'); }
    }
    parentPort.postMessage(times.sort((a, b) => a - b));
  })();`;

const base = await mkdtemp(join(tmpdir(), 'divisor-bench-'));
const sessions = sessionsBetween(openCalendars().get('XNYS')!.sessions, '2000-01-01', '2020-01-31');
const whole = generateMarket(benchMarket({ sessions, listingsPerYear: 0 }), () => {});
const held = sessions.length - DAYS;
for (const store of ['served', 'loading']) await writePart(store, 0, held);

const { settings } = readSettings(
  ['--home', join(base, 'home'), '--port', '0', '--workers', '1', '--drain-ms', '0', '--data-roots', base],
  {},
);
const running = await start(settings, pino({ level: 'silent' }));
try {
  await ask('POST', '/data/stores', {
    store_id: 'served',
    name: 'served',
    kind: 'folder',
    location: join(base, 'served'),
    activate: true,
  });
  await measureLoad();
  const times: number[] = [];
  for (let day = 0; day < DAYS; day++) {
    await writePart('served', held + day, held + day + 1);
    times.push(await timed('POST', '/data/stores/served/refresh', 'refresh:served'));
  }
  console.log(`refresh of one day on ${whole.identifiers.length} names x ${held} days: ${timesText(times)}`);
} finally {
  await stop({ ...running, drainMs: 0 });
  await rm(base, { recursive: true, force: true });
}

/** Reads the served store all the while another is registered, then activated, and so on. */
async function measureLoad(): Promise<void> {
  const loads = [
    [
      'registering',
      () =>
        ask('POST', '/data/stores', {
          store_id: 'loading',
          name: 'loading',
          kind: 'folder',
          location: join(base, 'loading'),
        }),
      () => ask('DELETE', '/data/stores/loading'),
    ],
    [
      'activating',
      () => timed('POST', '/data/stores/loading/activate', 'load:loading'),
      () => timed('POST', '/data/stores/served/activate', 'load:served'),
    ],
  ] as const;
  for (const [what, load, undo] of loads) {
    if (what === 'activating') await loads[0][1]();
    const latencies: number[] = [];
    let seconds = 0;
    let stall = 0;
    for (let n = 0; n < LOADS; n++) {
      const addresses = whole.identifiers.slice(0, NAMES).map((name) => `${running.server.url}/data/prices/${name}`);
      const client = new Worker(CLIENT, { eval: true, workerData: addresses });
      await new Promise((resolve) => client.once('message', resolve));
      const watch = watchLoop();
      const start = performance.now();
      await load();
      seconds += (performance.now() - start) / 1000;
      stall = Math.max(stall, watch());
      latencies.push(
        ...(await new Promise<number[]>((resolve) => {
          client.once('message', resolve);
          client.postMessage('stop', []);
        })),
      );
      await client.terminate();
      await undo();
    }
    latencies.sort((a, b) => a - b);
    const at = (share: number) => latencies[Math.min(latencies.length - 1, Math.floor(share * latencies.length))]!;
    console.log(
      `${what} another store ${LOADS} times (${(seconds / LOADS).toFixed(2)} s each): ${latencies.length} GETs of the served one, p50 ${at(0.5).toFixed(1)} ms  p99 ${at(0.99).toFixed(1)} ms  longest ${latencies.at(-1)!.toFixed(1)} ms  longest stall ${stall.toFixed(1)} ms`,
    );
  }
}

/** Longest time the event loop was away, ms. */
function watchLoop(): () => number {
  let longest = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last - 5);
    last = now;
  }, 5);
  return () => {
    clearInterval(timer);
    return longest;
  };
}

async function ask(method: string, path: string, body?: unknown): Promise<unknown> {
  const response = await fetch(running.server.url + path, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer: unknown = response.status === 204 ? null : await response.json();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${JSON.stringify(answer)}`);
  return answer;
}

async function finished(jobId: string): Promise<void> {
  for (;;) {
    const { status, error } = (await ask('GET', `/jobs/${jobId}?wait=30`)) as {
      readonly status: string;
      readonly error: unknown;
    }; // as the contract says
    if (status === 'succeeded') return;
    if (status !== 'pending' && status !== 'running') throw new Error(`${jobId} ${status}: ${JSON.stringify(error)}`);
  }
}

async function timed(method: string, path: string, jobId: string): Promise<number> {
  const start = performance.now();
  await ask(method, path, jobId.startsWith('refresh') ? {} : undefined);
  await finished(jobId);
  return performance.now() - start;
}

/** Days `from` to before `to` of the whole market as one more file of a store; its tables beside the first. */
async function writePart(store: string, from: number, to: number): Promise<void> {
  const assets = whole.identifiers.length;
  const fields = new Map([...whole.fields].map(([name, panel]) => [name, panel.slice(from * assets, to * assets)]));
  const none = { reference: { columns: [], rows: new Map() }, actions: [], universes: [] };
  const part: MarketContent = {
    identifiers: whole.identifiers,
    dates: sessions.slice(from, to),
    fields,
    ...(from === 0 ? { reference: whole.reference, actions: whole.actions, universes: whole.universes } : none),
  };
  const folder = join(base, store, `part-${from}`);
  await writeMarket(folder, part, () => {});
  await mkdir(join(base, store, 'market'), { recursive: true });
  for (const file of await readdir(folder))
    await rename(
      join(folder, file),
      file === 'market.parquet' ? join(base, store, 'market', `part-${from}.parquet`) : join(base, store, file),
    );
  await rm(folder, { recursive: true });
}

function timesText(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  return `first ${times[0]!.toFixed(0)} ms  min ${sorted[0]!.toFixed(0)} ms  median ${sorted[sorted.length >> 1]!.toFixed(0)} ms`;
}
