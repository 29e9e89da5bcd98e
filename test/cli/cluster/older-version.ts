import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { expect, onTestFinished } from 'vitest';
import { openTestDatabase } from '../../postgresql/shared-postgresql.js';
import { startS3 } from '../../store/s3/s3-service.js';
import { createPlaces } from './running-cluster.js';

/** Built checkout of an earlier version. */
export const OLDER_CHECKOUT = process.env['OLDER_CHECKOUT'];

if (OLDER_CHECKOUT === undefined)
  console.log('skipped: an upgrade next to an earlier version, whose built checkout OLDER_CHECKOUT would name');

/**
 * Opens a database and an object store that several versions share, and starts processes of any version on them. The
 * processes end with the test.
 */
export async function openVersions() {
  const { url, drop } = await openTestDatabase();
  const s3 = await startS3();
  const base = await mkdtemp(join(tmpdir(), 'divisor-rolling-'));
  const environment: Readonly<Record<string, string>> = { PATH: process.env['PATH'] ?? '', ...createPlaces(url, s3) };
  const children: ReturnType<typeof spawn>[] = [];
  const client = new Client(url);
  await client.connect();

  onTestFinished(async () => {
    for (const child of children) child.kill('SIGKILL');
    await client.end();
    await s3.stop();
    await drop();
    await rm(base, { recursive: true, force: true });
  });

  function start(folder: string, words: readonly string[], variables: Readonly<Record<string, string>> = {}) {
    const env = { ...environment, ...variables };
    const child = spawn(process.execPath, [join(folder, 'dist/src/main.js'), ...words], { env });
    children.push(child);
    let output = '';
    const take = (text: Buffer): void => void (output += String(text));
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    return { child, said: () => output, ended: once(child, 'close').then(([status]) => status as number) };
  }

  return {
    s3,
    base,
    url,
    query: async <R extends object>(sql: string): Promise<readonly R[]> => (await client.query<R>(sql)).rows,
    async runToEnd(folder: string, words: readonly string[]) {
      const { said, ended: over } = start(folder, words);
      return { status: await over, said: said() };
    },
    /** @param variables additional settings */
    async startListening(folder: string, role: string, name: string, variables: Readonly<Record<string, string>> = {}) {
      const flags = ['--home', join(base, name), '--port', '0', '--drain-ms', '0', '--log-level', 'error'];
      const process = start(folder, [role, ...flags, ...(role === 'worker' ? ['--workers', '1'] : [])], variables);
      await expect.poll(process.said, { interval: 50 }).toContain('listening on');
      return { ...process, name, url: /listening on (\S+)/.exec(process.said())![1]! };
    },
    /** Returns the running job of each process, by process name. */
    async running(): Promise<ReadonlyMap<string, string>> {
      const { rows } = await client.query<{ job_id: string; node: string }>(
        `SELECT job_id, node FROM divisor.jobs WHERE status = 'running'`,
      );
      const getNodeName = (node: string): string => /^[\w-]+/.exec(node.split(`${base}/`)[1]!)![0];
      return new Map(rows.map(({ job_id, node }) => [getNodeName(node), job_id]));
    },
    async countRuns(jobId: string): Promise<number> {
      const { rows } = await client.query(
        `SELECT FROM divisor.documents WHERE kind = 'run' AND 'backtest:' || (body::jsonb ->> 'index_id') = $1`,
        [jobId],
      );
      return rows.length;
    },
  };
}
