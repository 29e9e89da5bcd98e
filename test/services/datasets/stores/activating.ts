import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { service, formatMarketCsv, registerStore, findStore, readActiveStore, listFindings } from './set-up.js';

export function describeActivating(): void {
  describe('activating', () => {
    test('switches to the other store once it is read', async () => {
      await registerStore('one', ['ONE'], true);
      await registerStore('two', ['TWO']);
      const { status, body } = await service.ask<JobStatus>('POST', '/data/stores/two/activate');
      expect([status, body.job_id, body.kind]).toEqual([202, 'load:two', 'load']);
      const job = await service.waitForJob('load:two');
      expect(job).toMatchObject({ status: 'succeeded', result: { store_id: 'two', active: true, status: 'ready' } });
      expect(await readActiveStore()).toBe('two');
      expect((await findStore('one')).active).toBe(false);
      expect((await service.ask('GET', '/data/prices/TWO')).status).toBe(200);
      expect(await service.refusal('GET', '/data/prices/ONE')).toMatchObject({
        status: 404,
        code: 'IDENTIFIER_NOT_FOUND',
        detail: { identifier: 'ONE', store_id: 'two' },
      });
    });

    test('the served store is refused, and so is deleting it', async () => {
      await registerStore('here', ['A'], true);
      expect(await service.refusal('POST', '/data/stores/here/activate')).toMatchObject({
        status: 409,
        code: 'STORE_ACTIVE',
      });
      expect(await service.refusal('DELETE', '/data/stores/here')).toMatchObject({ status: 409, code: 'STORE_ACTIVE' });
    });

    test('a store whose files are damaged fails with a reason, and the old one remains', async () => {
      await registerStore('good', ['GOOD'], true);
      const spoiltStore = await registerStore('spoilt', ['X']);
      await writeFile(join(spoiltStore.location!, 'market.csv'), 'identifier,date,CLOSE\nX,2024-01-02,text\n');
      await service.ask('POST', '/data/stores/spoilt/activate');
      const job = await service.waitForJob('load:spoilt');
      expect(job).toMatchObject({ status: 'failed', result: null, error: { code: 'STORE_READ_FAILED' } });
      expect(listFindings(job.error!)).toEqual(['NOT_A_NUMBER market[row 1].CLOSE']);
      expect(await findStore('spoilt')).toMatchObject({
        status: 'error',
        error: { code: 'STORE_READ_FAILED' },
        identifiers: 1,
      });
      expect(await readActiveStore()).toBe('good');
      await writeFile(join(spoiltStore.location!, 'market.csv'), formatMarketCsv(['X']));
      await service.ask('POST', '/data/stores/spoilt/activate');
      expect((await service.waitForJob('load:spoilt')).status).toBe('succeeded');
      expect(await findStore('spoilt')).toMatchObject({ status: 'ready', error: null });
    });

    test('an unknown store is not found', async () => {
      expect(await service.refusal('POST', '/data/stores/none/activate')).toMatchObject({
        status: 404,
        code: 'STORE_NOT_FOUND',
      });
    });
  });
}
