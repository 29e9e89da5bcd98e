import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { Agent, request, type ClientRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { issueKey } from '#services/keys/keys.js';
import { formatSpread } from '../measure.js';
import { readText } from '../variables.js';
import { startOn } from './service.js';

/**
 * Measures how requests with one key slow down requests with another key. In the first case a key inspects a small file
 * while another key inspects a Parquet file of 10 KB that contains one text of 300 MB, four at a time. In the second
 * case a key reads and writes while another key requests 1,000 streams. The clients of the two keys have separate
 * addresses. `STARVED_CHECKOUT` names the built checkout of another version.
 */
const BOMB_CHARACTERS = 300_000_000;
const BOMB_CONCURRENCY = 4;
const INSPECTIONS = 10;
const SECONDS_MAX = 180;
const STREAMS = 1000;
const REQUESTS = 4000;
const CONNECTIONS = 8;

const [greedy, modest] = ['greedy', 'modest'].map((name) =>
  issueKey({ name, scopes: ['read', 'write', 'data'], expires: null }, Date.now()),
) as [ReturnType<typeof issueKey>, ReturnType<typeof issueKey>];
const clients = {
  greedy: { key: greedy.key, localAddress: '127.0.0.2', agent: new Agent({ keepAlive: true }) },
  modest: {
    key: modest.key,
    localAddress: '127.0.0.1',
    agent: new Agent({ keepAlive: true, maxSockets: CONNECTIONS }),
  },
};
type Client = (typeof clients)['greedy'];

process.env['DIVISOR_API_KEYS'] = [greedy, modest]
  .map(({ record: { name, id, sha256, scopes } }) => `${name}:${id}:${sha256}:${scopes.join('+')}`)
  .join(',');
const folder = await mkdtemp(join(tmpdir(), 'bench-starved-'));
const checkout = readText('STARVED_CHECKOUT');
const mainFile = checkout === undefined ? undefined : resolve(checkout, 'dist/src/main.js');
const words = ['--data-roots', folder, '--workers', '1', '--warm-up', 'off', '--log-level', 'silent'];
const service = await startOn(join(folder, 'home'), words, mainFile === undefined ? {} : { main: mainFile });
try {
  await writeFiles();
  await inspectDuringBombs();
  await requestDuringStreams();
} finally {
  for (const { agent } of Object.values(clients)) agent.destroy();
  await service.stop();
  await rm(folder, { recursive: true, force: true });
}

async function writeFiles(): Promise<void> {
  for (const name of ['small', 'bomb']) await mkdir(join(folder, name));
  await writeFile(join(folder, 'small', 'market.csv'), 'identifier,date,CLOSE\nA,2024-01-02,10\n');
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  const row = `'A' AS identifier, DATE '2024-01-02' AS date, 1.0 AS CLOSE, repeat('x', ${BOMB_CHARACTERS}) AS note`;
  const file = join(folder, 'bomb', 'market.parquet');
  await connection.run(`COPY (SELECT ${row}) TO '${file}' (COMPRESSION zstd)`);
  connection.closeSync();
  instance.closeSync();
  console.log(`a Parquet file of ${(await stat(file)).size} bytes with one text of ${BOMB_CHARACTERS} characters`);
}

function send({ key, localAddress, agent }: Client, method: string, path: string, body?: unknown) {
  const text = body === undefined ? '' : JSON.stringify(body);
  const headers = { 'x-api-key': key, 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  const sentRequest = request(service.url + path, { method, headers, localAddress, agent });
  sentRequest.end(text);
  return sentRequest;
}

/** Resolves with the status of the response when its body has ended. */
function awaitStatus(sentRequest: ClientRequest): Promise<number> {
  return new Promise((done, failed) => {
    sentRequest.on('error', failed);
    sentRequest.on('response', (answer) =>
      answer
        .resume()
        .on('end', () => done(answer.statusCode!))
        .on('error', failed),
    );
  });
}

/** Inspects a file and returns the time in ms and the status. */
async function inspect(client: Client, name: string): Promise<{ readonly ms: number; readonly status: number }> {
  const startMs = performance.now();
  const status = await awaitStatus(send(client, 'POST', '/data/inspect', { location: join(folder, name) }));
  return { ms: performance.now() - startMs, status };
}

async function inspectDuringBombs(): Promise<void> {
  await inspect(clients.modest, 'small');
  const aloneMs: number[] = [];
  for (let i = 0; i < INSPECTIONS; i++) aloneMs.push((await inspect(clients.modest, 'small')).ms);
  const stopController = new AbortController();
  const bombs: string[] = [];
  const inspectBombs = async (): Promise<void> => {
    while (!stopController.signal.aborted) {
      const { ms, status } = await inspect(clients.greedy, 'bomb').catch(() => ({ ms: 0, status: 0 }));
      if (!stopController.signal.aborted) bombs.push(`${status} after ${(ms / 1000).toFixed(1)} s`);
    }
  };
  const attacks = Array.from({ length: BOMB_CONCURRENCY }, inspectBombs);
  const watch = watchMemory();
  await new Promise((over) => setTimeout(over, 1000));
  const startMs = performance.now();
  const duringMs: number[] = [];
  while (duringMs.length < INSPECTIONS && performance.now() - startMs < SECONDS_MAX * 1000) {
    const { ms, status } = await inspect(clients.modest, 'small');
    if (status !== 200) console.log(`  an inspection of the other key was answered with ${status}`);
    duringMs.push(ms);
  }
  stopController.abort();
  clients.greedy.agent.destroy();
  clients.greedy.agent = new Agent({ keepAlive: true });
  await Promise.all(attacks);
  console.log(`inspections of another key, alone: ${formatSpread(aloneMs)}`);
  console.log(
    `with ${BOMB_CONCURRENCY} bombs at a time: ${formatSpread(duringMs)} (${duringMs.length} of ${INSPECTIONS})`,
  );
  console.log(`  bombs: ${bombs.slice(0, 6).join(', ') || 'none was answered'}`);
  console.log(`  largest process: ${watch.stop()} MiB`);
}

/** Samples the resident memory of the largest descendant process of the service. */
function watchMemory(): { stop(): number } {
  let highest = 0;
  const timer = setInterval(() => {
    for (const pid of listDescendants(service.pid)) highest = Math.max(highest, readResident(pid));
  }, 200);
  return { stop: () => (clearInterval(timer), Math.round(highest / 1024)) };
}

function listDescendants(pid: number): number[] {
  const childPids = readdirSync(`/proc/${pid}/task`).flatMap((task) => {
    try {
      return readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
    } catch {
      return []; // the process has ended
    }
  });
  return childPids.flatMap((child) => {
    try {
      return [child, ...listDescendants(child)];
    } catch {
      return []; // the process has ended
    }
  });
}

function readResident(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0; // the process has ended
  }
}

async function requestDuringStreams(): Promise<void> {
  await load(400);
  console.log(`reads and writes of another key, alone: ${formatSpread(await load(REQUESTS))}`);
  const openedStreams = await Promise.all(Array.from({ length: STREAMS }, () => openStream(clients.greedy)));
  const count = (status: number) => openedStreams.filter((stream) => stream.status === status).length;
  const statuses = [...new Set(openedStreams.map(({ status }) => status))].map(
    (status) => `${status}: ${count(status)}`,
  );
  console.log(`streams of one key by status (0: no connection): ${statuses.join(', ')}`);
  console.log(`with them: ${formatSpread(await load(REQUESTS))}`);
  const otherStream = await openStream(clients.modest);
  console.log(`  a stream of the other key: ${otherStream.status}`);
  for (const { asked } of [...openedStreams, otherStream]) asked.destroy();
}

function openStream(client: Client): Promise<{ readonly status: number; readonly asked: ClientRequest }> {
  return new Promise((done) => {
    const clientRequest = send(client, 'GET', '/jobs/events');
    clientRequest.on('error', () => done({ status: 0, asked: clientRequest }));
    clientRequest.on('response', (answer) => {
      answer.on('error', () => {}).resume();
      done({ status: answer.statusCode!, asked: clientRequest });
    });
  });
}

/**
 * Sends a number of requests over several connections and returns their times in ms. One request in four is a write.
 */
async function load(requests: number): Promise<number[]> {
  const times: number[] = [];
  let remaining = requests;
  const runClient = async (n: number): Promise<void> => {
    while (remaining-- > 0) {
      const startMs = performance.now();
      const isWrite = remaining % 4 === 0;
      const body = { name: `List ${remaining}`, identifiers: ['A'] };
      await awaitStatus(
        isWrite
          ? send(clients.modest, 'PUT', `/data/watchlists/w${n}`, body)
          : send(clients.modest, 'GET', '/data/watchlists'),
      );
      times.push(performance.now() - startMs);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, n) => runClient(n)));
  return times;
}
