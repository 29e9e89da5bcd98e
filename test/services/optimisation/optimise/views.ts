import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import type { OptimisationRunResult } from '#contract/optimise.js';
import { createMarketRows, NAMES, put, requireSolution, service } from './set-up.js';
import { createFrame } from '../../../table-frame.js';

type Result = z.infer<typeof OptimisationRunResult>;

const FREE = [{ id: 'pos', type: 'PositionBounds', params: { lower: -1, upper: 1 } }];

/** Returns the simple returns of the market by security and session, which follow each other. */
function computeReturns(dates: readonly string[]): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const rows = createMarketRows();
  const days = [...new Set(rows.map(([, day]) => String(day)))];
  const closes = new Map(rows.map(([name, day, close]) => [`${String(name)} ${String(day)}`, Number(close)]));
  const before = [days[days.indexOf(dates[0]!) - 1]!, ...dates];
  return new Map(
    NAMES.map((name) => [
      name,
      new Map(dates.map((day, t) => [day, closes.get(`${name} ${day}`)! / closes.get(`${name} ${before[t]!}`)! - 1])),
    ]),
  );
}

/** Returns the moments of two securities from the reported probabilities. */
function measure({ dates, probabilities }: NonNullable<Result['scenario_views']>, one: string, other: string) {
  const returns = computeReturns(dates);
  const average = (value: (date: string) => number) =>
    dates.reduce((sum, date, t) => sum + probabilities[t]! * value(date), 0);
  const of = (name: string) => (date: string) => returns.get(name)!.get(date)!;
  const covariance = (a: string, b: string) =>
    average((date) => of(a)(date) * of(b)(date)) - average(of(a)) * average(of(b));
  const losses = dates
    .map((date, t) => ({ loss: -of(one)(date), p: probabilities[t]! }))
    .sort((a, b) => b.loss - a.loss);
  let open = 0.05;
  const cvar = losses.reduce((sum, { loss, p }) => {
    const part = Math.min(open, p);
    open -= part;
    return sum + part * loss;
  }, 0);
  return {
    mean: 252 * average(of(one)),
    volatility: Math.sqrt(252 * covariance(one, one)),
    correlation: covariance(one, other) / Math.sqrt(covariance(one, one) * covariance(other, other)),
    cvar: cvar / 0.05,
  };
}

/** Imports eight asset classes with their market weights, and the covariance that Idzorek published. */
async function importIdzorek() {
  // T. Idzorek, A step-by-step guide to the Black-Litterman model (2005), tables 1, 2 and 5.
  const names = ['UB', 'IB', 'LG', 'LV', 'SG', 'SV', 'ID', 'IE'];
  const market = [0.1934, 0.2613, 0.1209, 0.1209, 0.0134, 0.0134, 0.2418, 0.0349];
  const covariance = [
    [0.001005, 0.001328, -0.000579, -0.000675, 0.000121, 0.000128, -0.000445, -0.000437],
    [0.001328, 0.007277, -0.001307, -0.00061, -0.002237, -0.000989, 0.001442, -0.001535],
    [-0.000579, -0.001307, 0.059852, 0.027588, 0.063497, 0.023036, 0.032967, 0.048039],
    [-0.000675, -0.00061, 0.027588, 0.029609, 0.026572, 0.021465, 0.020697, 0.029854],
    [0.000121, -0.002237, 0.063497, 0.026572, 0.102488, 0.042744, 0.039943, 0.065994],
    [0.000128, -0.000989, 0.023036, 0.021465, 0.042744, 0.032056, 0.019881, 0.032235],
    [-0.000445, 0.001442, 0.032967, 0.020697, 0.039943, 0.019881, 0.028355, 0.035064],
    [-0.000437, -0.001535, 0.048039, 0.029854, 0.065994, 0.032235, 0.035064, 0.079958],
  ];
  const rows = names.flatMap((name) => ['2024-01-02', '2024-01-03', '2024-01-04'].map((day) => [name, day, 100]));
  const frame = createFrame(['identifier', 'date', 'CLOSE'], rows);
  const body = {
    store_id: 'classes',
    name: 'Asset classes',
    adjustment: 'none',
    currency: 'USD',
    tables: { market: frame },
  };
  expect((await service.ask('POST', '/data/import', { ...body, activate: true })).status).toBe(201);
  const weights = Object.fromEntries(names.map((name, i) => [name, market[i]]));
  const index = {
    id: 'CLASSES',
    name: 'Classes',
    calendar: 'XNYS',
    base_date: '2024-01-03',
    store_id: 'classes',
    rebalance: { frequency: 'none' },
    pipeline: { weighting: { type: 'FixedWeight', params: { weights } } },
  };
  const saved = await service.ask('PUT', '/indices/CLASSES', index);
  expect(saved.status, JSON.stringify(saved.body)).toBe(200);
  const imported = await service.ask('POST', '/risk-models/classes/import', {
    units: 'annual',
    models: [{ date: '2024-01-02', covariance: { index: names, columns: names, data: covariance } }],
  });
  expect(imported.status, JSON.stringify(imported.body)).toBeLessThan(300);
}

export function describeViews(): void {
  describe('views on scenarios', () => {
    const objective = { type: 'max_utility', risk_aversion: 5 };
    const expected_returns = { type: 'historical' };

    test('hold under the reported probabilities, which the multipliers prove to be the nearest to the prior', async () => {
      const views = [
        { measure: 'mean', weights: { N03: 1 }, value: 0.12 },
        { measure: 'volatility', weights: { N03: 1 }, value: 0.25 },
        { measure: 'correlation', weights: { N03: 1 }, with: { N05: 1 }, value: 0.1 },
        { measure: 'cvar', weights: { N03: 1 }, relation: 'at_least', value: 0.035 },
      ];
      const scenario_views = { sessions: 300, views };
      const run = await requireSolution(FREE, { objective, expected_returns, scenario_views });
      const pooled = run.scenario_views!;
      expect(pooled.dates.length).toBe(300);
      expect(pooled.probabilities.reduce((sum, p) => sum + p, 0)).toBeCloseTo(1, 12);
      const moments = measure(pooled, 'N03', 'N05');
      expect(moments.mean).toBeCloseTo(0.12, 9);
      expect(moments.volatility).toBeCloseTo(0.25, 9);
      expect(moments.correlation).toBeCloseTo(0.1, 9);
      expect(moments.cvar).toBeGreaterThan(0.035 - 1e-9);
      expect(pooled.views.map(({ view }) => view)).toEqual([0, 1, 2, 3]);
      const entropy = pooled.probabilities.reduce((sum, p) => (p > 0 ? sum + p * Math.log(300 * p) : sum), 0);
      expect(pooled.relative_entropy).toBeCloseTo(entropy, 12);
      expect(pooled.gap).toBeLessThan(1e-10);
      expect(pooled.effective_scenarios).toBeCloseTo(1 / pooled.probabilities.reduce((sum, p) => sum + p * p, 0), 8);
      // Without rows that bind, the gradient of the utility is the same for all securities.
      expect(run.converged).toBe(true);
      expect(run.findings.filter(({ severity }) => severity === 'error')).toEqual([]);
    });

    test('move the minimum of variance and of the tail, whose average uses the probabilities', async () => {
      const scenario_views = { sessions: 250, views: [{ measure: 'mean', weights: { N02: 1 }, value: -0.6 }] };
      const plain = await requireSolution([], { objective: 'min_cvar', scenario_views: null });
      expect(plain.scenario_views).toBeNull();
      const {
        tail,
        scenario_views: pooled,
        weights,
        objective_value: value,
      } = await requireSolution([], {
        objective: { type: 'min_cvar', confidence: 0.9 },
        scenario_views,
      });
      const { dates, probabilities } = pooled!;
      const returns = computeReturns(dates);
      const losses = dates
        .map((date, t) => ({
          p: probabilities[t]!,
          loss: -weights.reduce((sum, { identifier, weight }) => sum + weight * returns.get(identifier)!.get(date)!, 0),
        }))
        .sort((a, b) => b.loss - a.loss);
      let open = 0.1;
      const average =
        losses.reduce((sum, { loss, p }) => {
          const part = Math.min(open, p);
          open -= part;
          return sum + part * loss;
        }, 0) / 0.1;
      expect(value).toBeCloseTo(average, 9);
      expect([tail!.average, tail!.largest]).toEqual([expect.closeTo(average, 9), expect.closeTo(losses[0]!.loss, 12)]);
      // No exchange of one percentage point between two securities lowers the tail.
      const computeTail = (changes: Readonly<Record<string, number>>) => {
        const sorted = dates
          .map((date, t) => ({
            p: probabilities[t]!,
            loss: -weights.reduce(
              (sum, { identifier, weight }) =>
                sum + (weight + (changes[identifier] ?? 0)) * returns.get(identifier)!.get(date)!,
              0,
            ),
          }))
          .sort((a, b) => b.loss - a.loss);
        let rest = 0.1;
        return (
          sorted.reduce((sum, { loss, p }) => {
            const part = Math.min(rest, p);
            rest -= part;
            return sum + part * loss;
          }, 0) / 0.1
        );
      };
      for (const { identifier: from, weight } of weights)
        for (const { identifier: to } of weights)
          if (weight > 0.01 && from !== to)
            expect(computeTail({ [from]: -0.01, [to]: 0.01 })).toBeGreaterThan(average - 1e-9);
    });

    test('are refused with the view if the scenarios cannot satisfy them, or if they exclude another member', async () => {
      const refuse = async (terms: object) => {
        await put('probe', []);
        const { status, body } = await service.ask<{ job_id: string; detail?: unknown }>('POST', '/optimise/runs', {
          index_id: 'BROAD',
          constraint_set_id: 'probe',
          ...terms,
        });
        const answer: unknown = status === 202 ? (await service.waitForJob(body.job_id)).error : body;
        return JSON.stringify(answer);
      };
      const mean = { measure: 'mean', weights: { N02: 1 }, value: 0.1 };
      const views = (...list: object[]) => ({ scenario_views: { views: list } });
      expect(await refuse(views({ ...mean, value: 90 }))).toMatch(/View 1 states a mean of 90, but its scenarios/);
      expect(await refuse(views(mean, { ...mean, value: 0.2 }))).toMatch(/views 1, 2 together.*contradict/);
      expect(await refuse({ ...views(mean), risk_model: { estimator: 'gerber' } })).toMatch(
        /risk_model and scenario_views/,
      );
      expect(await refuse({ ...views(mean), objective: 'min_cdar' })).toMatch(/min_cdar measures drawdowns/);
      expect(await refuse(views({ ...mean, measure: 'correlation' }))).toMatch(/with is required/);
      expect(await refuse(views({ ...mean, with: { N03: 1 } }))).toMatch(/Only a correlation/);
      const [absent, other] = ['ABSENT', 'MISSING'].map((name) => ({ ...mean, weights: { [name]: 1, N03: 1 } }));
      const refusal = await refuse(views(absent!, other!));
      expect(refusal).toMatch(/No view on scenarios applies/);
      expect(refusal).toMatch(/ABSENT has no returns.*views\[0\].*MISSING has no returns.*views\[1\]/);
    });

    test('on a security without returns are ignored with a finding, and a derived index accepts views', async () => {
      const views = [
        { measure: 'mean', weights: { ABSENT: 1 }, value: 0.1 },
        { measure: 'mean', weights: { N02: 1 }, value: 0.05, confidence: 0.9 },
      ];
      const run = await requireSolution([], { objective: 'min_variance', scenario_views: { views } });
      expect(run.findings.map(({ message }) => message).join()).toMatch(/View 1 on scenarios is ignored: ABSENT/);
      expect(run.scenario_views!.views.map(({ view }) => view)).toEqual([1]);
      expect(run.findings).toContainEqual(
        expect.objectContaining({ code: 'NO_EFFECT', path: 'scenario_views.views[1].confidence', value: 0.9 }),
      );
      const preview = await service.ask<{ solve: { scenario_views: unknown } }>('POST', '/optimise/preview', {
        index_id: 'BROAD',
        objective: 'min_variance',
        scenario_views: { views },
        constraints: [],
      });
      expect(preview.body.solve.scenario_views, JSON.stringify(preview.body)).toEqual(run.scenario_views);
      const derived = await service.ask('POST', '/indices/BROAD/optimise', {
        id: 'POOLED',
        name: 'Pooled',
        objective: { type: 'min_variance' },
        scenario_views: { views: views.slice(1) },
        constraints: [],
      });
      expect(derived.status, JSON.stringify(derived.body)).toBe(200);
      const { status, body } = await service.ask<{ job_id: string }>('POST', '/analytics/POOLED/backtest', {});
      expect(status, JSON.stringify(body)).toBe(202);
      const { error, result } = await service.waitForJob(body.job_id);
      expect(error).toBeNull();
      // Every rebalance states its probabilities with their proof; that of the last one is the preview's.
      const { findings, rebalances } = result as {
        findings: readonly { code: string; first_date: string; message: string }[];
        rebalances: readonly { date: string }[];
      };
      const proofs = findings.filter(({ code }) => code === 'SCENARIOS_WEIGHED');
      expect(proofs.map(({ first_date: date }) => date)).toEqual(rebalances.map(({ date }) => date));
      const last = await service.ask<{ solve: { scenario_views: { relative_entropy: number } } }>(
        'POST',
        '/indices/POOLED/preview',
        { as_of: rebalances.at(-1)!.date },
      );
      expect(last.status, JSON.stringify(last.body)).toBe(200);
      const { relative_entropy: entropy } = last.body.solve.scenario_views;
      const [stated, proven] = /entropy of ([\d.e-]+), proven to be at least ([\d.e-]+);/
        .exec(proofs.at(-1)!.message)!
        .slice(1)
        .map(Number);
      expect(Math.abs(stated! - entropy)).toBeLessThan(1e-5 * entropy);
      expect(proven!).toBeLessThanOrEqual(stated!);
      expect(proven!).toBeGreaterThan(0.999 * stated!);
    });
  });

  describe('weights that do not sum to 1', () => {
    test('of 130 % long and 30 % short positions fulfil the conditions of the optimum', async () => {
      const constraints = [
        { id: 'short', type: 'PositionBounds', params: { lower: -0.3, upper: 1 } },
        { id: 'gross', type: 'GrossExposure', params: { upper: 1.6 } },
      ];
      const run = await requireSolution(constraints, {
        objective: { type: 'max_return' },
        expected_returns: { type: 'historical' },
      });
      const weights = run.weights.map(({ weight }) => weight);
      const long = weights.reduce((sum, weight) => sum + Math.max(weight, 0), 0);
      expect(long).toBeCloseTo(1.3, 9);
      expect(long - weights.reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(0.3, 9);
      const levered = [{ id: 'sum', type: 'WeightSum', params: { lower: 1.3, upper: 1.3 } }];
      const { weights: more } = await requireSolution(levered, { objective: 'min_tracking_error' });
      expect(more.reduce((sum, { weight }) => sum + weight, 0)).toBeCloseTo(1.3, 10);
    });

    test('equal the 103.63 % of the portfolio that Idzorek published', async () => {
      await importIdzorek();
      const constraints = [{ id: 'sum', type: 'WeightSum', params: { lower: 0, upper: 2 } }, ...FREE];
      const published = { UB: 29.88, IB: 15.59, LG: 9.35, LV: 14.82, SG: 1.04, SV: 1.65, ID: 27.81, IE: 3.49 };
      const { status, body } = await service.ask<{ weights: Record<string, number> }>('POST', '/optimise/preview', {
        index_id: 'CLASSES',
        risk_model: 'classes',
        objective: { type: 'max_utility', risk_aversion: 3.07 },
        expected_returns: {
          type: 'black_litterman',
          tau: 0.025,
          risk_aversion: 3.07,
          views: [
            { weights: { ID: 1 }, value: 0.0525, confidence: 0.5 },
            { weights: { IB: 1, UB: -1 }, value: 0.0025, confidence: 0.5 },
            { weights: { LG: 0.9, SG: 0.1, LV: -0.9, SV: -0.1 }, value: 0.02, confidence: 0.5 },
          ],
        },
        constraints,
      });
      expect(status, JSON.stringify(body)).toBe(200);
      for (const [name, percent] of Object.entries(published))
        expect(Math.abs(100 * body.weights[name]! - percent), name).toBeLessThan(0.1);
      const sum = Object.values(body.weights).reduce((total, weight) => total + weight, 0);
      expect(Math.abs(100 * sum - 103.63)).toBeLessThan(0.1);
    });
  });
}
