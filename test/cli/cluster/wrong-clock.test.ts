import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasPostgresql, openTestDatabase } from '../../postgresql/shared-postgresql.js';
import { runDivisor, runHere, startService } from '../process.js';

describe.skipIf(!hasPostgresql)('a node whose clock is wrong', () => {
  let database: Awaited<ReturnType<typeof openTestDatabase>>;
  let folder: string;
  beforeAll(async () => {
    database = await openTestDatabase();
    folder = await mkdtemp(join(tmpdir(), 'divisor-clock-'));
    await runHere(['migrate'], { DATABASE_URL: database.url });
  });
  afterAll(async () => {
    await database?.drop();
    await rm(folder, { recursive: true, force: true });
  });

  /** Returns the environment of a process. Its clock is ahead by this number of milliseconds. */
  async function createFastClock(ms: number): Promise<Record<string, string>> {
    const file = join(folder, `ahead-${ms}.cjs`);
    await writeFile(file, `const now = Date.now; Date.now = () => now() + ${ms};`);
    return {
      DATABASE_URL: database.url,
      DIVISOR_ARTIFACTS: `file://${join(folder, 'artifacts')}`,
      NODE_OPTIONS: `--require ${file}`,
    };
  }

  test('stores the time of the database, and is reported by health and divisor nodes', async () => {
    const flags = ['--log-level', 'error', '--drain-ms', '0', '--workers', '1'];
    const frontEnd = await startService(join(folder, 'home'), flags, await createFastClock(20_000));
    const before = Date.now();
    const put = await fetch(`${frontEnd.url}/data/watchlists/desk`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'Desk', identifiers: ['A'] }),
    });
    const { updated_at: at } = (await put.json()) as { readonly updated_at: string };
    expect(Date.parse(at)).toBeGreaterThanOrEqual(before - 500);
    expect(Date.parse(at)).toBeLessThanOrEqual(Date.now() + 500);
    const { checks } = (await (await fetch(`${frontEnd.url}/health`)).json()) as {
      readonly checks: readonly { readonly name: string; readonly ok: boolean; readonly message: string | null }[];
    };
    expect(checks.find(({ name }) => name === 'clock')).toMatchObject({
      ok: false,
      message: expect.stringContaining('20.0 s ahead of'),
    });
    expect((await fetch(`${frontEnd.url}/health/ready`)).status).toBe(200);
    await expect
      .poll(async () => {
        const { out } = await runHere(['nodes', '--json'], { DATABASE_URL: database.url });
        const { clock_offset_ms: offset, lacks } = JSON.parse(out.split('\n')[0]!) as {
          readonly clock_offset_ms: number;
          readonly lacks: readonly string[];
        };
        return [Math.round(offset / 1000), lacks.includes('clock')];
      })
      .toEqual([20, true]);
    frontEnd.child.kill('SIGTERM');
    await frontEnd.ended;
  });

  test('that is wrong by more than 30 s is refused at its start', async () => {
    const words = ['serve', '--home', join(folder, 'other'), '--port', '0', '--workers', '1'];
    const refusal = runDivisor(words, await createFastClock(-40_000));
    expect(await refusal.ended).toBe(75);
    expect(refusal.err()).toContain('40.0 s behind the clock of the database (limit 30 s)');
  });
});
