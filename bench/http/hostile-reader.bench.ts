import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { issueKey } from '#services/keys/keys.js';
import { formatSpread } from '../measure.js';
import { readNumber } from '../variables.js';
import { startOn } from './service.js';

/**
 * Measures the reads and previews of one key while another key with the scope `read` sends everything that is expensive
 * to refuse or to compute, all at once: wide and long documents, lists, expressions, large bodies of every form, definitions that double,
 * previews by cardinality, slow SQL, large results that nobody reads, and statements that need much memory. The clients
 * have separate addresses. `HOSTILE_SECONDS` sets the duration.
 */
const SECONDS = readNumber('HOSTILE_SECONDS');
const SETTLING_SECONDS = 5;
const READ_PAUSE_MS = 20;
const PREVIEW_PAUSE_MS = 1000;
/** Goals in ms, and in MiB for all processes together. */
const GOALS = { readMs: 50, previewMs: 2000, memory: 3072 };

const [hostile, normal, operator] = ['hostile', 'normal', 'operator'].map((name) =>
  issueKey({ name, scopes: name === 'operator' ? ['admin'] : ['read'], expires: null }, Date.now()),
) as [ReturnType<typeof issueKey>, ReturnType<typeof issueKey>, ReturnType<typeof issueKey>];
process.env['DIVISOR_API_KEYS'] = [hostile, normal, operator]
  .map(({ record: { name, id, sha256, scopes } }) => `${name}:${id}:${sha256}:${scopes.join('+')}`)
  .join(',');
const clients = {
  normal: { key: normal.key, localAddress: '127.0.0.1', agent: new Agent({ keepAlive: true }) },
  operator: { key: operator.key, localAddress: '127.0.0.3', agent: new Agent() },
};

const folder = await mkdtemp(join(tmpdir(), 'bench-hostile-'));
const service = await startOn(join(folder, 'home'), ['--workers', '1', '--log-level', 'silent']);
try {
  await openMarket();
  await measure();
} finally {
  for (const { agent } of Object.values(clients)) agent.destroy();
  await service.stop();
  await rm(folder, { recursive: true, force: true });
}

interface Sent {
  readonly status: number;
  readonly text: string;
  readonly ms: number;
}

function send(name: keyof typeof clients, method: string, path: string, body?: unknown): Promise<Sent> {
  const { key, localAddress, agent } = clients[name];
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
  const headers = { 'x-api-key': key, 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  const startMs = performance.now();
  return new Promise((done, failed) => {
    const sentRequest = request(service.url + path, { method, headers, localAddress, agent }, (answer) => {
      const end = (received: string) =>
        done({ status: answer.statusCode!, text: received, ms: performance.now() - startMs });
      let received = '';
      answer.setEncoding('utf8').on('data', (part: string) => (received.length < 1e6 ? (received += part) : undefined));
      answer.on('end', () => end(received)).on('error', failed);
    });
    sentRequest.on('error', failed).end(text);
  });
}

async function openMarket(): Promise<void> {
  const market = { store_id: 'market', seed: 1, assets: 500, start: '2018-01-01', end: '2024-12-31' };
  const started = await send('operator', 'POST', '/data/synthetic', market);
  if (started.status !== 202) throw new Error(started.text);
  const headers = { 'x-api-key': operator.key };
  for (let state = 'pending'; state !== 'succeeded'; await sleep(500)) {
    const answer = await fetch(`${service.url}/jobs/generate:market`, { headers });
    state = ((await answer.json()) as { status: string }).status; // type of the service's response
    if (state === 'failed') throw new Error('the market was not generated');
  }
  const index = await send('operator', 'POST', '/indices', createIndex('LARGE'));
  if (index.status >= 300) throw new Error(index.text);
}

function createIndex(id: string): Record<string, unknown> {
  return {
    id,
    name: id,
    calendar: 'XNYS',
    base_date: '2019-01-02',
    universe: { kind: 'all' },
    rebalance: { frequency: 'quarterly' },
    pipeline: {
      selection: [{ id: 'size', type: 'TopN', params: { field: 'MARKET_CAP', count: 100 } }],
      weighting: { type: 'EqualWeight' },
    },
  };
}

async function measure(): Promise<void> {
  const readings: number[] = [];
  const previews: number[] = [];
  const failures: string[] = [];
  let statuses: Readonly<Record<string, number>> = {};
  const memory = watchMemory();
  await send('normal', 'POST', '/indices/preview', { document: createIndex('Y'), as_of: '2024-06-03' });
  const end = performance.now() + SECONDS * 1000;
  const attacker = fork(new URL('hostile-client.js', import.meta.url), [
    service.url,
    hostile.key,
    String(SECONDS),
    JSON.stringify(createIndex('X')),
  ]);
  const attackerEnd = once(attacker, 'exit');
  attacker.on('message', (message) => void (statuses = message as Readonly<Record<string, number>>));
  await sleep(SETTLING_SECONDS * 1000);
  const read = async (): Promise<void> => {
    const paths = ['/indices/LARGE', '/indices', '/health/live', '/data/identifiers?limit=20'];
    for (let i = 0; performance.now() < end; i++) {
      const { status, ms } = await send('normal', 'GET', paths[i % paths.length]!);
      readings.push(ms);
      if (status !== 200) failures.push(`read ${status}`);
      await sleep(READ_PAUSE_MS);
    }
  };
  const previewOften = async (): Promise<void> => {
    while (performance.now() < end) {
      const { status, ms } = await send('normal', 'POST', '/indices/preview', {
        document: createIndex('Y'),
        as_of: '2024-06-03',
      });
      previews.push(ms);
      if (status !== 200) failures.push(`preview ${status}`);
      await sleep(PREVIEW_PAUSE_MS);
    }
  };
  await Promise.all([read(), previewOften()]);
  await attackerEnd;
  const largest = await memory.stop();
  console.log(
    `${SECONDS} s; the hostile key's responses by status: ${Object.entries(statuses)
      .map(([status, count]) => `${status}: ${count}`)
      .join(', ')}`,
  );
  console.log(
    `reads of the other key (goal: p99 ${GOALS.readMs} ms):    ${formatSpread(readings)}   ${readings.length} reads`,
  );
  console.log(
    `previews of the other key (goal: ${GOALS.previewMs} ms): ${formatSpread(previews)}   ${previews.length} previews`,
  );
  console.log(`memory of all processes (goal: ${GOALS.memory} MiB): ${largest} MiB`);
  if (failures.length > 0)
    console.log(`refused requests of the other key: ${failures.length}, first ${failures.slice(0, 3).join(', ')}`);
}

/** Watches the memory of all processes in a separate process, because a sample takes 20 to 100 ms. */
function watchMemory(): { stop(): Promise<number> } {
  const watch = fork(new URL('memory.bench.js', import.meta.url), [String(service.pid)]);
  return {
    async stop() {
      const message = once(watch, 'message');
      watch.send('end');
      return ((await message) as [number])[0];
    },
  };
}
