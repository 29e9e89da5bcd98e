import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasPostgresql, openTestDatabase } from '../../postgresql/shared-postgresql.js';
import { runDivisor, runHere, type Run } from '../process.js';

describe.skipIf(!hasPostgresql)('workers without a port', () => {
  let database: Awaited<ReturnType<typeof openTestDatabase>>;
  let folder: string;
  const workers: Run[] = [];
  beforeAll(async () => {
    database = await openTestDatabase();
    folder = await mkdtemp(join(tmpdir(), 'divisor-ports-'));
    await runHere(['migrate'], { DATABASE_URL: database.url });
  });
  afterAll(async () => {
    for (const { child } of workers) child.kill('SIGTERM');
    await Promise.all(workers.map(({ ended }) => ended));
    await database?.drop();
    await rm(folder, { recursive: true, force: true });
  });

  async function readUrl(words: readonly string[]): Promise<string> {
    const worker = runDivisor(['worker', ...words, '--warm-up', 'off', '--workers', '1', '--log-level', 'error'], {
      DATABASE_URL: database.url,
      DIVISOR_ARTIFACTS: `file://${join(folder, 'artifacts')}`,
    });
    workers.push(worker);
    await expect.poll(worker.out, { interval: 50 }).toMatch(/^listening on \S+\n/);
    return /^listening on (\S+)\n/.exec(worker.out())![1]!;
  }

  test('listen on the first free port from 8180, and serve their metrics there', async () => {
    const firstUrl = await readUrl(['--home', join(folder, 'a')]);
    const secondUrl = await readUrl(['--home', join(folder, 'b')]);
    const ports = [firstUrl, secondUrl].map((url) => Number(new URL(url).port));
    expect(ports[0]).toBeGreaterThanOrEqual(8180);
    expect(ports[1]).toBeGreaterThan(ports[0]!);
    expect(ports[1]).toBeLessThan(8280);
    expect(await (await fetch(`${secondUrl}/metrics`)).text()).toContain('divisor_build_info');
    const rejectedWorker = runDivisor(
      ['worker', '--home', join(folder, 'c'), '--port', String(ports[0]), '--warm-up', 'off'],
      {
        DATABASE_URL: database.url,
        DIVISOR_ARTIFACTS: `file://${join(folder, 'artifacts')}`,
      },
    );
    expect([await rejectedWorker.ended, rejectedWorker.err()]).toEqual([
      75,
      expect.stringContaining(`port ${ports[0]}`),
    ]);
  });
});
