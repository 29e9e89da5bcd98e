import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ErrorDetail } from '#domain/base/refusals.js';
import { LIMITS } from '#domain/base/limits.js';
import { findExcess, type QueryUse } from '#market/serve/process-pool.js';
import { issueKey } from '#services/keys/keys.js';
import { startService } from '../cli/process.js';
import { listReaders } from '../market/process/reading-processes.js';

/** Queries of several keys share places, memory and disk. */

const IS_LINUX = process.platform === 'linux';
/** Limits in MiB of a query, of a process, and of all processes of queries. */
const [QUERY, PROCESS, ALL] = [384, 640, 1280] as const;
/** Long enough that the first result is still there when the second one ends, also on a busy machine. */
const IDLE_SECONDS = 20;
const NAMES = ['greedy', 'second', 'third', 'fourth'] as const;
type Name = (typeof NAMES)[number];
const keys = Object.fromEntries(
  NAMES.map((name) => [name, issueKey({ name, scopes: ['read'], expires: null }, Date.now())]),
) as Record<Name, ReturnType<typeof issueKey>>;

let folder: string;
let service: Awaited<ReturnType<typeof startService>>;

beforeAll(async () => {
  const memory = `--sql-memory-mb ${QUERY} --sql-process-memory-mb ${PROCESS} --sql-total-memory-mb ${ALL}`;
  const flags = `--workers 1 --warm-up off --drain-ms 0 --sql-seconds 120 --idle-write-seconds ${IDLE_SECONDS} ${memory}`;
  folder = await mkdtemp(join(tmpdir(), 'divisor-shared-'));
  service = await startService(join(folder, 'home'), flags.split(' '), {
    DIVISOR_API_KEYS: Object.values(keys)
      .map(({ record }) => `${record.name}:${record.id}:${record.sha256}:read`)
      .join(','),
  });
});
afterAll(async () => {
  service.child.kill('SIGTERM');
  await service.ended;
  await rm(folder, { recursive: true, force: true });
});

interface Outcome {
  readonly status: number;
  readonly ms: number;
  readonly data?: unknown;
  readonly error?: ErrorDetail;
}

async function ask(name: Name, query: string, signal?: AbortSignal): Promise<Outcome> {
  const startMs = performance.now();
  const response = await fetch(`${service.url}/sql`, {
    method: 'POST',
    headers: { 'x-api-key': keys[name].key, 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
    ...(signal && { signal }),
  });
  const body = (await response.json()) as Pick<Outcome, 'data' | 'error'>;
  return { status: response.status, ms: performance.now() - startMs, ...body };
}

const ENDLESS = 'SELECT sum(sin(a.i * b.i)) FROM range(10000000) a(i), range(10000000) b(i)';

/** Starts queries that no client waits for after `stop`. */
function startEndless(names: readonly Name[]) {
  const controller = new AbortController();
  const running = names.map((name) => ask(name, ENDLESS, controller.signal).catch(() => 'left'));
  return async () => {
    controller.abort();
    expect(await Promise.all(running)).toEqual(names.map(() => 'left'));
  };
}

const readStatus = (pid: number, name: string) =>
  Number(new RegExp(`^${name}:\\s*(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);

function sumReaderMegabytes(): number {
  const sizes = listReaders(service.child.pid!).map((pid) => {
    try {
      return readStatus(pid, 'VmRSS') / 1024;
    } catch {
      return 0; // the process has ended
    }
  });
  return sizes.reduce((sum, size) => sum + size, 0);
}

describe.skipIf(!IS_LINUX)('memory', () => {
  test('the system limits the private memory of each process', async () => {
    expect((await ask('greedy', 'SELECT 1 AS one')).data).toEqual([[1]]);
    for (const pid of listReaders(service.child.pid!))
      expect(readFileSync(`/proc/${pid}/limits`, 'utf8')).toMatch(
        new RegExp(`^Max data size +${PROCESS * 2 ** 20} `, 'm'),
      );
  });

  test.each([
    ['SELECT len(list_sort(range(200000000)))', 'sql-process-memory-mb', PROCESS],
    ["SELECT length(repeat('x', 2000000000))", 'sql-process-memory-mb', PROCESS],
    [
      'SELECT sum(r) FROM (SELECT row_number() OVER (ORDER BY hash(i)) AS r FROM range(100000000) t(i))',
      'sql-memory-mb',
      QUERY,
    ],
    ["SELECT length(string_agg(repeat('x', 10000) || i, ',')) FROM range(300000) t(i)", 'sql-memory-mb', QUERY],
  ])('%s is refused with its limit and its setting', async (query, setting, megabytes) => {
    const { status, error } = await ask('greedy', query);
    expect([status, error?.code, error?.detail]).toEqual([422, 'QUERY_LIMIT', { setting, limit: megabytes * 2 ** 20 }]);
    expect(error?.message).toContain(`${megabytes} MiB of memory (setting --${setting})`);
  });

  test('all queries together stay within their limit, and those of other keys are answered', async () => {
    let peak = 0;
    const sampling = setInterval(() => (peak = Math.max(peak, sumReaderMegabytes())), 100);
    const large = 'SELECT len(list_sort(list(hash(i)))) FROM range(25000000) t(i)';
    const small = 'SELECT count(*) FROM (SELECT hash(i) AS h FROM range(3000000) t(i) GROUP BY h)';
    const hostile = [ask('greedy', large), ask('greedy', large), ask('second', large)];
    try {
      const fair = await ask('third', small);
      expect([fair.status, (await Promise.all(hostile)).every(({ status }) => status === 422)]).toEqual([200, true]);
    } finally {
      clearInterval(sampling);
    }
    expect(peak).toBeLessThan(ALL + 300); // processes grow between two checks of the service
  });
});

describe('the process that ends beyond a limit', () => {
  const limits = { query: 100, process: 200, all: 300 };
  const createUse = (id: number, client: string | null, bytes: number, isPaused = false): QueryUse => ({
    id,
    client,
    bytes,
    isPaused,
  });

  test.each([
    ['none within all limits', [createUse(1, 'a', 100), createUse(2, 'b', 100), createUse(3, 'c', 100)], undefined],
    ['a process beyond its limit', [createUse(1, 'a', 10), createUse(2, 'b', 201)], [2, 'process', true]],
    ['the largest of a key', [createUse(1, 'a', 90), createUse(2, 'a', 111)], [2, 'client', true]],
    ['one key alone may use a whole process', [createUse(1, 'a', 200)], undefined],
    ['unknown keys share all memory', [createUse(1, null, 150), createUse(2, null, 150)], undefined],
    ['the largest of all', [createUse(1, 'a', 90), createUse(2, 'b', 110), createUse(3, 'c', 101)], [2, 'all', true]],
    [
      'a paused process if none exceeds its share',
      [createUse(1, 'a', 80), createUse(2, 'b', 90), createUse(3, 'c', 70, true), createUse(4, 'd', 61)],
      [3, 'all', false],
    ],
  ] as const)('%s', (_, uses, expected) => {
    const found = findExcess(uses, limits);
    expect(found && [found.id, found.excess.limit, found.excess.isOver]).toEqual(expected);
  });
});

describe('places', () => {
  test('while two keys have six endless queries, a third waits at most 3 s, and a fourth one turn', async () => {
    const alone = await ask('third', 'SELECT 1 AS one');
    const stop = startEndless(['greedy', 'second', 'greedy', 'second', 'greedy', 'second']);
    await wait(1500);
    const third = await ask('third', 'SELECT 1 AS one');
    expect([third.status, third.data]).toEqual([200, [[1]]]);
    const slowdownMs = 10 * alone.ms; // next to other programs, the start of a process takes longer
    expect(third.ms).toBeLessThan(Math.max(3000, slowdownMs));
    const stopThird = startEndless(['third']);
    await wait(500);
    const fourth = await ask('fourth', 'SELECT 1 AS one');
    expect([fourth.status, fourth.data]).toEqual([200, [[1]]]);
    expect(fourth.ms).toBeLessThan(LIMITS.MAX_SQL_TURN_SECONDS * 1000 + Math.max(3000, slowdownMs));
    await stopThird();
    await stop();
    await expect.poll(() => listReaders(service.child.pid!).length).toBeLessThanOrEqual(1);
  });

  test('a query that gave its place back continues and has the right result', async () => {
    const slow = 'SELECT count(*) AS n FROM range(15000) a(i), range(20000) b(i) WHERE (a.i * b.i) % 7 = 3';
    // Of i modulo 7, the residues 1 to 6 have an inverse, so that 6 of 49 pairs of residues have the product 3.
    const outcomes = await Promise.all(NAMES.map((name) => ask(name, slow)));
    const counts = (count: number) => Array.from({ length: 7 }, (_, r) => Math.floor((count - 1 - r) / 7) + 1);
    const [a, b] = [counts(15_000), counts(20_000)];
    const expected = a.reduce(
      (sum, count, r) => sum + b.reduce((own, other, s) => own + ((r * s) % 7 === 3 ? count * other : 0), 0),
      0,
    );
    expect(outcomes.map(({ status, data }) => [status, data])).toEqual(NAMES.map(() => [200, [[expected]]]));
  });
});

test.skipIf(!IS_LINUX)('a query without an end does not outlive its service', async () => {
  const own = await startService(join(folder, 'own'), ['--workers', '1', '--warm-up', 'off']);
  const body = JSON.stringify({ query: ENDLESS });
  const answer = fetch(`${own.url}/sql`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  answer.catch(() => undefined); // the connection is lost
  const isAtWork = (pid: number) => Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')[13]) > 100;
  await expect.poll(() => listReaders(own.child.pid!).some(isAtWork)).toBe(true);
  const readers = listReaders(own.child.pid!);
  own.child.kill('SIGKILL');
  await own.ended;
  await expect.poll(() => readers.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([]);
});

describe.skipIf(!IS_LINUX)('results that nobody reads', () => {
  /** Sends a query on a connection that does not read the response. */
  function sendUnread(name: Name, query: string): Socket {
    const { hostname, port } = new URL(service.url);
    const body = JSON.stringify({ query, format: 'csv' });
    const socket = connect({ host: hostname, port: Number(port) });
    socket.on('error', () => {});
    socket.pause();
    const lines = [
      'POST /sql HTTP/1.1',
      'Host: localhost',
      `X-API-Key: ${keys[name].key}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
    ];
    socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`);
    return socket;
  }

  /** Returns the bytes of removed files that the service has open. */
  function sumRemovedFiles(): number {
    const folder = `/proc/${service.child.pid}/fd`;
    return readdirSync(folder).reduce((sum, name) => {
      try {
        const isResult = /divisor-\d+-.*result \(deleted\)$/.test(readlinkSync(`${folder}/${name}`));
        return sum + (isResult ? statSync(`${folder}/${name}`).size : 0);
      } catch {
        return sum; // the file was closed
      }
    }, 0);
  }

  test('count towards the key, whose next query waits, and end after the time without progress', async () => {
    const large = "SELECT repeat('x', 500) || i AS text FROM range(400000) t(i)"; // 200 MB
    const sockets = [1, 2, 3, 4].map(() => sendUnread('greedy', large));
    let peak = 0;
    const sampling = setInterval(() => (peak = Math.max(peak, sumRemovedFiles())), 20);
    try {
      await expect.poll(sumRemovedFiles).toBeGreaterThan(350_000_000); // two results
      const other = await ask('second', 'SELECT 1 AS one');
      expect(other.status).toBe(200);
      const own = await ask('greedy', 'SELECT 1 AS one'); // begins when a result was aborted
      expect(own.status).toBe(200);
      await expect.poll(sumRemovedFiles).toBe(0);
      expect(peak).toBeLessThan(LIMITS.MAX_SQL_UNREAD_BYTES);
    } finally {
      clearInterval(sampling);
      sockets.forEach((socket) => socket.destroy());
    }
  }, 400_000);
});
