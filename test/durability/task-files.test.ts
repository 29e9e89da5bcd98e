import { readdirSync, watch } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listHomeFolders } from '#store/home/home.js';
import { startService, startServiceHere } from '../cli/process.js';
import { readDocuments, readLeftovers } from './effects.js';
import { createEqualIndex } from '../equal-index.js';

/** Number of files of a run (columns, checkpoint, plan) that a thread has begun to write when the service is killed. */
const STARTED_TASKS = 2;

test(
  'a service killed while a thread writes the files of a run has the complete run after a restart, and no orphaned file',
  { timeout: 120_000 },
  async () => {
    const home = await mkdtemp(join(tmpdir(), 'durability-'));
    const service = await startService(home, ['--log-level', 'error', '--workers', '1']);
    let { url } = service;
    const ask = async (method: string, path: string, body?: object): Promise<Record<string, unknown>> => {
      const init = body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
      const answer = await fetch(url + path, { method, ...init });
      expect(answer.ok, `${method} ${path}`).toBe(true);
      return (await answer.json()) as Record<string, unknown>;
    };
    const waitForJob = async (jobId: string): Promise<unknown> => {
      for (;;) {
        const { status } = await ask('GET', `/jobs/${jobId}?wait=20`);
        if (status !== 'pending' && status !== 'running') return status;
      }
    };
    try {
      const spec = { store_id: 'market', seed: 3, assets: 40, start: '2015-01-05', end: '2019-12-31' };
      await ask('POST', '/data/synthetic', spec);
      expect(await waitForJob('generate:market')).toBe('succeeded');
      await ask(
        'POST',
        '/indices',
        createEqualIndex('ONE', { base_date: '2015-01-05', rebalance: { frequency: 'quarterly' } }),
      );
      const { artifacts } = listHomeFolders(home);
      const killedWorker = new Promise<void>((resolve) => {
        const names = new Set<string>();
        const watcher = watch(artifacts, () => {
          for (const name of readdirSync(artifacts)) names.add(name.replace(/\.new$/, ''));
          if (names.size < STARTED_TASKS) return;
          watcher.close();
          service.child.kill('SIGKILL');
          resolve();
        });
      });
      await ask('POST', '/analytics/ONE/backtest', {});
      await killedWorker;
      await service.ended;
      const next = await startServiceHere(home);
      ({ url } = next);
      expect(await waitForJob('backtest:ONE')).toBe('succeeded');
      await next.stop();
      expect((await readDocuments(home)).has('run ONE')).toBe(true);
      expect(await readLeftovers(home)).toEqual([]);
    } finally {
      service.child.kill('SIGKILL');
      await service.ended;
      await rm(home, { recursive: true, force: true });
    }
  },
);
