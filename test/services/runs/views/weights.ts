import { describe, expect, test } from 'vitest';
import type { WeightsView } from '#contract/analytics/analytics.js';
import { service, sum } from './set-up.js';

const estimate = async (id: string, request: object) => {
  const { body } = await service.call('POST', `/risk-models/${id}/estimate`, request);
  expect((await service.finished(body.job_id)).body.error).toBeNull();
};

export function describeWeights(): void {
  describe('weights of a run', () => {
    test('have risk that sums to the volatility and active risk that sums to the tracking error', async () => {
      const { status, body } = await service.checked(
        'getWeights',
        '/analytics/MAIN/weights?risk=true&benchmark=WIDE&as_of=2023-05-17',
      );
      expect(status).toBe(200);
      expect(sum(body.weights.map((row: { weight: number }) => row.weight))).toBeCloseTo(1, 10);
      expect(sum(body.weights.map((row: { risk_contribution: number }) => row.risk_contribution ?? 0))).toBeCloseTo(
        body.risk.volatility,
        10,
      );
      const heldRisk = sum(
        body.weights.map((row: { active_risk_contribution: number }) => row.active_risk_contribution ?? 0),
      );
      const otherRisks: number[] = Object.values(body.active_risk.contributions_not_held);
      expect(heldRisk + sum(otherRisks)).toBeCloseTo(body.active_risk.tracking_error, 10);
      expect(otherRisks.length).toBeGreaterThan(5);
      expect(sum(body.weights.map((row: { delta_since_rebalance: number }) => row.delta_since_rebalance))).toBeCloseTo(
        0,
        10,
      );
      for (const { weight, decided_weight: decided, delta_since_rebalance: delta } of body.weights)
        expect(weight - decided).toBe(delta);
      expect([body.risk.window_start, body.risk.window_end]).toEqual(['2022-01-03', '2023-12-29']);
    });

    test('have the risk of a stored model: equal to that of the same estimate on the same returns', async () => {
      const readWeights = async (query: string) =>
        (await service.checked('getWeights', `/analytics/MAIN/weights?${query}`)).body as WeightsView;
      await estimate('held', { index_id: 'MAIN', start: '2022-01-03', end: '2023-12-29' });
      const ownView = await readWeights('risk=true');
      const by = await readWeights('risk_model=held');
      expect(by.risk).toMatchObject({ risk_model: 'held', window_start: '2022-01-04', window_end: '2023-12-29' });
      expect(by.risk!.volatility).toBeCloseTo(ownView.risk!.volatility, 10);
      const shares = new Map(ownView.weights.map(({ identifier, risk_contribution: rc }) => [identifier, rc!]));
      for (const { identifier, risk_contribution: rc } of by.weights)
        expect(rc).toBeCloseTo(shares.get(identifier)!, 10);
      const inlineWeights = await readWeights('risk_estimator=gerber');
      await estimate('gerber', { estimator: 'gerber', index_id: 'MAIN', start: '2022-01-03', end: '2023-12-29' });
      const storedView = await readWeights('risk_model=gerber');
      expect(inlineWeights.risk).toMatchObject({ risk_model: null, risk_estimator: 'gerber' });
      expect(inlineWeights.risk!.volatility).toBeCloseTo(storedView.risk!.volatility, 12);
      expect(inlineWeights.risk!.volatility).not.toBeCloseTo(ownView.risk!.volatility, 6);
      for (const estimator of ['statistical', 'industries', 'styles']) {
        const { risk, weights } = await readWeights(`risk_estimator=${estimator}`);
        expect(sum(weights.map((row) => row.risk_contribution!))).toBeCloseTo(risk!.volatility, 10);
      }
      const bothAnswer = await service.checked(
        'getWeights',
        '/analytics/MAIN/weights?risk_model=held&risk_estimator=gerber',
      );
      expect(bothAnswer.body.error.detail.findings[0].path).toBe('risk_estimator');
      const wideWeights = await readWeights('risk_model=held&benchmark=WIDE');
      const activeRisk = wideWeights.active_risk!;
      expect(activeRisk.uncovered.length).toBeGreaterThan(0); // the benchmark holds securities that MAIN lacks
      expect(sum(wideWeights.weights.map((row) => row.active_risk_contribution!))).toBeCloseTo(
        activeRisk.tracking_error,
        10,
      );
      const [first, ...otherNames] = by.weights.map(({ identifier }) => identifier);
      await estimate('one', { identifiers: [first] });
      const { risk, weights } = await readWeights('risk_model=one');
      expect(risk!.uncovered).toEqual(otherNames.toSorted());
      expect(risk!.covered_weight).toBe(weights[0]!.weight);
      expect(weights[0]!.risk_contribution).toBe(risk!.volatility);
      const absentAnswer = await service.checked('getWeights', '/analytics/MAIN/weights?risk_model=none');
      expect(absentAnswer.body.error.code).toBe('RISK_MODEL_NOT_FOUND');
    });

    test('on a rebalance date have no drift', async () => {
      const { body } = await service.checked('getWeights', '/analytics/MAIN/weights?as_of=2023-06-30');
      expect([body.rebalance_date, body.drift, body.risk, body.active_risk]).toEqual(['2023-06-30', null, null, null]);
      for (const row of body.weights)
        expect([row.delta_since_rebalance, row.active_weight, row.decided_weight]).toEqual([null, null, row.weight]);
    });

    test('decompose into factors that sum', async () => {
      for (const model of ['market_sector', 'statistical']) {
        const { status, body } = await service.checked(
          'getFactorRisk',
          `/analytics/MAIN/factor-risk?benchmark=WIDE&model=${model}`,
        );
        expect(status).toBe(200);
        expect(sum(Object.values<number>(body.contributions))).toBeCloseTo(1, 10);
        expect(body.factor_variance + body.specific_variance).toBeCloseTo(body.total_variance, 14);
        expect(body.tracking_error).toBeCloseTo(Math.sqrt(body.total_variance), 12);
        expect(body.reconciles).toBe(true);
        expect(body).toMatchObject({
          benchmark: 'WIDE',
          requested_as_of: null,
          as_of: '2023-12-29',
          window_start: '2022-01-03',
          window_end: '2023-12-29',
        });
      }
      const { body } = await service.checked(
        'getFactorRisk',
        '/analytics/MAIN/factor-risk?benchmark=WIDE&as_of=2023-05-20',
      );
      expect([body.requested_as_of, body.as_of]).toEqual(['2023-05-20', '2023-05-19']);
    });

    test('decompose by the factors of a stored model according to its covariance, and report missing and forecast parts', async () => {
      const query = 'benchmark=WIDE&as_of=2023-05-17';
      const readFactorRisk = async (rest: string) =>
        (await service.checked('getFactorRisk', `/analytics/MAIN/factor-risk?${rest}`)).body;
      for (const estimator of ['statistical', 'industries', 'styles']) {
        const model = `by-${estimator}`;
        await estimate(model, { estimator, index_id: 'MAIN', start: '2022-01-03', end: '2023-12-29' });
        const risk = await readFactorRisk(`${query}&risk_model=${model}`);
        const { body } = await service.checked('getWeights', `/analytics/MAIN/weights?${query}&risk_model=${model}`);
        const { tracking_error, covered_weight, uncovered, window_start, window_end } = body.active_risk;
        expect(risk.tracking_error).toBeCloseTo(tracking_error, 12);
        expect(risk.covered_weight).toBeCloseTo(covered_weight, 12);
        expect(risk).toMatchObject({
          model: estimator,
          risk_model: model,
          risk_estimator: null,
          window_start,
          window_end,
        });
        expect([risk.reconciles, risk.uncovered]).toEqual([true, uncovered]);
        expect(sum(Object.values<number>(risk.contributions))).toBeCloseTo(1, 10);
        expect(risk.findings).toMatchObject([
          { code: 'MODEL_LACKS_NAMES', path: 'risk_model', count: uncovered.length },
          { code: 'LOOK_AHEAD', path: 'as_of', message: expect.stringContaining(window_end) as string },
        ]);
      }
      // The sectors are the industries of the estimator. The last date has no forecast.
      const sectors = await readFactorRisk('benchmark=WIDE');
      const inlineRisk = await readFactorRisk('benchmark=WIDE&risk_estimator=industries');
      expect(inlineRisk).toMatchObject({ model: 'industries', risk_estimator: 'industries', findings: [] });
      expect(inlineRisk.total_variance).toBeCloseTo(sectors.total_variance, 14);
      expect((await readFactorRisk('benchmark=WIDE&factors=3')).findings).toMatchObject([
        { code: 'NO_EFFECT', path: 'factors' },
      ]);
      await estimate('bare', { index_id: 'MAIN' });
      await estimate('other', {
        identifiers: (await readFactorRisk(`${query}&risk_model=by-styles`)).uncovered,
        estimator: 'styles',
      });
      const refusals = { 'risk_model=bare': 'risk_model', 'risk_model=by-styles&model=styles': 'model' };
      for (const [rest, path] of Object.entries(refusals))
        expect((await readFactorRisk(`benchmark=WIDE&${rest}`)).error.detail.findings[0].path).toBe(path);
      expect((await readFactorRisk('benchmark=WIDE&risk_model=other')).error.code).toBe('MODEL_LACKS_NAMES');
    });

    test('decompose only their total risk by factors without a benchmark', async () => {
      const { status, body } = await service.checked('getFactorRisk', '/analytics/MAIN/factor-risk');
      expect(status).toBe(422);
      expect(body.error).toMatchObject({ code: 'VALIDATION_FAILED', detail: { findings: [{ path: 'benchmark' }] } });
      const { body: risk } = await service.checked('getTotalRisk', '/analytics/MAIN/total-risk');
      for (const name of ['benchmark', 'tracking_error']) expect(risk).not.toHaveProperty(name);
      expect((await service.checked('getTotalRisk', '/analytics/MAIN/total-risk?benchmark=WIDE')).status).toBe(422);
    });

    test('decompose their total risk by factors: the volatility by the covariance of the same model', async () => {
      const readTotalRisk = async (rest: string) =>
        (await service.checked('getTotalRisk', `/analytics/MAIN/total-risk?${rest}`)).body;
      for (const estimator of ['statistical', 'industries', 'styles']) {
        const query = `risk_model=total-${estimator}`;
        await estimate(`total-${estimator}`, { estimator, index_id: 'MAIN', start: '2022-01-03', end: '2023-12-29' });
        const risk = await readTotalRisk(query);
        const { body } = await service.checked('getWeights', `/analytics/MAIN/weights?${query}`);
        expect(risk).toMatchObject({ reconciles: true, findings: [], uncovered: body.risk.uncovered });
        expect(risk.volatility).toBeCloseTo(body.risk.volatility, 12);
        expect(risk.covered_weight).toBeCloseTo(body.risk.covered_weight, 12);
        const parts = risk.factors.map((factor: string) => risk.contributions[factor] * risk.factor_variance);
        expect(sum([...parts, risk.specific_variance]) / risk.volatility).toBeCloseTo(risk.volatility, 12);
      }
      const risk = await readTotalRisk('as_of=2023-05-20');
      expect(risk).toMatchObject({ model: 'market_sector', as_of: '2023-05-19', covered_weight: 1 });
      expect(risk.exposures.MARKET).toBeCloseTo(1, 12);
      expect((await readTotalRisk('risk_model=other')).error.code).toBe('MODEL_LACKS_NAMES');
    });

    test('and the risks of a date are those of the same securities in every view', async () => {
      const { body: risk } = await service.checked(
        'getFactorRisk',
        '/analytics/MAIN/factor-risk?benchmark=WIDE&as_of=2023-05-17',
      );
      const { body: weights } = await service.checked(
        'getWeights',
        '/analytics/MAIN/weights?risk=true&benchmark=WIDE&as_of=2023-05-17',
      );
      expect([risk.uncovered, risk.covered_weight]).toEqual([
        weights.active_risk.uncovered,
        weights.active_risk.covered_weight,
      ]);
    });
  });
}
