import { beforeAll, describe, expect, test } from 'vitest';
import type { z } from 'zod';
import type { BacktestRunResult } from '#contract/analytics/record.js';
import type { PreviewResponse } from '#contract/indices/previews.js';
import type { ObjectiveTypes, OptimisationRunResult } from '#contract/optimise.js';
import { RETURNS_CLASSES } from '#domain/definition/expected-returns.js';
import { OBJECTIVE_CLASSES } from '#domain/definition/objectives.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { createMarketRows, parent, put, service } from './set-up.js';

type Result = z.infer<typeof OptimisationRunResult>;

export const CAPS = [{ id: 'pos', type: 'PositionBounds', params: { upper: 0.2 } }];
export const CAPM = { type: 'capm', risk_aversion: 2.5 };
const HISTORICAL = { type: 'historical', shrinkage: 0.5 };

export async function runToEnd(request: object): Promise<JobStatus> {
  const body = { index_id: 'BROAD', constraint_set_id: 'caps', ...request };
  const { status, body: job } = await service.ask<JobStatus>('POST', '/optimise/runs', body);
  expect(status, JSON.stringify(job)).toBe(202);
  return service.waitForJob(job.job_id);
}

export async function requireSolution(request: object): Promise<Result> {
  const { error, result } = await runToEnd(request);
  expect(error, JSON.stringify(error)).toBeNull();
  return result as unknown as Result;
}

export function describeObjectives(): void {
  describe('a run for an objective', () => {
    beforeAll(async () => {
      const { status } = await service.ask('PUT', '/optimise/constraint-sets/caps', {
        id: 'caps',
        name: 'Caps',
        constraints: CAPS,
      });
      expect(status).toBe(200);
    });

    test.each(OBJECTIVE_CLASSES.map(({ type, needsReturns }) => [type, needsReturns] as const))(
      'for %s keeps its rows and reports its objective in its own terms',
      async (type, needsReturns) => {
        const run = await requireSolution({ objective: type, ...(needsReturns ? { expected_returns: CAPM } : {}) });
        const weights = run.weights.map(({ weight }) => weight);
        expect(weights.reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 12);
        expect(Math.max(...weights)).toBeLessThanOrEqual(0.2 + 1e-9);
        expect([run.converged, run.objective_type, run.heuristic]).toEqual([true, type, false]);
        // Optimality conditions prove a convex optimum. For a tail average a gap remains, and the response reports it.
        expect(run.gap).toBeLessThan(run.tail === null ? 1e-300 : 1e-9);
        expect(run.objective_value - run.bound!).toBeCloseTo(
          run.tail === null ? 0 : run.gap! * run.objective_value,
          15,
        );
        expect(run.objective).toBeCloseTo(run.tracking_error ** 2, 14);
        expect(run.weights.reduce((sum, { variance_share }) => sum + variance_share, 0)).toBeCloseTo(1, 12);
        // The caps bind, so their effect and the result without them are reported.
        const cost = run.constraint_costs!.find(({ id }) => id === 'pos')!;
        await put('uncapped', []);
        const returns = needsReturns ? { expected_returns: CAPM } : {};
        const withoutSolution = await requireSolution({ objective: type, ...returns, constraint_set_id: 'uncapped' });
        expect(cost.objective_without! - withoutSolution.objective_value).toBeCloseTo(0, 10);
        for (const { parameter, from, to } of run.sensitivities!)
          expect([parameter, from, to]).toEqual(['upper', 0.2, 0.21]);
        if (type === 'min_tracking_error') expect(run.objective_value).toBe(run.objective);
        if (type === 'min_variance') expect(run.objective_value).toBeCloseTo(run.volatility ** 2, 14);
        if (type === 'max_return') expect(run.objective_value).toBeCloseTo(run.expected_return!, 14);
        if (type === 'max_sharpe') expect(run.objective_value).toBeCloseTo(run.expected_return! / run.volatility, 12);
        if (type === 'max_utility')
          expect(run.objective_value).toBeCloseTo(run.expected_return! - 1.25 * run.volatility ** 2, 12);
      },
    );

    test('has the contributions of its risk budgets', async () => {
      const budgets = { Energy: 0.5, Health: 0.2, N02: 0.3 };
      await put('free', []);
      const { weights } = await requireSolution({
        constraint_set_id: 'free',
        objective: { type: 'risk_parity', budgets },
      });
      const findShare = (name: string) => weights.find(({ identifier }) => identifier === name)?.variance_share ?? 0;
      expect(findShare('N02')).toBeCloseTo(0.3, 10);
      // N00, N03, N06 and N09 are the sector Energy. Securities outside the index have no share of the risk.
      expect(findShare('N03') + findShare('N06') + findShare('N09') + findShare('N00')).toBeCloseTo(0.5, 10);
      expect(findShare('N05')).toBeCloseTo(0, 10);
    });

    test('counts the costs of its trades from the index weights', async () => {
      const costs = { linear_bps: 20, impact_coefficient: 0.03 };
      const run = await requireSolution({ objective: 'min_variance', costs });
      const expected = run.weights.reduce((sum, { active_weight }) => {
        const trade = Math.abs(active_weight);
        return sum + 0.002 * trade + 0.03 * trade ** 1.5;
      }, 0);
      expect(run.costs).toBeCloseTo(expected, 12);
      expect(run.objective_value).toBeCloseTo(run.volatility ** 2 + expected, 12);
      expect(run.turnover).toBeLessThan((await requireSolution({ objective: 'min_variance' })).turnover);
    });

    test('reads expected returns from a datapoint', async () => {
      const field = { node: 'field', name: 'SCORE' };
      const run = await requireSolution({ objective: 'max_return', expected_returns: { type: 'field', field } });
      // SCORE increases with the number of a security. So the last five securities of the index are at the cap.
      const heldNames = run.weights.filter(({ weight }) => weight > 1e-9).map(({ identifier }) => identifier);
      expect(heldNames.toSorted()).toEqual(['N07', 'N08', 'N09', 'N10', 'N11']);
      expect(run.expected_return).toBeCloseTo((49 + 64 + 81 + 100 + 121) / 5, 8);
    });

    test('subtracts the risk-free rate once, from returns above cash and from total returns', async () => {
      const objective = { type: 'max_sharpe', risk_free_rate: 0.02 };
      const rate = { objective, constraint_set_id: 'uncapped' };
      await put('uncapped', []);
      // At its own expected returns the index is the tangency portfolio, whatever the cash rate is.
      for (const expected_returns of [CAPM, { type: 'black_litterman' }]) {
        const run = await requireSolution({ ...rate, expected_returns });
        for (const { weight, index_weight } of run.weights) expect(weight).toBeCloseTo(index_weight, 9);
        expect(run.expected_return).toBeCloseTo(0.02 + 2.5 * run.volatility ** 2, 10);
        expect(run.objective_value).toBeCloseTo((run.expected_return! - 0.02) / run.volatility, 12);
        expect(run.frontier!.tangency!.sharpe).toBeCloseTo(run.objective_value, 9);
      }
      const idleSolution = await requireSolution({ ...rate, expected_returns: CAPM, risk_free_rate: 0.03 });
      expect(idleSolution.frontier!.tangency!.sharpe).toBeCloseTo(idleSolution.objective_value, 9);
      expect(idleSolution.findings).toMatchObject([{ code: 'NO_EFFECT', path: 'risk_free_rate', value: 0.03 }]);
      expect(idleSolution.findings[0]!.message).toContain('the cash rate 0.02 of the objective');
      // Total returns have a tangency portfolio at the cash rate of the request. The response reports it if it differs
      // from the rate of the objective.
      const total = await requireSolution({ ...rate, expected_returns: HISTORICAL });
      expect(total.objective_value).toBeCloseTo((total.expected_return! - 0.02) / total.volatility, 12);
      expect(total.findings).toMatchObject([{ code: 'DEFAULT_TAKEN', path: 'risk_free_rate', value: 0 }]);
      const sameSolution = await requireSolution({ ...rate, expected_returns: HISTORICAL, risk_free_rate: 0.02 });
      expect(sameSolution.findings).toEqual([]);
      expect(sameSolution.frontier!.tangency!.sharpe).toBeCloseTo(sameSolution.objective_value, 8);
    });

    test('with a goal that no weights reach is refused with the maximum', async () => {
      const { error } = await runToEnd({
        objective: { type: 'max_sharpe', risk_free_rate: 0.9 },
        expected_returns: HISTORICAL,
      });
      expect(error).toMatchObject({ code: 'OBJECTIVE_UNATTAINABLE', detail: { objective: 'max_sharpe' } });
      const { largest, largest_return, risk_free_rate } = error!.detail as Readonly<Record<string, number>>;
      expect([largest_return! - risk_free_rate!, risk_free_rate]).toEqual([largest, 0.9]);
      const { expected_return } = await requireSolution({ objective: 'max_return', expected_returns: HISTORICAL });
      expect(largest).toBeCloseTo(expected_return! - 0.9, 10);
      const highest = Number(expected_return!.toPrecision(6));
      expect(error!.message).toContain(`the risk-free rate of 0.9 after costs; the most that any are is ${highest}.`);
    });

    test('keeps a limit on the expected return and one on gross exposure, in a run, a preview and a derived index', async () => {
      const terms = { objective: { type: 'max_utility', risk_aversion: 0.5 }, expected_returns: CAPM };
      const free = await requireSolution(terms);
      const lower = free.expected_return! - 0.005;
      const constraints = [
        { id: 'short', type: 'PositionBounds', params: { lower: -0.3, upper: 1 } },
        { id: 'gross', type: 'GrossExposure', params: { upper: 1.2 } },
        { id: 'floor', type: 'ExpectedReturn', params: { lower } },
      ];
      await put('limits', constraints);
      const run = await requireSolution({ ...terms, constraint_set_id: 'limits' });
      const gross = run.weights.reduce((sum, { weight }) => sum + Math.abs(weight), 0);
      expect(gross).toBeCloseTo(1.2, 8);
      expect(run.expected_return).toBeGreaterThan(lower);
      expect(run.constraints!.flatMap(({ label, binding }) => (binding ? [label] : []))).toEqual(
        expect.arrayContaining(['GrossExposure[gross]:upper']),
      );
      await put('floor', [{ id: 'floor', type: 'ExpectedReturn', params: { lower } }]);
      const least = { ...terms, objective: 'min_variance', constraint_set_id: 'floor' };
      expect((await requireSolution(least)).expected_return).toBeCloseTo(lower, 8);
      const preview = await service.ask<PreviewResponse>('POST', '/optimise/preview', {
        index_id: 'BROAD',
        constraints,
        ...terms,
      });
      expect(preview.status).toBe(200);
      for (const { identifier, weight } of run.weights)
        expect(preview.body.weights[identifier] ?? 0).toBeCloseTo(weight, 9);
      const derived = await service.ask('POST', '/indices/BROAD/optimise', {
        id: 'GROSS',
        name: 'G',
        constraints,
        ...terms,
      });
      expect(derived.status, JSON.stringify(derived.body)).toBe(200);
    });

    test('is refused with the field and both numbers', async () => {
      const refuse = async (request: object) => {
        const { status, detail } = await service.refusal('POST', '/optimise/runs', {
          index_id: 'BROAD',
          constraint_set_id: 'caps',
          ...request,
        });
        const { findings } = detail as { findings: { code: string; path: string; message: string }[] };
        return [status, ...findings.map(({ code, path }) => `${code} ${path}`), findings[0]!.message];
      };
      expect(await refuse({ objective: 'max_utility' })).toEqual([
        422,
        'REQUIRED expected_returns',
        'expected_returns is required by the objective max_utility.',
      ]);
      const floor = [{ id: 'floor', type: 'ExpectedReturn', params: { lower: 0.05 } }];
      await put('floor', floor);
      expect(await refuse({ constraint_set_id: 'floor', objective: 'min_variance' })).toEqual([
        422,
        'REQUIRED expected_returns',
        'expected_returns is required by the constraint ExpectedReturn.',
      ]);
      const rows = { constraints: floor };
      const run = { index_id: 'BROAD', constraint_set_id: 'floor' };
      for (const [path, body, prefix] of [
        ['/optimise/preview', { index_id: 'BROAD', ...rows }, ''],
        ['/indices/BROAD/optimise', { id: 'FLOOR', name: 'Floor', ...rows }, ''],
        [
          '/indices',
          { ...parent, id: 'FLOOR', pipeline: null, derivation: { source_index_id: 'BROAD', ...rows } },
          'derivation.',
        ],
        ['/optimise/studies', { runs: [{ ...run, expected_returns: CAPM }, run] }, 'runs[1].'],
      ] as const) {
        const { status, detail } = await service.refusal('POST', path, body);
        expect([path, status, detail]).toMatchObject([
          path,
          422,
          { findings: [{ code: 'REQUIRED', path: `${prefix}expected_returns` }] },
        ]);
      }
      expect(
        await refuse({ objective: { type: 'max_utility', risk_aversion: -1 }, expected_returns: { type: 'alpha' } }),
      ).toEqual([
        422,
        'UNKNOWN_TYPE expected_returns.type',
        'OUT_OF_RANGE objective.risk_aversion',
        'alpha is not a model of expected returns; the accepted set is field, historical, capm, black_litterman.',
      ]);
      expect(await refuse({ objective: { type: 'risk_parity', budgets: { Energy: 0.5, Tech: 0.3 } } })).toEqual([
        422,
        'WEIGHTS_NOT_ONE objective.budgets',
        'objective.budgets has a sum of 0.8, but must sum to 1; it is {"Energy":0.5,"Tech":0.3}.',
      ]);
      const field = { node: 'field', name: 'ALPHA' };
      expect((await refuse({ expected_returns: { type: 'field', field } })).slice(0, 2)).toEqual([
        422,
        'UNKNOWN_FIELD_NAME expected_returns.field',
      ]);
      expect((await refuse({ costs: { linear_bps: -3 } })).at(-1)).toBe(
        'costs.linear_bps is -3; at least 0 is needed.',
      );
    });
  });

  test('the catalogue has every objective and model of expected returns with a valid example', async () => {
    const { body } = await service.ask<ObjectiveTypes>('GET', '/optimise/objective-types');
    expect(body.objectives.map(({ type }) => type)).toEqual(OBJECTIVE_CLASSES.map(({ type }) => type));
    expect(body.expected_returns.map(({ type }) => type)).toEqual(RETURNS_CLASSES.map(({ type }) => type));
    // The root of a variance of 0.04 is 20 %. A return of 0.04 is 4 %. A number without a unit stays 0.04.
    const figures = { root: 2000, return: 400, loss: 400, number: 0.04 };
    for (const { type, measure } of body.objectives) {
      const { of } = OBJECTIVE_CLASSES.find((entry) => entry.type === type)!.measure;
      expect([type, of(0.04)]).toEqual([type, figures[measure.form]]);
    }
    for (const entry of [...OBJECTIVE_CLASSES, ...RETURNS_CLASSES]) {
      const { type, ...params } = entry.example;
      expect(type).toBe(entry.type);
      expect(entry.params.safeParse(params).error, entry.type).toBeUndefined();
      expect(entry.help).toMatch(/\.$/);
    }
  });

  describe('a derived index with an objective', () => {
    const derive = (id: string, body: object) =>
      service.ask('POST', '/indices/BROAD/optimise', { id, name: id, ...body });
    const runBacktestJob = async (id: string) => {
      const { body } = await service.ask<JobStatus>('POST', `/analytics/${id}/backtest`, {});
      const { result, error } = await service.waitForJob(body.job_id);
      expect(error, JSON.stringify(error)).toBeNull();
      return result as unknown as z.infer<typeof BacktestRunResult>;
    };

    test('is previewed at each rebalance as its run computes it, including costs and the drift before', async () => {
      const body = {
        objective: { type: 'max_utility', risk_aversion: 4 },
        expected_returns: { type: 'historical', shrinkage: 0.5 },
        costs: { linear_bps: 30, impact_coefficient: 0.02 },
      };
      expect((await derive('UTILITY', body)).status).toBe(200);
      const { rebalances } = await runBacktestJob('UTILITY');
      expect(rebalances.length).toBeGreaterThan(4);
      for (const { date: day, weights } of rebalances.slice(0, 4)) {
        const { body: preview } = await service.ask<PreviewResponse>('POST', '/indices/UTILITY/preview', {
          as_of: day,
        });
        expect(preview.solve?.objective).toBe('max_utility');
        for (const [name, weight] of Object.entries(weights))
          expect(Math.abs((preview.weights[name] ?? 0) - weight)).toBeLessThan(1e-12);
      }
    });

    test('of the worst losses is previewed as its run computes it, on the requested number of sessions', async () => {
      const body = { objective: { type: 'min_cvar', confidence: 0.9, scenarios: 250 }, costs: { linear_bps: 20 } };
      expect((await derive('TAIL', body)).status).toBe(200);
      const { rebalances } = await runBacktestJob('TAIL');
      const { date: day, weights } = rebalances.at(-1)!;
      const { body: preview } = await service.ask<PreviewResponse>('POST', '/indices/TAIL/preview', { as_of: day });
      for (const [name, weight] of Object.entries(weights))
        expect(Math.abs((preview.weights[name] ?? 0) - weight)).toBeLessThan(1e-12);
    });

    test('with costs above all gain keeps its drifted weights', async () => {
      await derive('KEPT', { objective: { type: 'min_variance' }, costs: { linear_bps: 9000 } });
      const { rebalances } = await runBacktestJob('KEPT');
      const closes = new Map(createMarketRows().map(([name, day, close]) => [`${name} ${day}`, close as number]));
      const [first, second] = rebalances;
      const grownWeights = Object.entries(first!.weights).map(([name, weight]): [string, number] => [
        name,
        (weight * closes.get(`${name} ${second!.date}`)!) / closes.get(`${name} ${first!.date}`)!,
      ]);
      const total = grownWeights.reduce((sum, [, value]) => sum + value, 0);
      // A security that left the parent is sold, whatever this costs. A security that entered the parent is not bought.
      for (const [name, value] of grownWeights) {
        const weight = second!.weights[name];
        if (weight !== undefined) expect(Math.abs(weight - value / total)).toBeLessThan(1e-9);
      }
      expect(Object.keys(second!.weights).length).toBeGreaterThan(5);
    });

    test('begins with the identity if its history is too short for a covariance, with a finding', async () => {
      const earlyIndex = {
        ...(await service.ask<object>('GET', '/indices/BROAD')).body,
        id: 'TOO-EARLY',
        base_date: '2023-01-10',
      };
      expect((await service.ask('POST', '/indices', earlyIndex)).status).toBe(200);
      const body = { id: 'TOO-EARLY-LOW', name: 'Early', objective: { type: 'min_variance' } };
      expect((await service.ask('POST', '/indices/TOO-EARLY/optimise', body)).status).toBe(200);
      const { rebalances, findings } = await runBacktestJob('TOO-EARLY-LOW');
      // Eleven equal weights have the smallest sum of squares.
      for (const weight of Object.values(rebalances[0]!.weights)) expect(weight).toBeCloseTo(1 / 11, 9);
      const message: string = expect.stringContaining('at least 20 are required');
      expect(findings).toContainEqual(expect.objectContaining({ code: 'RISK_FALLBACK_IDENTITY', message }));
    });

    test('chosen from the universe holds securities outside its parent, and so may an index derived from it', async () => {
      const body = { objective: { type: 'min_variance' }, candidates: 'universe' };
      expect((await derive('WIDE', body)).status).toBe(200);
      const { rebalances } = await runBacktestJob('WIDE');
      const parents = await runBacktestJob('BROAD');
      const entrants = rebalances.map(({ date, weights }) => {
        const parentWeights = parents.rebalances.find((rebalance) => rebalance.date === date)!.weights;
        return Object.keys(weights).filter((name) => parentWeights[name] === undefined);
      });
      // Eleven of the twelve securities are in the parent. The twelfth has the smallest beta and enters the index.
      expect(entrants.every((names) => names.length === 1)).toBe(true);
      for (const { date: day, weights } of rebalances.slice(0, 2)) {
        const { body: preview } = await service.ask<PreviewResponse>('POST', '/indices/WIDE/preview', { as_of: day });
        for (const [name, weight] of Object.entries(weights))
          expect(Math.abs(preview.weights[name]! - weight)).toBeLessThan(1e-12);
        expect(preview.assets).toHaveLength(12);
        const entrant = preview.assets.find(({ identifier }) => identifier === entrants[0]![0])!;
        expect([entrant.source_weight, entrant.weight! > 0]).toEqual([0, true]);
      }
      const floor = [{ type: 'PositionBounds', params: { lower: 0.02 } }];
      const wider = { ...body, id: 'WIDER', name: 'Wider' };
      expect((await service.ask('POST', '/indices/WIDE/optimise', { ...wider, constraints: floor })).status).toBe(200);
      // A floor of 2 % holds every candidate, which are more securities than the parent has.
      expect(Object.keys(rebalances[0]!.weights).length).toBeLessThan(12);
      expect(Object.keys((await runBacktestJob('WIDER')).rebalances[0]!.weights)).toHaveLength(12);
    });

    test('has the risk of its estimator at every rebalance, with a finding', async () => {
      const risk_model = { target: 'scaled_identity', intensity: 1, sessions: 120 };
      expect((await derive('EVEN', { objective: { type: 'min_variance' }, risk_model })).status).toBe(200);
      const { rebalances } = await runBacktestJob('EVEN');
      expect(rebalances.length).toBeGreaterThan(2);
      for (const { weights } of rebalances)
        for (const weight of Object.values(weights)) expect(weight).toBeCloseTo(1 / 11, 10);
      const { body } = await service.ask('GET', '/indices/EVEN/methodology');
      expect(JSON.stringify(body)).toContain(
        'Risk is a covariance of 120 returns up to the decision, shrunk towards a scaled identity with intensity 1.',
      );
    });

    test('states its objective in its methodology', async () => {
      const { body } = await service.ask<{ methodology: string[] }>('GET', '/indices/UTILITY/methodology');
      expect(JSON.stringify(body)).toContain('the largest expected return less 4/2 times the variance');
      expect(JSON.stringify(body)).toContain('historical means of the window of the risk model, shrunk by 0.5');
      expect(JSON.stringify(body)).toContain('30 basis points of each traded weight');
    });

    test('explains a weight between its bounds by forces that sum to zero', async () => {
      const { body } = await service.ask<SolveExplanation>('GET', '/indices/UTILITY/explain/N05?as_of=2024-06-28');
      const { solve } = body.derivation;
      expect(solve.centre).toBe(0);
      if (solve.held_by === 'free')
        expect(
          Math.abs(solve.centre - (solve.pull + solve.force) / solve.stiffness - solve.solved_weight),
        ).toBeLessThan(1e-12);
    });
  });
}

interface SolveExplanation {
  readonly derivation: {
    readonly solve: {
      readonly centre: number;
      readonly pull: number;
      readonly force: number;
      readonly stiffness: number;
      readonly held_by: string;
      readonly solved_weight: number;
    };
  };
}
