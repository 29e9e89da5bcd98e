import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStallingProxy, type StallingProxy } from '../../postgresql/stalling-proxy.js';
import { hasPostgresql, openTestDatabase } from '../../postgresql/shared-postgresql.js';
import { IS_SOAK } from '../../soak.js';
import { finishedHere, serving, type Run } from '../process.js';

const SILENT_MS = IS_SOAK ? 60_000 : 4000;
/** 50 requests a second. */
const EVERY_MS = 20;
/** From the first silence until requests are refused at once: ticks of the breaker, and a busy machine. */
const NOTICED_MS = 2500;

interface Answered {
  readonly atMs: number;
  readonly ms: number;
  readonly status: number;
  readonly retryAfter: string | null;
}

describe.skipIf(!hasPostgresql)('a service whose database says nothing', () => {
  let place: Awaited<ReturnType<typeof openTestDatabase>>;
  let folder: string;
  let proxy: StallingProxy;
  let front: Run & { readonly url: string };
  beforeAll(async () => {
    place = await openTestDatabase();
    folder = await mkdtemp(join(tmpdir(), 'divisor-silent-'));
    await finishedHere(['migrate'], { DATABASE_URL: place.url });
    proxy = await openStallingProxy(place.url);
    front = await serving(join(folder, 'home'), ['--log-level', 'error', '--drain-ms', '0', '--workers', '1'], {
      DATABASE_URL: proxy.url,
      DIVISOR_ARTIFACTS: `file://${join(folder, 'artifacts')}`,
    });
  });
  afterAll(async () => {
    front?.child.kill('SIGTERM');
    await front?.ended;
    await proxy?.close();
    await place?.drop();
    await rm(folder, { recursive: true, force: true });
  });

  async function ask(sinceMs: number, n: number): Promise<Answered> {
    const start = performance.now();
    const [path, init] =
      n % 5 === 0
        ? ['/data/watchlists/desk', { method: 'PUT', body: JSON.stringify({ name: 'Desk', identifiers: ['A'] }) }]
        : [n % 2 === 0 ? '/indices' : '/jobs', {}];
    const response = await fetch(`${front.url}${path}`, { ...init, headers: { 'content-type': 'application/json' } });
    await response.arrayBuffer();
    const ms = performance.now() - start;
    return { atMs: start - sinceMs, ms, status: response.status, retryAfter: response.headers.get('retry-after') };
  }

  test('refuses requests within 100 ms once that is noticed, and serves again when it answers', async () => {
    await ask(0, 1);
    proxy.stall();
    const sinceMs = performance.now();
    const asked: Promise<Answered>[] = [];
    while (performance.now() - sinceMs < SILENT_MS) {
      const answered = ask(sinceMs, asked.length);
      answered.catch(() => {}); // Looked at below.
      asked.push(answered);
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
    const settled = await Promise.allSettled(asked);
    const answers = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    expect([answers.length, front.err()]).toEqual([asked.length, '']);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
    expect(answers.filter(({ retryAfter }) => Number(retryAfter) >= 1)).toHaveLength(answers.length);
    const percentile = (of: readonly Answered[], share = 0.99) => {
      const times = of.map(({ ms }) => ms).toSorted((a, b) => a - b);
      return times[Math.ceil(times.length * share) - 1]!;
    };
    const later = answers.filter(({ atMs }) => atMs > NOTICED_MS);
    process.stdout.write(
      `${answers.length} refusals: p99 ${percentile(answers).toFixed(0)} ms, of ${later.length} after the first ` +
        `${NOTICED_MS} ms ${percentile(later).toFixed(1)} ms\n`,
    );
    expect(later.length).toBeGreaterThan(5);
    expect(percentile(later, 0.9)).toBeLessThan(100); // Other tests have the processor, too.
    expect(Math.max(...answers.map(({ ms }) => ms))).toBeLessThan(2 * NOTICED_MS);
    const ready = async () => (await fetch(`${front.url}/health/ready`)).status;
    expect(await ready()).toBe(503);
    proxy.pass();
    await expect.poll(async () => (await ask(sinceMs, 0)).status, { timeout: 10_000 }).toBe(200);
    await expect.poll(ready, { timeout: 10_000 }).toBe(200);
  });
});
