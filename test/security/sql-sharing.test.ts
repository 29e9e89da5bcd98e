import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
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
const IDLE_SECONDS = 8;
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

/** Starts queries that no client waits for after `stop`. */
function startEndless(names: readonly Name[]) {
  const controller = new AbortController();
  const query = 'SELECT sum(sin(a.i * b.i)) FROM range(10000000) a(i), range(10000000) b(i)';
  const running = names.map((name) => ask(name, query, controller.signal).catch(() => 'left'));
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
    const sampling = setInterval(() => (peak = Math.max(peak, sumRemovedFiles())), 20);
    try {
      await expect.poll(sumRemovedFiles, { timeout: 40_000 }).toBeGreaterThan(350_000_000); // two results
      const other = await ask('second', 'SELECT 1 AS one');
      expect(other.status).toBe(200);
      const own = await ask('greedy', 'SELECT 1 AS one'); // begins when a result was aborted
      expect(own.status).toBe(200);
      await expect.poll(sumRemovedFiles, { timeout: 80_000 }).toBe(0);
      expect(peak).toBeLessThan(LIMITS.MAX_SQL_UNREAD_BYTES);
    } finally {
      clearInterval(sampling);
      sockets.forEach((socket) => socket.destroy());
    }
  }, 180_000);
});
