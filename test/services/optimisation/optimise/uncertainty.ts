import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import type { BacktestRunResult } from '#contract/analytics/record.js';
import type { PreviewResponse } from '#contract/indices/previews.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { requireSolution } from './objectives.js';
import { service } from './set-up.js';

const UTILITY = {
  objective: { type: 'max_utility', risk_aversion: 4 },
  expected_returns: { type: 'historical', shrinkage: 0.5 },
};

export function describeUncertainty(): void {
  describe('uncertain estimates', () => {
    test('subtract a standard error from the return, and increase the variance', async () => {
      const returns = { set: 'ellipsoid', radius: 1, sessions: 252 };
      const run = await requireSolution({ ...UTILITY, uncertainty: { returns, covariance: { radius: 0.2 } } });
      const worst = run.worst_case!;
      // The standard error of the annualised mean of 252 returns equals the annual volatility.
      expect(worst.expected_return).toBeCloseTo(run.expected_return! - run.volatility, 12);
      expect(worst.nominal).toBeCloseTo(run.expected_return! - 2 * run.volatility ** 2, 12);
      expect(run.objective_value).toBeCloseTo(worst.expected_return! - 2 * worst.volatility ** 2, 12);
      // The increase is a fifth of the square of the average volatility of the holdings. This is more than a fifth of
      // the variance.
      expect(worst.volatility ** 2).toBeGreaterThan(1.2 * run.volatility ** 2);
      expect(run.converged).toBe(true);
      expect((await requireSolution(UTILITY)).worst_case).toBeNull();
    });

    test('have the uncertainty of the mean of the returns of the window', async () => {
      const readError = async (request: object) => {
        const run = await requireSolution({ ...UTILITY, ...request, uncertainty: { returns: { radius: 1 } } });
        return (run.expected_return! - run.worst_case!.expected_return!) / run.volatility;
      };
      for (const sessions of [60, 240])
        expect(252 / (await readError({ risk_model: { sessions } })) ** 2).toBeCloseTo(sessions, 8);
    });

    test('are refused if the objective has no worst case of them', async () => {
      const request = {
        index_id: 'BROAD',
        constraint_set_id: 'caps',
        objective: 'min_variance',
        uncertainty: { returns: { set: 'box', radius: 1 } },
      };
      const { status, body } = await service.ask<{ findings: { path: string }[] }>('POST', '/optimise/runs', request);
      expect([status, JSON.stringify(body)]).toEqual([422, expect.stringContaining('uncertainty.returns')]);
    });

    test('are drawn again for a resampled frontier, by the seed', async () => {
      const ask = { ...UTILITY, resampling: { draws: 3, seed: 5, sessions: 100 } };
      const [first, second] = [await requireSolution(ask), await requireSolution(ask)];
      const { draws, points } = first.frontier!.resampled!;
      expect([draws, points.length]).toEqual([3, first.frontier!.points.length]);
      for (const { weights, spread } of points) {
        expect(Object.values(weights).reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 10);
        expect(Math.max(...Object.values(weights))).toBeLessThanOrEqual(0.2 + 1e-9);
        expect(Object.keys(spread)).toEqual(Object.keys(weights));
      }
      expect(second.frontier!.resampled).toEqual(first.frontier!.resampled);
      expect((await requireSolution(UTILITY)).frontier!.resampled).toBeNull();
    });

    test('of a derived index equal those of its preview', async () => {
      const uncertainty = { returns: { set: 'box', radius: 0.5 } };
      const derivedIndex = { id: 'CAREFUL', name: 'Careful', ...UTILITY, uncertainty };
      expect((await service.ask('POST', '/indices/BROAD/optimise', derivedIndex)).status).toBe(200);
      const { body: job } = await service.ask<JobStatus>('POST', '/analytics/CAREFUL/backtest', {});
      const { result } = await service.waitForJob(job.job_id);
      const { rebalances } = result as unknown as z.infer<typeof BacktestRunResult>;
      const { date: day, weights } = rebalances.at(-1)!;
      const { body: preview } = await service.ask<PreviewResponse>('POST', '/indices/CAREFUL/preview', { as_of: day });
      for (const [name, weight] of Object.entries(weights))
        expect(Math.abs((preview.weights[name] ?? 0) - weight)).toBeLessThan(1e-12);
    });
  });
}
