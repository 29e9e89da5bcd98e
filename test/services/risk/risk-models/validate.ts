import { describe, expect, test } from 'vitest';
import type { RiskValidationView } from '#contract/risk-models.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { listCodes, DAYS, estimateToEnd, prices, service, readView } from './set-up.js';

const NAMES = ['1398', '700', 'AAA', 'BBB'];

export function describeValidate(): void {
  describe('a validation', () => {
    const validateToEnd = async (modelId: string, body: unknown) => {
      const { status, body: job } = await service.ask<JobStatus>('POST', `/risk-models/${modelId}/validate`, body);
      expect(status, JSON.stringify(job)).toBe(202);
      return service.waitForJob(job.job_id);
    };

    test('forecasts with the model of the returns up to each day, and compares the forecast with the returns after it', async () => {
      await estimateToEnd('four', { identifiers: NAMES });
      const job = await validateToEnd('four', { sessions: 60, horizon: 10, eigenportfolios: 2 });
      expect(job, JSON.stringify(job.error)).toMatchObject({ status: 'succeeded', job_id: 'validate:four' });
      const view = job.result as RiskValidationView;
      const { index, columns, data } = view.by_date;
      expect(index).toEqual(DAYS.filter((_, t) => t >= 60 && (t - 60) % 10 === 0 && t + 10 < DAYS.length));
      expect(view).toMatchObject({ forecasts: index.length, skipped: 0, start: DAYS[60], index_id: null });
      expect(view.families.map(({ family }) => family)).toEqual(['equal_weight', 'random', 'active', 'eigenportfolio']);

      const readCell = (row: number, name: string) => data[row]![columns.indexOf(name)] as number;
      const row = 5;
      const t = DAYS.indexOf(String(index[row]));
      await estimateToEnd('until', { identifiers: NAMES, start: DAYS[t - 60], end: DAYS[t] });
      const { covariance } = await readView('until');
      const variance = covariance.data.flat().reduce<number>((sum, value) => sum + Number(value) / 16, 0);
      expect(readCell(row, 'equal_weight_forecast')).toBeCloseTo(Math.sqrt((variance * 10) / 252), 12);
      const growths = NAMES.map((name) => prices[name]![t + 10]! / prices[name]![t]! - 1);
      expect(readCell(row, 'equal_weight_return')).toBeCloseTo(growths.reduce((sum, value) => sum + value, 0) / 4, 12);

      const zScores = data.map((_, k) => readCell(k, 'equal_weight_return') / readCell(k, 'equal_weight_forecast'));
      const mean = zScores.reduce((sum, z) => sum + z, 0) / zScores.length;
      const squares = zScores.reduce((sum, z) => sum + (z - mean) ** 2, 0);
      expect(view.portfolios[0]!.bias).toBeCloseTo(Math.sqrt(squares / (zScores.length - 1)), 12);
    });

    test('of a model of an index has the holdings of the index as a portfolio', async () => {
      await estimateToEnd('held', { index_id: 'PAIR' });
      const job = await validateToEnd('held', {
        sessions: 40,
        horizon: 10,
        random: 0,
        eigenportfolios: 0,
        start: '2023-08-01',
      });
      expect(job, JSON.stringify(job.error)).toMatchObject({ status: 'succeeded' });
      const view = job.result as RiskValidationView;
      expect(view.index_id).toBe('PAIR');
      const [equal, index] = view.portfolios;
      expect(index).toMatchObject({ family: 'index', observations: equal!.observations });
      // The index has equal weights at each rebalance. They drift until the next quarter.
      expect(index!.bias).not.toBe(equal!.bias);
      expect(index!.bias).toBeCloseTo(equal!.bias, 1);
    });

    test('of no model, without sessions or of an index without a run is refused', async () => {
      const ask = (modelId: string, body: unknown) =>
        service.ask<{ error: Parameters<typeof listCodes>[0] & { code: string } }>(
          'POST',
          `/risk-models/${modelId}/validate`,
          body,
        );
      expect((await ask('none', {})).body.error.code).toBe('RISK_MODEL_NOT_FOUND');
      expect((await ask('four', { start: '2024-01-02', end: '2023-01-02' })).body.error.code).toBe('INVALID_RANGE');
      expect(listCodes((await ask('four', { index_id: 'NOWHERE' })).body.error)).toEqual(['RUN_NOT_FOUND index_id']);
      expect(await validateToEnd('four', { sessions: 400 })).toMatchObject({
        status: 'failed',
        error: { code: 'RISK_INSUFFICIENT_DATA' },
      });
    });
  });
}
