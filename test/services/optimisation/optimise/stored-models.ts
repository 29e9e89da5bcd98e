import { describe, expect, test } from 'vitest';
import type { BacktestRunResult } from '#contract/analytics/record.js';
import type { PreviewResponse } from '#contract/indices/previews.js';
import type { SweepView } from '#contract/sweeps.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { CAPM, runToEnd, requireSolution } from './objectives.js';
import { computePlainOrder, computePlainWeights, createPoints } from '../../../kernels/weighting/plain-hierarchy.js';
import { NAMES, put, service } from './set-up.js';

interface RiskModel {
  readonly covariance: { readonly index: readonly string[]; readonly data: readonly (readonly number[])[] };
}

interface StoredSpan {
  readonly observed_start: string;
  readonly observed_end: string;
  readonly diagnostics: { readonly observations: number };
}

const DATE_BEFORE = '2023-02-28';
const FIRST = '2023-03-01';

/** Estimates a model of securities over the sessions up to a day. @returns the covariance in the response */
async function estimate(id: string, request: object): Promise<RiskModel['covariance']> {
  const { body } = await service.ask<JobStatus>('POST', `/risk-models/${id}/estimate`, request);
  expect((await service.waitForJob(body.job_id)).error).toBeNull();
  return (await service.ask<RiskModel>('GET', `/risk-models/${id}`)).body.covariance;
}

/**
 * Checks that long-only weights have the minimum variance under a covariance. No held security may have a higher
 * marginal variance than another security.
 */
function expectLeastVariance(
  { index, data }: RiskModel['covariance'],
  weights: Readonly<Record<string, number>>,
): void {
  const w = index.map((name) => weights[name] ?? 0);
  const marginal = data.map((row) => row.reduce((sum, value, j) => sum + value * w[j]!, 0));
  const variance = w.reduce((sum, value, i) => sum + value * marginal[i]!, 0);
  w.forEach((weight, i) => {
    if (weight > 0) expect(marginal[i]! / variance).toBeCloseTo(1, 8);
    else expect(marginal[i]! / variance).toBeGreaterThan(1 - 1e-8);
  });
}

const leastVariance = { objective: { type: 'min_variance' }, candidates: 'universe' };
const derive = (id: string, body: object) =>
  service.ask('POST', '/indices/BROAD/optimise', { id, name: id, ...leastVariance, ...body });

async function runBacktestJob(id: string): Promise<JobStatus> {
  const { status, body } = await service.ask<JobStatus>('POST', `/analytics/${id}/backtest`, {});
  expect(status, JSON.stringify(body)).toBe(202);
  return service.waitForJob(body.job_id);
}

const listStaleReasons = async (id: string) => {
  const { body } = await service.ask<{ stale: { reasons: string[] } | null }>('GET', `/analytics/${id}/levels`);
  return body.stale?.reasons ?? null;
};

const rerunOptimisation = async (id: string) => {
  const { body } = await service.ask<JobStatus>('POST', `/analytics/${id}/replay`);
  return (await service.waitForJob(body.job_id)).result;
};

export function describeStoredModels(): void {
  describe('a stored risk model', () => {
    test('is the risk measure of a run', async () => {
      const model = await estimate('early', { identifiers: NAMES, end: DATE_BEFORE, intensity: 0.3 });
      await put('free', []);
      const run = await requireSolution({
        ...leastVariance,
        constraint_set_id: 'free',
        as_of: FIRST,
        risk_model: 'early',
      });
      const weights = Object.fromEntries(run.weights.map(({ identifier, weight }) => [identifier, weight]));
      expectLeastVariance(model, weights);
      expect(run.volatility ** 2).toBeCloseTo(run.objective_value, 12);
    });

    test('is named in the result with its own returns, and an estimate of the run with those of its window', async () => {
      await estimate('early', { identifiers: NAMES, end: DATE_BEFORE, intensity: 0.3 });
      const { body: stored } = await service.ask<StoredSpan>('GET', '/risk-models/early');
      const ask = { ...leastVariance, constraint_set_id: 'free', as_of: FIRST };
      expect((await requireSolution({ ...ask, risk_model: 'early' })).risk_model).toEqual({
        model_id: 'early',
        estimator: 'shrinkage',
        settings: { target: 'constant_correlation', intensity: 0.3, intensity_method: 'shape', half_life: null },
        start: stored.observed_start,
        end: stored.observed_end,
        sessions: stored.diagnostics.observations,
      });
      // 23 weekdays of March 2023 and two of February. None of them is a holiday.
      const estimator = { estimator: 'gerber', threshold: 0.4, sessions: 25 };
      expect((await requireSolution({ ...ask, as_of: '2023-03-31', risk_model: estimator })).risk_model).toEqual({
        model_id: null,
        estimator: 'gerber',
        settings: { threshold: 0.4 },
        start: '2023-02-27',
        end: '2023-03-31',
        sessions: 25,
      });
    });

    test('of factors measures by its factors: a run has the least variance by their covariance', async () => {
      const model = await estimate('factors', {
        identifiers: NAMES.toReversed(),
        end: DATE_BEFORE,
        estimator: 'statistical',
        factors: 3,
      });
      await put('free', []);
      const run = await requireSolution({
        ...leastVariance,
        constraint_set_id: 'free',
        as_of: FIRST,
        risk_model: 'factors',
      });
      const weights = Object.fromEntries(run.weights.map(({ identifier, weight }) => [identifier, weight]));
      expectLeastVariance(model, weights);
      const w = model.index.map((name) => weights[name] ?? 0);
      const variance = model.data.reduce(
        (sum, row, i) => sum + w[i]! * row.reduce((total, value, j) => total + value * w[j]!, 0),
        0,
      );
      expect(run.volatility ** 2 / variance).toBeCloseTo(1, 11);
    });

    test('measures the securities of the index and of the universe alike: more candidates never worsen the objective', async () => {
      await estimate('early', { identifiers: NAMES, end: DATE_BEFORE, intensity: 0.3 });
      const terms = { as_of: FIRST, risk_model: 'early', expected_returns: CAPM };
      const { volatility } = await requireSolution({
        ...leastVariance,
        ...terms,
        candidates: 'parent',
        constraint_set_id: 'free',
      });
      await put('calm', [{ type: 'Volatility', params: { limit: 1.1 * volatility } }]);
      const ask = { ...terms, objective: 'max_return', constraint_set_id: 'calm' };
      const fewSolution = await requireSolution(ask);
      const manySolution = await requireSolution({ ...ask, candidates: 'universe' });
      expect(manySolution.weights.length).toBe(fewSolution.weights.length + 1);
      expect(manySolution.objective_value).toBeGreaterThanOrEqual(fewSolution.objective_value - 1e-12);
      expect(manySolution.findings.filter(({ code }) => code === 'JOINT_ESTIMATE')).toEqual([]);
    });

    test('is the risk measure of a derived index at every rebalance, and in a preview', async () => {
      const model = await estimate('early', { identifiers: NAMES, end: DATE_BEFORE, intensity: 0.3 });
      expect((await derive('MODELLED', { risk_model: 'early' })).status).toBe(200);
      const { result, error } = await runBacktestJob('MODELLED');
      expect(error).toBeNull();
      const { rebalances } = result as unknown as BacktestRunResult;
      expect(rebalances.length).toBeGreaterThan(3);
      for (const { weights } of rebalances) expectLeastVariance(model, weights);
      const { body } = await service.ask<PreviewResponse>('POST', '/indices/MODELLED/preview', { as_of: '2023-12-29' });
      expectLeastVariance(model, body.weights);
      const { body: methodology } = await service.ask('GET', '/indices/MODELLED/methodology');
      expect(JSON.stringify(methodology)).toContain('Risk is the stored risk model early.');
    });

    test('is the risk measure of a weighting by hierarchical risk parity', async () => {
      const { index, data } = await estimate('early', { identifiers: NAMES, end: DATE_BEFORE, intensity: 0.3 });
      const createWeighting = (model: string) => ({
        type: 'HierarchicalRiskParityWeight',
        params: { risk_model: model },
      });
      const createTree = (model: string) => ({
        id: 'TREE',
        name: 'Tree',
        calendar: 'XNYS',
        base_date: FIRST,
        universe: { kind: 'list', identifiers: NAMES },
        rebalance: { frequency: 'monthly' },
        pipeline: { weighting: createWeighting(model) },
      });
      const absentAnswer = await service.ask<{ error: { detail: unknown } }>(
        'PUT',
        '/indices/TREE',
        createTree('none'),
      );
      expect([absentAnswer.status, JSON.stringify(absentAnswer.body)]).toEqual([
        422,
        expect.stringMatching(/RISK_MODEL_NOT_FOUND.*pipeline\.weighting\.params\.risk_model/),
      ]);
      expect((await service.ask('PUT', '/indices/TREE', createTree('early'))).status).toBe(200);
      const { result, error } = await runBacktestJob('TREE');
      expect(error).toBeNull();
      const { rebalances } = result as unknown as BacktestRunResult;
      expect(rebalances.length).toBeGreaterThan(3);
      const positions = NAMES.toSorted().map((name) => index.indexOf(name));
      const sigma = positions.map((i) => positions.map((j) => data[i]![j]!));
      const plainWeights = computePlainWeights(
        sigma,
        computePlainOrder(createPoints(null, sigma, 'columns'), 'single'),
      );
      const expected = Object.fromEntries(
        NAMES.toSorted().map((name, i) => [name, expect.closeTo(plainWeights[i]!, 9)]),
      );
      for (const { weights } of rebalances) expect(weights).toEqual(expected);
    });

    test('is a parameter of a sweep', async () => {
      await estimate('other', { identifiers: NAMES, end: DATE_BEFORE, intensity: 1 });
      const { status, body } = await service.ask<JobStatus>('POST', '/analytics/sweeps', {
        index_id: 'MODELLED',
        grid: { '/document/derivation/risk_model': ['early', 'other'] },
      });
      expect(status, JSON.stringify(body)).toBe(202);
      const { result, error } = await service.waitForJob(body.job_id);
      expect(error).toBeNull();
      const { refused, identical_variants: alike } = result as unknown as SweepView;
      expect([refused, alike]).toEqual([0, []]);
    });

    test('that is estimated again makes the run stale, and the run can still be replayed', async () => {
      expect(await listStaleReasons('MODELLED')).toBeNull();
      await estimate('early', { identifiers: NAMES, end: DATE_BEFORE, intensity: 0.9 });
      expect(await listStaleReasons('MODELLED')).toEqual(['The risk model early changed since this run.']);
      expect(await rerunOptimisation('MODELLED')).toMatchObject({
        equal: true,
        inputs_equal: true,
        definition_changed: true,
      });
      // The model is estimated again with its former settings. Then nothing differs from the run.
      await estimate('early', { identifiers: NAMES, end: DATE_BEFORE, intensity: 0.3 });
      expect(await listStaleReasons('MODELLED')).toBeNull();
      expect((await service.ask('DELETE', '/risk-models/early')).status).toBe(204);
      expect(await listStaleReasons('MODELLED')).toEqual([
        'It cannot be run any more: The index MODELLED is measured by the risk model early, which is not stored.',
      ]);
      expect(await rerunOptimisation('MODELLED')).toMatchObject({ equal: true });
    });

    test('of returns after the decision is refused for it', async () => {
      await estimate('late', { identifiers: NAMES, end: '2023-06-15' });
      const run = await runToEnd({ ...leastVariance, constraint_set_id: 'free', as_of: FIRST, risk_model: 'late' });
      expect(run.error).toMatchObject({
        code: 'LOOK_AHEAD',
        detail: { model_id: 'late', observed_end: '2023-06-15', decision_date: FIRST },
      });
      const { status, body } = await derive('LATE', { risk_model: 'late' });
      const message: unknown = expect.stringContaining(
        `up to 2023-06-15, after the first decision of LATE on ${FIRST}`,
      );
      const expectLookAhead = (path: string): unknown =>
        expect.arrayContaining([{ severity: 'warning', code: 'LOOK_AHEAD', value: 'late', message, path }]);
      expect([status, body['findings']]).toEqual([200, expectLookAhead('risk_model')]);
      expect((await runBacktestJob('LATE')).error).toMatchObject({ code: 'LOOK_AHEAD' });
      const earlyRefusal = await service.refusal('POST', '/indices/LATE/preview', { as_of: FIRST });
      expect([earlyRefusal.status, earlyRefusal.code]).toEqual([422, 'LOOK_AHEAD']);
      const after = await service.ask<PreviewResponse>('POST', '/indices/LATE/preview', { as_of: '2023-12-29' });
      expect([after.status, after.body.findings]).toEqual([200, expectLookAhead('derivation.risk_model')]);
    });

    test('without an estimate of a candidate is refused with its name', async () => {
      await estimate('few', { identifiers: NAMES.slice(0, 10), end: DATE_BEFORE });
      const missingNames = { model_id: 'few', identifiers: NAMES.slice(10) };
      const run = await runToEnd({ ...leastVariance, constraint_set_id: 'free', as_of: FIRST, risk_model: 'few' });
      expect(run.error).toMatchObject({ code: 'MODEL_LACKS_NAMES', detail: missingNames });
      expect((await derive('FEW', { risk_model: 'few' })).status).toBe(200);
      const preview = await service.refusal('POST', '/indices/FEW/preview', { as_of: FIRST });
      expect([preview.status, preview.code, preview.detail]).toEqual([422, 'MODEL_LACKS_NAMES', missingNames]);
      expect((await runBacktestJob('FEW')).error).toMatchObject({ code: 'MODEL_LACKS_NAMES', detail: missingNames });
    });

    test('that does not exist is reported at its position', async () => {
      const run = { index_id: 'BROAD', constraint_set_id: 'free', risk_model: 'none' };
      expect((await service.refusal('POST', '/optimise/runs', run)).code).toBe('RISK_MODEL_NOT_FOUND');
      const refusal = await service.refusal('POST', '/indices/BROAD/optimise', {
        id: 'NONE',
        name: 'N',
        risk_model: 'none',
      });
      expect(refusal.code).toBe('VALIDATION_FAILED');
      const missingModel = { code: 'RISK_MODEL_NOT_FOUND', path: 'risk_model', value: 'none' };
      expect(refusal.detail!['findings']).toContainEqual(expect.objectContaining(missingModel));
    });
  });
}
