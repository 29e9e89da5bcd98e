import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { openTemporaryFolders } from '../../store/temporary-folder.js';
import { INDEX, MARKET } from '../even-index.js';
import { type Run, startService } from '../process.js';

let base: string;
/**
 * Home with a managed market, an index, its run and a watchlist. It is created once, and a separate process serves it.
 */
export let home: string;
export let service: Run & { readonly url: string };
export const createFolder = openTemporaryFolders();

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

export async function ask(url: string, method: string, path: string, body?: unknown): Promise<Answer> {
  const init =
    body === undefined
      ? { method }
      : { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const response = await fetch(`${url}${path}`, init);
  const text = await response.text();
  return { status: response.status, body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>) };
}

async function runJob(url: string, path: string, body: unknown): Promise<void> {
  let { body: status } = await ask(url, 'POST', path, body);
  while (status['status'] === 'pending' || status['status'] === 'running')
    ({ body: status } = await ask(url, 'GET', `/jobs/${String(status['job_id'])}?wait=30`));
  if (status['status'] !== 'succeeded') throw new Error(`${path}: ${JSON.stringify(status)}`);
}

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'divisor-home-'));
  home = join(base, 'home');
  service = await startService(home, ['--log-level', 'error', '--workers', '1', '--drain-ms', '0']);
  await runJob(service.url, '/data/synthetic', MARKET);
  await ask(service.url, 'PUT', '/indices/EVEN', INDEX);
  await runJob(service.url, '/analytics/EVEN/backtest', {});
  await ask(service.url, 'PUT', '/data/watchlists/mine', { name: 'Mine', identifiers: ['A'] });
});

afterAll(async () => {
  service?.child.kill('SIGTERM');
  await service?.ended;
  await rm(base, { recursive: true, force: true });
});

export const listLines = (text: string): Record<string, unknown>[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
