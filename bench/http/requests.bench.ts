import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { computeMedian } from '#domain/base/numbers.js';
import { startService, waitForIdle, waitForJob, type RunningService } from './service.js';
import { send } from './peers/works.js';

/**
 * Measures requests over one pool of connections: responses per second, and processor time of the event loop per
 * request. The service alternates with bare node:http and with an application of Hono that has one route, which return the
 * same body and headers. Then the bench measures the latency at 5,000 requests per second while both
 * workers are busy. Goals: 15,000 per second for /health/live and 10,000 for /indices on a free machine with two cores;
 * p99 15 ms. The client reads all headers and may be slower than the service. Then the time of the event loop is the
 * better measure.
 */
const PATHS = { '/health/live': 15_000, '/indices': 10_000 } as const;
const CONNECTIONS = 20;
const TURNS = 5;
const WARM_SECONDS = 2;
const SECONDS = 1;
const INDICES = 10;
const RATE = 5000;
const BUSY_SECONDS = 8;

interface Load {
  readonly requests: number;
  readonly p50: number;
  readonly p99: number;
}

const [, , peer] = process.argv;
if (peer === 'node:http' || peer === 'hono') await servePeer(peer);
else await measureAll();

async function measureAll(): Promise<void> {
  const service = await startService(['--workers', '2']);
  try {
    await prepare(service);
    await waitForIdle(service); // idle threads prepare results after a start
    for (const [path, goal] of Object.entries(PATHS)) await compare(service, path, goal);
    await loadWhileBusy(service);
  } finally {
    await service.stop();
  }
}

async function prepare(service: RunningService): Promise<void> {
  const store = { store_id: 'market', seed: 7, assets: 300, start: '2005-01-03', end: '2019-12-31' };
  await send(service, 'POST', '/data/synthetic', store);
  await waitForJob(service, 'generate:market');
  for (let i = 0; i < INDICES; i++) {
    const pipeline = { weighting: { type: 'EqualWeight' } };
    const index = { id: `I${i}`, name: `Index ${i}`, calendar: 'XNYS', base_date: '2005-01-03', pipeline };
    await send(service, 'POST', '/indices', index);
  }
}

async function compare(service: RunningService, path: string, goal: number): Promise<void> {
  const sides = [createSide(service.url + path, service.pid)];
  const answer = await fetch(service.url + path);
  const body = await answer.text();
  const headers = listSentHeaders(answer.headers);
  const peers = [await startPeer('node:http', body, headers), await startPeer('hono', body, headers)];
  for (const { url, child } of peers) sides.push(createSide(url + path, child.pid!));
  for (const { url } of sides) await load(url, { seconds: WARM_SECONDS });
  for (let turn = 0; turn < TURNS; turn++)
    for (const { url, pid, times, counts } of turn % 2 === 0 ? sides : sides.toReversed()) {
      const before = readLoopTime(pid);
      const { requests } = await load(url, { seconds: SECONDS });
      times.push((1e6 * (readLoopTime(pid) - before)) / requests);
      counts.push(requests);
    }
  for (const { child } of peers) child.kill();
  const [ours, bare, hono] = sides as [Side, Side, Side];
  console.log(
    `${path.padEnd(14)} ${computeRate(ours)} a second, goal ${goal}, event loop ${computeMedian(ours.times).toFixed(1)} us a request; ` +
      `bare node:http with these headers ${computeRate(bare)}: 1 in ${formatRatios(computeRateRatios(ours, bare))}, ` +
      `event loop ${formatRatios(computeTimeRatios(ours, bare))} of it; one route of Hono ${computeRate(hono)}: ` +
      `1 in ${formatRatios(computeRateRatios(ours, hono))}, event loop ${formatRatios(computeTimeRatios(ours, hono))} of it`,
  );
}

/**
 * A server under load. For each turn, `times` has the processor time of its event loop per request in us, and `counts`
 * the number of requests.
 */
interface Side {
  readonly url: string;
  readonly pid: number;
  readonly times: number[];
  readonly counts: number[];
}

function createSide(url: string, pid: number): Side {
  return { url, pid, times: [], counts: [] };
}

function computeRate({ counts }: Side): number {
  return Math.round(computeMedian(counts) / SECONDS);
}

/** Returns the number of responses of the peer divided by that of the service, by turn. */
function computeRateRatios(ours: Side, other: Side): number[] {
  return other.counts.map((count, i) => count / ours.counts[i]!);
}

function computeTimeRatios(ours: Side, other: Side): number[] {
  return ours.times.map((time, i) => time / other.times[i]!);
}

/** Returns the headers of a response except those that node:http adds by itself. */
function listSentHeaders(headers: Headers): Record<string, string> {
  const transportHeaders = new Set(['connection', 'date', 'keep-alive']);
  return Object.fromEntries([...headers].filter(([name]) => !transportHeaders.has(name)));
}

/** Keeps both workers busy with consecutive jobs while requests arrive at a rate that the event loop can sustain. */
async function loadWhileBusy(service: RunningService): Promise<void> {
  const stopController = new AbortController();
  const submitRepeatedly = async (id: string): Promise<void> => {
    while (!stopController.signal.aborted) {
      await send(service, 'POST', `/analytics/${id}/backtest`, {});
      await waitForJob(service, `backtest:${id}`);
    }
  };
  const busyLoops = ['I0', 'I1'].map(submitRepeatedly);
  const { p50, p99 } = await load(`${service.url}/health/live`, { seconds: BUSY_SECONDS, rate: RATE });
  stopController.abort();
  await Promise.all(busyLoops);
  console.log(`/health/live at ${RATE} a second, both workers busy: p50 ${p50} ms, p99 ${p99} ms, goal 15`);
}

/** Loads an address from a separate process, so that client and server do not share a thread. */
async function load(
  url: string,
  { seconds, rate }: { readonly seconds: number; readonly rate?: number },
): Promise<Load> {
  const cannonPath = fileURLToPath(import.meta.resolve('autocannon'));
  const limits = [
    '-c',
    String(CONNECTIONS),
    '-d',
    String(seconds),
    ...(rate === undefined ? [] : ['-R', String(rate)]),
  ];
  const child = spawn(process.execPath, [cannonPath, '--json', '--no-progress', ...limits, url], {
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

async function startPeer(
  name: 'node:http' | 'hono',
  body: string,
  headers: Record<string, string>,
): Promise<{ readonly url: string; readonly child: ChildProcess }> {
  const env = { ...process.env, BARE_BODY: body, BARE_HEADERS: JSON.stringify(headers) };
  const child = fork(fileURLToPath(import.meta.url), [name], { env });
  const [port] = (await once(child, 'message')) as [number];
  return { url: `http://127.0.0.1:${port}`, child };
}

/** Responds to every request with the same bytes. */
async function servePeer(name: 'node:http' | 'hono'): Promise<void> {
  const { createServer } = await import('node:http');
  const body = process.env['BARE_BODY']!;
  const headers = JSON.parse(process.env['BARE_HEADERS']!) as Record<string, string>;
  const listener = name === 'hono' ? await createHonoListener(body, headers) : createBareListener(body, headers);
  const server = createServer(listener);
  server.listen(0, '127.0.0.1', () => process.send!((server.address() as { port: number }).port));
}

function createBareListener(body: string, headers: Record<string, string>): RequestListener {
  return (_request, response) => {
    response.writeHead(200, headers);
    response.end(body);
  };
}

async function createHonoListener(body: string, headers: Record<string, string>): Promise<RequestListener> {
  const { Hono } = await import('hono');
  const { getRequestListener } = await import('@hono/node-server');
  const app = new Hono();
  for (const path of Object.keys(PATHS)) app.get(path, () => new Response(body, { status: 200, headers }));
  return getRequestListener((request) => app.fetch(request));
}

/** Returns the processor time of the first thread of a process, s. */
function readLoopTime(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ', 1)[0]) / 1e9;
}

/** Formats the median and the range of ratios. */
function formatRatios(ratios: readonly number[]): string {
  return `${computeMedian(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`;
}
