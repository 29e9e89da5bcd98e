import { describe, expect, test } from 'vitest';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { NAMES, service } from '../../optimisation/optimise/set-up.js';
import {
  type Frame,
  requireImport,
  sendFile,
  readModel,
  runJob,
  requireSolution,
  expectSameOptimum,
  createFrame,
  EARLY_DATE,
  FIRST,
  FACTORS,
  factorModel,
} from './set-up.js';

export function describeDated(): void {
  describe('an imported model of several dates', () => {
    test('one triangle is enough, and securities of one date may be missing on another', async () => {
      const [a, b, c] = NAMES as [string, string, string];
      const csv = [
        'date,table,row,column,value',
        `2023-01-31,covariance,${a},${a},0.04`,
        `2023-01-31,covariance,${a},${b},0.01`,
        `2023-01-31,covariance,${b},${b},0.09`,
        `2023-02-28,covariance,${b},${b},0.16`,
        `2023-02-28,covariance,${c},${b},0.02`,
        `2023-02-28,covariance,${c},${c},0.25`,
      ].join('\n');
      const { body } = await sendFile('partial', 'units=annual', 'text/csv', csv);
      expect(body.imported.dates.map(({ date, assets, lacks }) => [date, assets, lacks])).toEqual([
        ['2023-01-31', 2, [c]],
        ['2023-02-28', 2, [a]],
      ]);
      const [newest, earlier] = [await readModel('partial'), await readModel('partial', '?date=2023-02-27')];
      expect([newest.date, newest.asset_ids, newest.covariance.data]).toEqual([
        '2023-02-28',
        [b, c],
        [
          [0.16, 0.02],
          [0.02, 0.25],
        ],
      ]);
      expect([earlier.date, earlier.asset_ids, earlier.covariance.data]).toEqual([
        '2023-01-31',
        [a, b],
        [
          [0.04, 0.01],
          [0.01, 0.09],
        ],
      ]);
      expect(await service.refusal('GET', '/risk-models/partial?date=2023-01-30')).toMatchObject({
        code: 'NO_DATA_AT_DATE',
      });
    });

    test('the model in force at a decision is the newest dated on or before it, in a run and in a derived index', async () => {
      const [low, high] = [createFrame(NAMES, 0.01), createFrame(NAMES, 0.2)];
      const lateDate = '2023-06-30';
      const importSingleModel = async (id: string, covariance: Frame) =>
        requireImport(id, { units: 'annual', models: [{ date: EARLY_DATE, covariance }] });
      await importSingleModel('low', low);
      await importSingleModel('high', high);
      await requireImport('dated', {
        units: 'annual',
        models: [
          { date: EARLY_DATE, covariance: low },
          { date: lateDate, covariance: high },
        ],
      });
      expectSameOptimum(
        await requireSolution({ as_of: '2023-06-29', risk_model: 'dated' }),
        await requireSolution({ as_of: '2023-06-29', risk_model: 'low' }),
      );
      expectSameOptimum(
        await requireSolution({ as_of: '2023-07-03', risk_model: 'dated' }),
        await requireSolution({ as_of: '2023-07-03', risk_model: 'high' }),
      );
      await requireImport('late', { units: 'annual', models: [{ date: '2023-03-02', covariance: low }] });
      expect((await runJob({ as_of: FIRST, risk_model: 'late' })).error).toMatchObject({
        code: 'LOOK_AHEAD',
        message: `The risk model late is dated 2023-03-02, after the decision of ${FIRST}.`,
      });

      const readRebalances = async (model: string) => {
        const id = `ON-${model.toUpperCase()}`;
        const body = { id, name: id, objective: { type: 'min_variance' }, candidates: 'universe', risk_model: model };
        const { status, body: derived } = await service.ask('POST', '/indices/BROAD/optimise', body);
        expect(status, JSON.stringify(derived)).toBe(200);
        const { body: submitted } = await service.ask<JobStatus>('POST', `/analytics/${id}/backtest`, {});
        const { result, error } = await service.waitForJob(submitted.job_id);
        expect(error, JSON.stringify(error)).toBeNull();
        type Rebalance = { readonly date: string; readonly weights: Readonly<Record<string, number>> };
        return (result as unknown as { readonly rebalances: readonly Rebalance[] }).rebalances;
      };
      const [dated, lowRebalances, highRebalances] = [
        await readRebalances('dated'),
        await readRebalances('low'),
        await readRebalances('high'),
      ];
      expect(dated.length).toBeGreaterThan(4);
      dated.forEach(({ date, weights }, k) => {
        const model = date < lateDate ? lowRebalances : highRebalances;
        expect([date, weights]).toEqual([model[k]!.date, model[k]!.weights]);
      });
      expect(lowRebalances[0]!.weights).not.toEqual(highRebalances[0]!.weights);
    });

    test('held weights are measured by the model in force on their date', async () => {
      await service.ask('POST', '/analytics/BROAD/backtest', {});
      await service.waitForJob('backtest:BROAD');
      const createUncorrelated = (variance: number): Frame => ({
        index: NAMES,
        columns: NAMES,
        data: NAMES.map((_, i) => NAMES.map((__, j) => (i === j ? variance : 0))),
      });
      await requireImport('measure', {
        units: 'annual',
        models: [
          { date: '2023-01-31', covariance: createUncorrelated(0.04) },
          { date: '2024-01-31', covariance: createUncorrelated(0.25) },
        ],
      });
      for (const [day, variance, date] of [
        ['2023-12-29', 0.04, '2023-01-31'],
        ['2024-06-28', 0.25, '2024-01-31'],
      ] as const) {
        type Weights = {
          readonly weights: readonly { readonly weight: number }[];
          readonly risk: { readonly volatility: number; readonly window_end: string };
        };
        const { body } = await service.ask<Weights>(
          'GET',
          `/analytics/BROAD/weights?as_of=${day}&risk=true&risk_model=measure`,
        );
        const squares = body.weights.reduce((sum, { weight }) => sum + weight * weight, 0);
        expect(body.risk.volatility).toBeCloseTo(Math.sqrt(variance * squares), 12);
        expect(body.risk.window_end).toBe(date);
      }
      await requireImport('factors', {
        units: 'annual',
        models: [factorModel('2023-01-31'), factorModel('2024-01-31')],
      });
      const { body: risk } = await service.ask<{
        readonly model: string;
        readonly window_end: string;
        readonly factors: string[];
      }>('GET', '/analytics/BROAD/factor-risk?as_of=2023-12-29&risk_model=factors&benchmark=N00');
      expect(risk).toMatchObject({ model: 'imported', window_end: '2023-01-31', factors: FACTORS });
    });
  });
}
