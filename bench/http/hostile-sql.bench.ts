import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { issueKey } from '#services/keys/keys.js';
import { readNumber } from '../variables.js';
import { startOn } from './service.js';

/**
 * Measures the reads of a key while another key, which can only read, sends SQL queries that need much time, memory or
 * disk, several at a time, and does not read some of the results. Ends with status 1 if the 99th percentile of the reads
 * or the memory of all processes exceeds its goal.
 */
const GOALS = { readMs: 50, megabytes: 3072 };

const QUERIES = [
  'SELECT len(list_sort(range(200000000)))',
  "SELECT sum(length(repeat('x', 300000000 + i::INT))) FROM range(8) t(i)",
  'SELECT histogram(hash(i)) FROM range(30000000) t(i)',
  "SELECT length(string_agg(repeat('x', 1000) || i, ',')) FROM range(3000000) t(i)",
  'SELECT len(list(hash(i))) FROM range(100000000) t(i)',
  'SELECT sum(r) FROM (SELECT row_number() OVER (ORDER BY hash(i)) AS r FROM range(100000000) t(i))',
  "WITH RECURSIVE r AS (SELECT repeat('x', 1000) AS a UNION ALL SELECT a || 'y' FROM r) SELECT count(*) FROM r",
  'SELECT count(DISTINCT a.i * b.i) FROM range(100000) a(i), range(100000) b(i)',
];
const UNREAD_QUERY = "SELECT repeat('x', 200) || i AS text FROM range(1000000) t(i)";
/** Concurrent queries of the hostile key whose results it reads, and whose results it does not read. */
const [QUERY_CONCURRENCY, UNREAD_CONCURRENCY] = [4, 4];
const READ_PATHS = ['/indices', '/data/stores', '/jobs', '/strategies'];
const READ_PAUSE_MS = 10;
const SAMPLE_MS = 200;

const [hostile, normal] = ['hostile', 'normal'].map((name) =>
  issueKey({ name, scopes: ['read'], expires: null }, Date.now()),
) as [ReturnType<typeof issueKey>, ReturnType<typeof issueKey>];
process.env['DIVISOR_API_KEYS'] = [hostile, normal]
  .map(({ record: { name, id, sha256 } }) => `${name}:${id}:${sha256}:read`)
  .join(',');

const folder = await mkdtemp(join(tmpdir(), 'bench-hostile-'));
const words = ['--workers', '1', '--warm-up', 'off', '--log-level', 'silent'];
const service = await startOn(join(folder, 'home'), words);
const endMs = performance.now() + readNumber('HOSTILE_SECONDS') * 1000;
const isOpen = (): boolean => performance.now() < endMs;
let peakMegabytes = 0;
const sampling = setInterval(() => (peakMegabytes = Math.max(peakMegabytes, sumMegabytes(service.pid))), SAMPLE_MS);
try {
  const attacks = [
    ...Array.from({ length: QUERY_CONCURRENCY }, (_, k) => sendQueries(k)),
    ...Array.from({ length: UNREAD_CONCURRENCY }, leaveUnread),
  ];
  const reads = await measureReads();
  await Promise.all(attacks);
  report(reads);
} finally {
  clearInterval(sampling);
  await service.stop();
  await rm(folder, { recursive: true, force: true });
}

function createRequest(query: string, signal?: AbortSignal): RequestInit {
  const headers = { 'x-api-key': hostile.key, 'content-type': 'application/json' };
  return { method: 'POST', headers, body: JSON.stringify({ query, format: 'csv' }), ...(signal && { signal }) };
}

async function sendQueries(first: number): Promise<void> {
  for (let k = first; isOpen(); k += 1) {
    const signal = AbortSignal.timeout(Math.max(1, endMs - performance.now()));
    const request = createRequest(QUERIES[k % QUERIES.length]!, signal);
    const answer = await fetch(`${service.url}/sql`, request).catch(() => undefined); // the end of the time
    await answer?.arrayBuffer().catch(() => undefined);
    if (answer?.status === 429) await sleep(500);
  }
}

/** Requests results on connections that do not read them. */
async function leaveUnread(): Promise<void> {
  const { hostname, port } = new URL(service.url);
  const { body, headers } = createRequest(UNREAD_QUERY);
  const lines = Object.entries({ host: 'localhost', ...(headers as Record<string, string>) }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  const text = `POST /sql HTTP/1.1\r\n${lines.join('\r\n')}\r\ncontent-length: ${String(body).length}\r\n\r\n${String(body)}`;
  while (isOpen()) {
    const socket: Socket = connect({ host: hostname, port: Number(port) });
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => {}); // the service closes the connection
    socket.pause().write(text);
    await Promise.race([closed, sleep(Math.max(1, endMs - performance.now()))]);
    socket.destroy();
  }
}

/** Returns the times in ms of the reads of the normal key. */
async function measureReads(): Promise<number[]> {
  const times: number[] = [];
  for (let k = 0; isOpen(); k += 1) {
    const startMs = performance.now();
    const answer = await fetch(service.url + READ_PATHS[k % READ_PATHS.length]!, {
      headers: { 'x-api-key': normal.key },
    });
    await answer.arrayBuffer();
    if (answer.status !== 200) throw new Error(`a read was answered with ${answer.status}`);
    times.push(performance.now() - startMs);
    await sleep(READ_PAUSE_MS);
  }
  return times;
}

/** Returns the resident memory of a process and its descendants, in MiB. */
function sumMegabytes(pid: number): number {
  const parents = new Map<number, { readonly parent: number; readonly megabytes: number }>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry)))
    try {
      const status = readFileSync(`/proc/${name}/status`, 'utf8');
      const read = (field: string) => Number(new RegExp(`^${field}:\\s*(\\d+)`, 'm').exec(status)?.[1] ?? 0);
      parents.set(Number(name), { parent: read('PPid'), megabytes: read('VmRSS') / 1024 });
    } catch {
      // the process has ended
    }
  const isOurs = (id: number | undefined): boolean =>
    id !== undefined && (id === pid || isOurs(parents.get(id)?.parent));
  return [...parents].reduce((sum, [id, { megabytes }]) => sum + (isOurs(id) ? megabytes : 0), 0);
}

function report(reads: readonly number[]): void {
  const sorted = reads.toSorted((a, b) => a - b);
  const readAt = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
  console.log(
    `${sorted.length} reads: median ${readAt(0.5).toFixed(1)} ms, p99 ${readAt(0.99).toFixed(1)} ms (goal ${GOALS.readMs}), maximum ${readAt(1).toFixed(1)} ms`,
  );
  console.log(`memory of all processes: at most ${peakMegabytes.toFixed(0)} MiB (goal ${GOALS.megabytes})`);
  if (!(readAt(0.99) <= GOALS.readMs) || peakMegabytes > GOALS.megabytes) process.exitCode = 1;
}
