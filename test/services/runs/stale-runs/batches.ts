import { beforeAll, describe, expect, test } from 'vitest';
import type { BacktestBatch } from '#contract/analytics/analytics.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import type { LiveService } from '../../../real/live.js';

/**
 * Tests requests for many backtests in addition to single ones. @param service has the indices BASE, RIVAL and INNER
 */
export function describeBatches(service: () => LiveService): void {
  const batch = (body: object) => service().ok<BacktestBatch>('POST', '/analytics/backtests', body);
  const listOutcomes = ({ backtests }: BacktestBatch) => backtests.map(({ outcome }) => outcome);
  const readHash = async (id: string) =>
    (await service().ok<{ run_hash: string }>('GET', `/analytics/${id}/record`)).run_hash;

  const waitForJob = async (jobId: string): Promise<string> => {
    for (;;) {
      const { status } = await service().ok<JobStatus>('GET', `/jobs/${jobId}?wait=30`);
      if (status !== 'pending' && status !== 'running') return status;
    }
  };

  describe('a batch of backtests', () => {
    beforeAll(async () => {
      for (const id of ['BASE', 'RIVAL', 'INNER']) await service().job(`/analytics/${id}/backtest`);
    });

    test('with if_stale queues none while no run is stale', async () => {
      const answer = await batch({ ids: ['RIVAL', 'BASE', 'INNER'], if_stale: true });
      expect(answer.backtests.map(({ index_id: id, job, error }) => [id, job, error])).toEqual(
        ['RIVAL', 'BASE', 'INNER'].map((id) => [id, null, null]),
      );
      expect(answer).toMatchObject({ current: 3, queued: 0, refused: 0 });
      expect(listOutcomes(answer)).toEqual(['current', 'current', 'current']);
    });

    test('queues the runs that are stale for its terms, and reports each refusal separately', async () => {
      const before = await readHash('BASE');
      await service().job('/analytics/RIVAL/backtest', { transaction_cost_bps: 7 });
      const answer = await batch({ ids: ['BASE', 'NOBODY', 'RIVAL'], if_stale: true, transaction_cost_bps: 7 });
      expect(listOutcomes(answer)).toEqual(['queued', 'refused', 'current']);
      expect(answer).toMatchObject({ current: 1, queued: 1, refused: 1 });
      const [base, nobody] = answer.backtests;
      expect(nobody!.error).toMatchObject({ code: 'INDEX_NOT_FOUND' });
      expect(base!.job).toMatchObject({ job_id: 'backtest:BASE', request: { transaction_cost_bps: 7 } });
      expect(await waitForJob('backtest:BASE')).toBe('succeeded');
      expect(await readHash('BASE')).not.toBe(before);
      // A repeated request finds nothing to do.
      const secondBatch = await batch({ ids: ['BASE', 'RIVAL', 'BASE'], if_stale: true, transaction_cost_bps: 7 });
      expect(listOutcomes(secondBatch)).toEqual(['current', 'current']);
    });

    test('with if_stale runs stale indices on the terms of their stored run, where the request has none', async () => {
      const terms = { transaction_cost_bps: 9, initial_capital: 500, start: '2023-02-01', benchmark: 'identifier:A' };
      await service().job('/analytics/RIVAL/backtest', terms);
      const readRequest = async () =>
        (await service().ok<{ runs: [{ request: object }] }>('GET', '/analytics/RIVAL/runs?limit=1')).runs[0].request;
      const storedRequest = await readRequest();
      expect(listOutcomes(await batch({ ids: ['RIVAL'], if_stale: true }))).toEqual(['current']);
      const rival = await service().ok<object>('GET', '/indices/RIVAL');
      await service().ok('PUT', '/indices/RIVAL', { ...rival, base_value: 250 });
      const answer = await batch({ ids: ['RIVAL'], if_stale: true, transaction_cost_bps: 4 });
      expect(listOutcomes(answer)).toEqual(['queued']);
      expect(await waitForJob('backtest:RIVAL')).toBe('succeeded');
      const after = await readRequest();
      expect(after).toEqual({ ...storedRequest, transaction_cost_bps: 4 });
      expect(storedRequest).toMatchObject({ ...terms, benchmark: { id: 'A', kind: 'identifier' } });
      await service().ok('PUT', '/indices/RIVAL', rival);
      // A single submission returns the same job.
      const firstAnswer = await service().ask<JobStatus>('POST', '/analytics/RIVAL/backtest', { if_stale: true });
      expect([firstAnswer.status, firstAnswer.body.request]).toMatchObject([202, after]);
      expect(await waitForJob('backtest:RIVAL')).toBe('succeeded');
    });

    test('without if_stale runs each index as a single request does', async () => {
      const answer = await batch({ ids: ['BASE', 'RIVAL'] });
      expect(listOutcomes(answer)).toEqual(['queued', 'queued']);
      for (const id of ['BASE', 'RIVAL']) expect(await waitForJob(`backtest:${id}`)).toBe('succeeded');
      const hash = await readHash('BASE');
      await service().job('/analytics/BASE/backtest');
      expect(await readHash('BASE')).toBe(hash);
    });

    test('is refused as a whole if it has no ids or too many', async () => {
      for (const [ids, code] of [
        [[], 'OUT_OF_RANGE'],
        [Array.from({ length: 501 }, (_, i) => `I${i}`), 'OUT_OF_RANGE'],
      ] as const) {
        const { status, body } = await service().ask<{ error: { detail: { findings: { path: string }[] } } }>(
          'POST',
          '/analytics/backtests',
          { ids },
        );
        expect([status, body.error.detail.findings[0]]).toMatchObject([422, { path: 'ids', code }]);
      }
    });
  });
}
