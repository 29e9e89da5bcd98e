import { describe, expect, test } from 'vitest';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { DAYS, service, estimateToEnd, readView } from './set-up.js';
import { createEqualIndex } from '../../../equal-index.js';

export function describeIndexModels(): void {
  describe('a model of the names of an index', () => {
    test('covers the holdings of its latest run, on the sessions of its calendar', async () => {
      const index = createEqualIndex('PAIR', {
        name: 'Pair',
        base_date: '2023-06-01',
        base_value: 100,
        currency: 'USD',
        universe: { kind: 'list', identifiers: ['AAA', 'BBB'] },
        rebalance: { frequency: 'quarterly' },
      });
      expect((await service.ask('POST', '/indices', index)).status).toBe(200);
      const run = await service.ask<JobStatus>('POST', '/analytics/PAIR/backtest');
      expect(await service.waitForJob(run.body.job_id)).toMatchObject({ status: 'succeeded' });
      const job = await estimateToEnd('pair', { index_id: 'PAIR', identifiers: [] });
      expect(job, JSON.stringify(job.error)).toMatchObject({ status: 'succeeded' });
      const model = await readView('pair');
      expect(model.asset_ids).toEqual(['AAA', 'BBB']);
      // Weekdays on which New York was closed are not sessions. So there are fewer returns than weekdays.
      expect(model.diagnostics.observations).toBeLessThan(DAYS.length - 1);
      await estimateToEnd('pair', { index_id: 'PAIR', start: '2023-07-03', end: '2023-12-29' });
      const half = await readView('pair');
      expect(half).toMatchObject({
        start: '2023-07-03',
        end: '2023-12-29',
        observed_start: '2023-07-05',
        observed_end: '2023-12-29',
      }); // the fourth of July is a holiday
      expect(half.diagnostics.observations).toBe(125); // 126 sessions have 125 returns
      expect((await estimateToEnd('pair', { index_id: 'PAIR', identifiers: ['AAA'] })).message).toContain(
        'identifiers has priority',
      );
      expect((await readView('pair')).asset_ids).toEqual(['AAA']);
    });
  });
}
