import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { percentile } from '../percentiles.js';
import { finished, startService, type RunningService } from './service.js';
import { send } from './peers/work.js';

/**
 * Requests of one pool of connections: how many are answered a second, and processor time of the event loop for each, beside
 * bare node:http which answers the same bytes, in turns; and the latency of 5,000 a second while both workers are busy.
 * Goals, of what bare node answers: 1 in 1.08 for /health/live, in 1.22 for /health, in 1.94 for /indices (45,000, 40,000
 * and 25,000 a second where it answers 48,600); p99 10 ms. Where the client is what bounds a rate, the event loop tells more.
 */
const PATHS = { '/health/live': 1.08, '/health': 1.22, '/indices': 1.94 } as const;
const CONNECTIONS = 20;
const TURNS = 5;
const WARM_SECONDS = 5;
const SECONDS = 2;
const INDICES = 10;
const RATE = 5000;
const BUSY_SECONDS = 8;

interface Load {
  readonly requests: number;
  readonly p50: number;
  readonly p99: number;
}

if (process.argv[2] === 'bare') await serveBare();
else await measureAll();

async function measureAll(): Promise<void> {
  const service = await startService(['--workers', '2']);
  try {
    await prepare(service);
    for (const [path, goal] of Object.entries(PATHS)) await compare(service, path, goal);
    await loadWhileBusy(service);
  } finally {
    await service.stop();
  }
}

async function prepare(service: RunningService): Promise<void> {
  const store = { store_id: 'market', seed: 7, assets: 300, start: '2005-01-03', end: '2019-12-31' };
  await send(service, 'POST', '/data/synthetic', store);
  await finished(service, 'generate:market');
  for (let i = 0; i < INDICES; i++) {
    const pipeline = { weighting: { type: 'EqualWeight' } };
    const index = { id: `I${i}`, name: `Index ${i}`, calendar: 'XNYS', base_date: '2005-01-03', pipeline };
    await send(service, 'POST', '/indices', index);
  }
}

async function compare(service: RunningService, path: string, goal: number): Promise<void> {
  const bare = await startBare(await (await fetch(service.url + path)).text());
  const sides = [
    { url: service.url + path, pid: service.pid, times: [] as number[], counts: [] as number[] },
    { url: bare.url, pid: bare.child.pid!, times: [] as number[], counts: [] as number[] },
  ];
  for (const { url } of sides) await load(url, { seconds: WARM_SECONDS });
  for (let turn = 0; turn < TURNS; turn++)
    for (const { url, pid, times, counts } of turn % 2 === 0 ? sides : sides.toReversed()) {
      const before = loopTime(pid);
      const { requests } = await load(url, { seconds: SECONDS });
      times.push((1e6 * (loopTime(pid) - before)) / requests);
      counts.push(requests);
    }
  bare.child.kill();
  const [ours, theirs] = sides as [(typeof sides)[0], (typeof sides)[0]];
  const rates = [ours, theirs].map(({ counts }) => Math.round(middle(counts) / SECONDS));
  const slower = theirs.counts.map((count, i) => count / ours.counts[i]!);
  const longer = ours.times.map((time, i) => time / theirs.times[i]!);
  console.log(
    `${path.padEnd(14)} ${rates[0]} a second, bare node:http ${rates[1]}: 1 in ${spread(slower)}, goal ${goal}; event loop ${middle(ours.times).toFixed(1)} us a request, ${spread(longer)} of the bare one`,
  );
}

/** Jobs follow each other on both workers while requests come at a rate that the event loop can keep up with. */
async function loadWhileBusy(service: RunningService): Promise<void> {
  const over = new AbortController();
  const work = async (id: string): Promise<void> => {
    while (!over.signal.aborted) {
      await send(service, 'POST', `/analytics/${id}/backtest`, {});
      await finished(service, `backtest:${id}`);
    }
  };
  const busy = ['I0', 'I1'].map(work);
  const { p50, p99 } = await load(`${service.url}/health/live`, { seconds: BUSY_SECONDS, rate: RATE });
  over.abort();
  await Promise.all(busy);
  console.log(`/health/live at ${RATE} a second, both workers busy: p50 ${p50} ms, p99 ${p99} ms, goal 10`);
}

/** Loads an address from a process of its own, so that client and server do not share a thread. */
async function load(
  url: string,
  { seconds, rate }: { readonly seconds: number; readonly rate?: number },
): Promise<Load> {
  const cannon = fileURLToPath(import.meta.resolve('autocannon'));
  const limits = [
    '-c',
    String(CONNECTIONS),
    '-d',
    String(seconds),
    ...(rate === undefined ? [] : ['-R', String(rate)]),
  ];
  const child = spawn(process.execPath, [cannon, '--json', '--no-progress', ...limits, url], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  await once(child, 'close');
  const { requests, latency, non2xx, errors } = JSON.parse(text) as {
    requests: { total: number };
    latency: { p50: number; p99: number };
    non2xx: number;
    errors: number;
  };
  if (non2xx + errors > 0) throw new Error(`${non2xx} answers other than 2xx and ${errors} errors`);
  return { requests: requests.total, p50: latency.p50, p99: latency.p99 };
}

async function startBare(body: string): Promise<{ readonly url: string; readonly child: ChildProcess }> {
  const child = fork(fileURLToPath(import.meta.url), ['bare'], { env: { ...process.env, BARE_BODY: body } });
  const [port] = (await once(child, 'message')) as [number];
  return { url: `http://127.0.0.1:${port}`, child };
}

/** Answers every request with the same bytes. */
async function serveBare(): Promise<void> {
  const { createServer } = await import('node:http');
  const body = process.env['BARE_BODY']!;
  const headers = { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': Buffer.byteLength(body) };
  const server = createServer((_request, response) => {
    response.writeHead(200, headers);
    response.end(body);
  });
  server.listen(0, '127.0.0.1', () => process.send!((server.address() as { port: number }).port));
}

/** Processor time of the first thread of a process, s. */
function loopTime(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ', 1)[0]) / 1e9;
}

/** Median, and from what to what. */
function spread(ratios: readonly number[]): string {
  return `${middle(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`;
}

function middle(values: readonly number[]): number {
  return percentile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
}
