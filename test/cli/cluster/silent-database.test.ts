import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStallingProxy, type StallingProxy } from '../../postgresql/stalling-proxy.js';
import { hasPostgresql, openTestDatabase } from '../../postgresql/shared-postgresql.js';
import { IS_SOAK } from '../../soak.js';
import { runHere, startService, type Run } from '../process.js';

const SILENT_MS = IS_SOAK ? 60_000 : 7500;
/** Interval between requests in ms. It gives 50 requests a second. */
const EVERY_MS = 20;
/**
 * Maximum time in ms from the start of the silence until requests are refused immediately. It covers a few ticks of the
 * circuit breaker on a busy machine.
 */
const NOTICED_MS = 2500;

interface TimedAnswer {
  readonly atMs: number;
  readonly ms: number;
  /** Duration without the time in which threads of the client or the service waited for a core. */
  readonly ownMs: number;
  readonly status: number;
  readonly retryAfter: string | null;
}

/**
 * Returns for how many ms the main thread of a process has waited for a core. Returns 0 if the system does not count
 * this.
 */
function computeWaitedForCoreMs(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

function computePercentileOf(times: readonly number[], share: number): number {
  return times.toSorted((a, b) => a - b)[Math.ceil(times.length * share) - 1]!;
}

describe.skipIf(!hasPostgresql)('a service whose database does not respond', () => {
  let database: Awaited<ReturnType<typeof openTestDatabase>>;
  let folder: string;
  let proxy: StallingProxy;
  let frontEnd: Run & { readonly url: string };
  beforeAll(async () => {
    database = await openTestDatabase();
    folder = await mkdtemp(join(tmpdir(), 'divisor-silent-'));
    await runHere(['migrate'], { DATABASE_URL: database.url });
    proxy = await openStallingProxy(database.url);
    frontEnd = await startService(join(folder, 'home'), ['--log-level', 'error', '--drain-ms', '0', '--workers', '1'], {
      DATABASE_URL: proxy.url,
      DIVISOR_ARTIFACTS: `file://${join(folder, 'artifacts')}`,
    });
  });
  afterAll(async () => {
    frontEnd?.child.kill('SIGTERM');
    await frontEnd?.ended;
    await proxy?.close();
    await database?.drop();
    await rm(folder, { recursive: true, force: true });
  });

  async function ask(sinceMs: number, n: number): Promise<TimedAnswer> {
    const computeWaitedMs = (): number =>
      computeWaitedForCoreMs(frontEnd.child.pid!) + computeWaitedForCoreMs(process.pid);
    const start = performance.now();
    const beforeMs = computeWaitedMs();
    const [path, init] =
      n % 5 === 0
        ? ['/data/watchlists/desk', { method: 'PUT', body: JSON.stringify({ name: 'Desk', identifiers: ['A'] }) }]
        : [n % 2 === 0 ? '/indices' : '/jobs', {}];
    const response = await fetch(`${frontEnd.url}${path}`, {
      ...init,
      headers: { 'content-type': 'application/json' },
    });
    await response.arrayBuffer();
    const ms = performance.now() - start;
    const ownMs = Math.max(0, ms - (computeWaitedMs() - beforeMs));
    const { status, headers } = response;
    return { atMs: start - sinceMs, ms, ownMs, status, retryAfter: headers.get('retry-after') };
  }

  test('refuses requests within 100 ms once the outage is detected, and serves again when the database answers', async () => {
    await ask(0, 1);
    proxy.stall();
    const sinceMs = performance.now();
    const requests: Promise<TimedAnswer>[] = [];
    while (performance.now() - sinceMs < SILENT_MS) {
      const response = ask(sinceMs, requests.length);
      response.catch(() => {}); // rejections are checked below
      requests.push(response);
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
    const outcomes = await Promise.allSettled(requests);
    const answers = outcomes.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    expect([answers.length, frontEnd.err()]).toEqual([requests.length, '']);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
    expect(answers.filter(({ retryAfter }) => Number(retryAfter) >= 1)).toHaveLength(answers.length);
    const laterAnswers = answers.filter(({ atMs }) => atMs > NOTICED_MS);
    const computeP99 = (member: 'ms' | 'ownMs') =>
      computePercentileOf(
        laterAnswers.map((answer) => answer[member]),
        0.99,
      );
    process.stdout.write(
      `${laterAnswers.length} refusals after the first ${NOTICED_MS} ms: p99 ${computeP99('ms').toFixed(1)} ms, without waits for a ` +
        `core ${computeP99('ownMs').toFixed(1)} ms; longest of all ${answers.length}: ` +
        `${Math.max(...answers.map(({ ms }) => ms)).toFixed(0)} ms\n`,
    );
    expect(laterAnswers.length).toBeGreaterThan(50);
    expect(computeP99('ownMs')).toBeLessThan(100); // excludes waits for a core, which other tests may occupy
    expect(Math.max(...answers.map(({ ownMs }) => ownMs))).toBeLessThan(2 * NOTICED_MS);
    const fetchReadiness = async () => (await fetch(`${frontEnd.url}/health/ready`)).status;
    expect(await fetchReadiness()).toBe(503);
    proxy.pass();
    await expect.poll(async () => (await ask(sinceMs, 0)).status).toBe(200);
    await expect.poll(fetchReadiness).toBe(200);
  });
});
