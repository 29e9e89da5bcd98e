import { describe, expect, onTestFinished, test } from 'vitest';
import type { DataStoreCollection } from '#contract/stores.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { pauseReaders } from '../../../market/process/reading-processes.js';
import { service, findStore, readActiveStore, listFindings } from './set-up.js';

export function describeSynthetic(): void {
  describe('synthetic data', () => {
    const smallMarket = { assets: 5, start: '2020-01-01', end: '2020-12-31' };

    test('is listed while it is written, then served', async () => {
      const resumeReaders = pauseReaders();
      onTestFinished(resumeReaders);
      const { status, body } = await service.ask<JobStatus>('POST', '/data/synthetic', {
        store_id: 'made',
        ...smallMarket,
      });
      expect([status, body.job_id]).toEqual([202, 'generate:made']);
      expect(await findStore('made')).toMatchObject({ kind: 'synthetic', managed: true, active: false });
      resumeReaders();
      expect(await service.waitForJob('generate:made')).toMatchObject({
        status: 'succeeded',
        result: { store_id: 'made', status: 'ready', active: true, start: '2020-01-02', end: '2020-12-31' },
      });
      expect(await readActiveStore()).toBe('made');
    });

    test('has the same content for the same request under another id, and its own id', async () => {
      const first = await findStore('made');
      const { body } = await service.ask<JobStatus>('POST', '/data/synthetic', { ...smallMarket, activate: false });
      expect(body.job_id).toBe('generate:synthetic-42-1');
      await service.waitForJob(body.job_id);
      expect(await findStore('synthetic-42-1')).toMatchObject({
        content_hash: first.content_hash,
        active: false,
        files: first.files,
      });
    });

    test('without an id gets a new one, however many requests are concurrent', async () => {
      const answers = await Promise.all(
        [5, 6, 7].map((assets) =>
          service.ask<JobStatus>('POST', '/data/synthetic', {
            seed: 77,
            assets,
            start: '2022-01-01',
            end: '2022-06-30',
            activate: false,
          }),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
      expect(answers.map(({ body }) => body.job_id).sort()).toEqual([
        'generate:synthetic-77-1',
        'generate:synthetic-77-2',
        'generate:synthetic-77-3',
      ]);
      for (const { body } of answers)
        expect(await service.waitForJob(body.job_id)).toMatchObject({ status: 'succeeded' });
    });

    test('that is cancelled leaves nothing', async () => {
      await service.ask('POST', '/data/synthetic', {
        store_id: 'stopped',
        assets: 1000,
        start: '2000-01-01',
        end: '2020-12-31',
      });
      expect((await service.ask<JobStatus>('DELETE', '/jobs/generate:stopped')).body.status).toBe('cancelled');
      expect(await service.refusal('GET', '/data/stores/stopped')).toMatchObject({ status: 404 });
      expect(
        (await service.ask<DataStoreCollection>('GET', '/data/stores')).body.stores.map(({ store_id }) => store_id),
      ).not.toContain('stopped');
    });

    test.each([
      [{ calendar: 'NONE' }, 'UNKNOWN_CALENDAR calendar'],
      [{ start: '2020-01-04', end: '2020-01-05' }, 'EMPTY_RANGE start'],
      [{ assets: 5000, start: '1990-01-01', end: '2020-01-01' }, 'OUT_OF_RANGE assets'],
    ])('is refused for %j', async (request, place) => {
      expect(listFindings(await service.refusal('POST', '/data/synthetic', request))).toEqual([place]);
    });
  });
}
