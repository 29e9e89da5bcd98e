import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { hasPostgresql, openTestDatabase } from '../../postgresql/shared-postgresql.js';
import { INDEX, MARKET } from '../even-index.js';

/** Checkout of an earlier version, built, with tables that are a step or more behind. */
const OLDER = process.env['OLDER_CHECKOUT'];

if (OLDER === undefined)
  console.log('skipped: an upgrade beside an earlier version, whose built checkout OLDER_CHECKOUT would name');

type Json = Record<string, unknown>;

test.skipIf(OLDER === undefined || !hasPostgresql)(
  'an earlier version and this one work side by side on tables of this one, each on jobs of the other',
  async () => {
    const { url, drop } = await openTestDatabase();
    const base = await mkdtemp(join(tmpdir(), 'divisor-rolling-'));
    const environment = {
      PATH: process.env['PATH'] ?? '',
      DATABASE_URL: url,
      DIVISOR_ARTIFACTS: `file://${base}/shared`,
    };
    const children: ReturnType<typeof spawn>[] = [];

    function start(folder: string, words: readonly string[]) {
      const child = spawn(process.execPath, [join(folder, 'dist/src/main.js'), ...words], { env: environment });
      children.push(child);
      let said = '';
      const take = (text: Buffer): void => void (said += String(text));
      child.stdout.on('data', take);
      child.stderr.on('data', take);
      return { child, said: () => said, ended: once(child, 'close').then(([status]) => status as number) };
    }
    async function finished(folder: string, words: readonly string[]) {
      const { said, ended } = start(folder, words);
      return { status: await ended, said: said() };
    }
    async function listening(folder: string, role: string, name: string) {
      const flags = ['--home', join(base, name), '--port', '0', '--drain-ms', '0', '--log-level', 'error'];
      const run = start(folder, [role, ...flags, ...(role === 'worker' ? ['--workers', '1'] : [])]);
      await expect.poll(run.said, { interval: 50 }).toContain('listening on');
      return { ...run, url: /listening on (\S+)/.exec(run.said())![1]! };
    }
    async function ask(at: string, method: string, path: string, body?: unknown): Promise<Json> {
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`${at}${path}`, {
        method,
        ...(body !== undefined && { headers, body: JSON.stringify(body) }),
      });
      return (await answer.json()) as Json;
    }
    async function ended(at: string, jobId: unknown): Promise<Json> {
      for (;;) {
        const status = await ask(at, 'GET', `/jobs/${String(jobId)}?wait=10`);
        if (!['pending', 'running'].includes(String(status['status']))) return status;
      }
    }
    async function run(at: string, id: string): Promise<Json> {
      await ask(at, 'PUT', `/indices/${id}`, { ...INDEX, id });
      return ended(at, (await ask(at, 'POST', `/analytics/${id}/backtest`, {}))['job_id']);
    }
    const levels = async (at: string, id: string) => (await ask(at, 'GET', `/analytics/${id}/levels`))['levels'];

    const older = resolve(OLDER!);
    expect((await finished(older, ['migrate'])).status).toBe(0);
    const oldFront = await listening(older, 'serve', 'old-front');
    const oldWorker = await listening(older, 'worker', 'old-worker');
    const market = await ask(oldFront.url, 'POST', '/data/synthetic', MARKET);
    expect(await ended(oldFront.url, market['job_id'])).toMatchObject({ status: 'succeeded' });
    expect(await run(oldFront.url, 'BEFORE')).toMatchObject({ status: 'succeeded' });

    const refused = await finished('.', ['serve', '--home', join(base, 'early'), '--port', '0']);
    expect([refused.status, refused.said.includes('run divisor migrate')]).toEqual([78, true]);
    expect((await finished('.', ['migrate'])).status).toBe(0);
    const front = await listening('.', 'serve', 'front');
    expect(await run(front.url, 'ASKED-OF-NEW')).toMatchObject({ status: 'succeeded', attempt: 1 });
    const worker = await listening('.', 'worker', 'worker');
    const listed = await finished('.', ['nodes', '--json']);
    const protocols = listed.said
      .trim()
      .split('\n')
      .map((line) => Number((JSON.parse(line) as Json)['protocol']));
    expect(protocols.length).toBe(4);
    expect(new Set(protocols).size).toBe(2);

    oldWorker.child.kill('SIGTERM');
    expect(await oldWorker.ended).toBe(0);
    expect(await run(oldFront.url, 'ASKED-OF-OLD')).toMatchObject({ status: 'succeeded', attempt: 1 });
    const expected = await levels(oldFront.url, 'BEFORE');
    expect(expected).toEqual(expect.anything());
    for (const id of ['ASKED-OF-NEW', 'ASKED-OF-OLD'])
      for (const at of [oldFront.url, front.url]) expect(await levels(at, id)).toEqual(expected);

    for (const { child, ended: over } of [oldFront, front, worker]) {
      child.kill('SIGTERM');
      expect(await over).toBe(0);
    }
    expect((await finished(older, ['migrate'])).status).toBe(78); // The tables are newer than it knows.
    for (const child of children) child.kill('SIGKILL');
    await drop();
    await rm(base, { recursive: true, force: true });
  },
);
