import { describe, expect, test } from 'vitest';
import { CAPS, requireSolution } from './objectives.js';
import { put, service } from './set-up.js';

interface RiskModel {
  readonly diagnostics: { readonly intensity: number | null; readonly target: string | null };
  readonly covariance: { readonly index: readonly string[]; readonly data: readonly (readonly number[])[] };
}

export function describeRiskAndCandidates(): void {
  describe('a run', () => {
    test('with candidates of the universe has an entrant with an index weight of 0, and never a worse objective', async () => {
      await put('caps', CAPS);
      for (const request of [
        { objective: 'min_variance' },
        { objective: 'max_diversification' },
        { objective: 'max_sharpe', expected_returns: { type: 'historical', shrinkage: 0.5 } },
      ]) {
        const fewSolution = await requireSolution(request);
        const manySolution = await requireSolution({ ...request, candidates: 'universe' });
        expect([fewSolution.weights.length, manySolution.weights.length]).toEqual([11, 12]);
        const heldNames = new Set(fewSolution.weights.map(({ identifier }) => identifier));
        const entrant = manySolution.weights.find(({ identifier }) => !heldNames.has(identifier))!;
        expect(entrant.index_weight).toBe(0);
        // The covariance of all securities together differs from the covariance of the constituents.
        const listJointFindings = ({ findings }: typeof fewSolution) =>
          findings.filter(({ code }) => code === 'JOINT_ESTIMATE').length;
        expect([listJointFindings(fewSolution), listJointFindings(manySolution)]).toEqual([0, 1]);
        // An equal risk model over these securities. One of them may not be held.
        const rows = [...CAPS, { type: 'Exclude', params: { identifiers: [entrant.identifier] } }];
        await put('without', rows);
        const withoutSolution = await requireSolution({
          ...request,
          constraint_set_id: 'without',
          candidates: 'universe',
        });
        const loss = manySolution.objective_value - withoutSolution.objective_value;
        expect(request.objective === 'min_variance' ? loss : -loss).toBeLessThanOrEqual(1e-12);
      }
    });

    test('is measured by the estimator that it names', async () => {
      await put('free', []);
      const wideTerms = { constraint_set_id: 'free', objective: 'min_variance' };
      // With equal variances and no correlation, equal weights are optimal.
      const identity = { target: 'scaled_identity', intensity: 1 };
      const equalSolution = await requireSolution({ ...wideTerms, risk_model: identity });
      for (const { weight } of equalSolution.weights) expect(weight).toBeCloseTo(1 / 11, 10);
      expect((await service.ask('POST', '/analytics/BROAD/backtest', {})).status).toBe(202);
      await service.waitForJob('backtest:BROAD');
      // A stored risk model with equal settings, which is estimated over the same window.
      for (const settings of [
        { target: 'constant_correlation', intensity: 0 },
        { target: 'scaled_identity', intensity: null, intensity_method: 'ledoit_wolf' },
        { target: 'constant_correlation', intensity: 0.4, half_life: 60 },
        { estimator: 'nonlinear' },
        { estimator: 'newey_west', lags: 3, half_life: 60 },
        { estimator: 'denoised' },
        { estimator: 'gerber', threshold: 0.7 },
      ]) {
        const run = await requireSolution({ ...wideTerms, risk_model: settings });
        const body = { index_id: 'BROAD', start: run.start, end: run.end, ...settings };
        expect((await service.ask('POST', '/risk-models/same/estimate', body)).status).toBe(202);
        expect(await service.waitForJob('risk:same')).toMatchObject({ status: 'succeeded' });
        const { body: model } = await service.ask<RiskModel>('GET', '/risk-models/same');
        const isTargeted = !('estimator' in settings);
        const { intensity, target } = model.diagnostics;
        expect([typeof intensity, target !== 'none']).toEqual(['number', isTargeted]);
        if (!isTargeted) expect(intensity).toBe(0);
        const { index, data } = model.covariance;
        const weights = index.map((name) => run.weights.find(({ identifier }) => identifier === name)!.weight);
        const variance = weights.reduce(
          (sum, w, i) => sum + w * weights.reduce((row, v, j) => row + v * data[i]![j]!, 0),
          0,
        );
        expect(run.volatility ** 2 / variance).toBeCloseTo(1, 10);
      }
      const shortSolution = await requireSolution({ ...wideTerms, risk_model: { sessions: 60 } });
      expect(shortSolution.volatility).not.toBe((await requireSolution(wideTerms)).volatility);
      for (const settings of [{ sessions: 505 }, { half_life: 0.5 }, { target: 'none' }]) {
        const body = { index_id: 'BROAD', constraint_set_id: 'free', risk_model: settings };
        expect((await service.ask('POST', '/optimise/runs', body)).status).toBe(422);
      }
    });
  });
}
