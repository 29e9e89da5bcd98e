import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RollingRiskView } from '#contract/analytics/run-views.js';
import type { SimulationView } from '#contract/simulations.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import {
  computeLevelGrowth,
  computeMoments,
  computeTallyBytes,
  createTallies,
  type Distribution,
  divideSimulation,
  planSimulation,
  SimulationRequest,
  summariseSimulation,
} from '#domain/analytics/simulation.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { runService, type RunningService } from '../running-service.js';
import { createEqualIndex } from '../../equal-index.js';

let service: RunningService;
beforeAll(async () => {
  service = await runService();
  const folder = join(service.root, 'market');
  await mkdir(folder, { recursive: true });
  const random = createCounterRandom({ seed: 6, stream: 0 });
  const days = Array.from({ length: 300 }, (_, i) => new Date(Date.UTC(2023, 0, 3 + i)))
    .filter((date) => date.getUTCDay() % 6 !== 0)
    .map((date) => date.toISOString().slice(0, 10));
  const rows = ['AAA', 'BBB', 'CCC'].flatMap((name) => {
    let level = 50;
    return days.map(
      (day) => `${name},${day},${(level = Math.round(level * (1 + 0.0005 + 0.012 * random.normal()) * 1e4) / 1e4)}`,
    );
  });
  await writeFile(join(folder, 'market.csv'), `identifier,date,CLOSE\n${rows.join('\n')}\n`);
  expect(
    (
      await service.ask('POST', '/data/stores', {
        store_id: 'market',
        name: 'Market',
        kind: 'folder',
        location: folder,
        activate: true,
      })
    ).status,
  ).toBe(201);
  const index = createEqualIndex('TRIO', {
    name: 'Trio',
    base_date: '2023-01-03',
    base_value: 100,
    currency: 'USD',
    universe: { kind: 'all' },
    rebalance: { frequency: 'quarterly' },
  });
  expect((await service.ask('POST', '/indices', index)).status).toBe(200);
  const run = await service.ask<JobStatus>('POST', '/analytics/TRIO/backtest');
  expect(await service.waitForJob(run.body.job_id)).toMatchObject({ status: 'succeeded' });
});
afterAll(() => service.close());

async function runSimulation(body?: unknown): Promise<SimulationView> {
  const { status, body: job } = await service.ask<JobStatus>('POST', '/analytics/TRIO/simulate', body);
  expect(status, JSON.stringify(job)).toBe(202);
  const doneJob = await service.waitForJob(job.job_id);
  expect(doneJob, JSON.stringify(doneJob.error)).toMatchObject({
    job_id: 'simulate:TRIO',
    status: 'succeeded',
    progress: 1,
  });
  return doneJob.result as SimulationView;
}

describe('rolling risk', () => {
  test('equals that of each window of returns of the run and its index', async () => {
    const { body } = await service.ask<RollingRiskView>('GET', '/analytics/TRIO/rolling?window=20');
    const { body: levels } = await service.ask<{ levels: { index: string[]; data: number[] } }>(
      'GET',
      '/analytics/TRIO/levels',
    );
    const returns = levels.levels.data.slice(1).map((level, t) => level / levels.levels.data[t]! - 1);
    expect(body).toMatchObject({ index_id: 'TRIO', window: 20, half_life: null });
    expect(body.risk.index[0]).toBe(levels.levels.index[20]);
    expect(body.risk.index.at(-1)).toBe(levels.levels.index.at(-1));
    body.risk.data.forEach((row, k) => {
      const window = returns.slice(k, k + 20);
      const mean = window.reduce((a, b) => a + b, 0) / 20;
      const volatility = Math.sqrt((252 * window.reduce((a, b) => a + (b - mean) ** 2, 0)) / 19);
      expect(row[0]).toBeCloseTo(volatility, 10);
      expect(row[1]).toBeCloseTo(volatility, 10); // without costs, the run equals its index
      expect(row[2]).toBeCloseTo(0, 7);
      expect(row.slice(3)).toEqual([expect.closeTo(1, 8), expect.closeTo(1, 8)]);
    });
  });

  test('against the benchmark of the run is on their common dates, and needs one', async () => {
    expect(await service.refusal('GET', '/analytics/TRIO/rolling?against=benchmark')).toMatchObject({
      status: 422,
      detail: { findings: [{ path: 'against', accepted: ['index'] }] },
    });
    const [name] = (await service.ask<{ identifiers: { identifier: string }[] }>('GET', '/data/identifiers?limit=1'))
      .body.identifiers;
    const benchmark = { id: name!.identifier, kind: 'identifier' };
    await service.ask('POST', '/analytics/TRIO/backtest', { benchmark });
    expect((await service.waitForJob('backtest:TRIO')).status).toBe('succeeded');
    const { body } = await service.ask<RollingRiskView>('GET', '/analytics/TRIO/rolling?window=20&against=benchmark');
    expect(body).toMatchObject({ against: 'benchmark', benchmark_id: name!.identifier });
    expect(body.risk.columns).toEqual(['volatility', 'benchmark_volatility', 'tracking_error', 'beta', 'correlation']);
    const { body: run } = await service.ask<{
      level: { index: string[]; data: number[] };
      benchmark_level: { index: string[]; data: number[] };
    }>('GET', '/analytics/TRIO/performance');
    const levelOn = new Map(run.level.index.map((date, t) => [date, run.level.data[t]!]));
    const { index: dates, data: other } = run.benchmark_level;
    const ownLevels = dates.map((date) => levelOn.get(date)!);
    const listLastReturns = (values: readonly number[]) =>
      values
        .slice(-21)
        .map((value, t, all) => value / all[t - 1]! - 1)
        .slice(1);
    const [x, y] = [listLastReturns(ownLevels), listLastReturns(other)];
    const computeMean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
    const covariance = (a: readonly number[], b: readonly number[]) =>
      a.reduce((sum, value, t) => sum + (value - computeMean(a)) * (b[t]! - computeMean(b)), 0) / (a.length - 1);
    const activeReturns = x.map((value, t) => value - y[t]!);
    expect(body.risk.index.at(-1)).toBe(dates.at(-1));
    [
      Math.sqrt(252 * covariance(x, x)),
      Math.sqrt(252 * covariance(y, y)),
      Math.sqrt(252 * covariance(activeReturns, activeReturns)),
      covariance(x, y) / covariance(y, y),
      covariance(x, y) / Math.sqrt(covariance(x, x) * covariance(y, y)),
    ].forEach((expected, i) => expect(body.risk.data.at(-1)![i]).toBeCloseTo(expected, 9));
    // The request contains the benchmark, for this run and for a run that was computed without it.
    const identifierPath = `/analytics/TRIO/rolling?window=20&benchmark=identifier:${name!.identifier}`;
    expect((await service.ask<RollingRiskView>('GET', identifierPath)).body.risk).toEqual(body.risk);
    await service.ask('POST', '/analytics/TRIO/backtest', {});
    expect((await service.waitForJob('backtest:TRIO')).status).toBe('succeeded');
    expect((await service.ask<RollingRiskView>('GET', identifierPath)).body.risk).toEqual(body.risk);
    expect(await service.refusal('GET', `${identifierPath}&against=index`)).toMatchObject({ status: 422 });
    expect((await service.waitForJob('backtest:TRIO')).status).toBe('succeeded');
  });

  test('by a half-life begins with the twentieth return', async () => {
    const { body } = await service.ask<RollingRiskView>('GET', '/analytics/TRIO/rolling?half_life=10');
    const { body: levels } = await service.ask<{ levels: { index: string[] } }>('GET', '/analytics/TRIO/levels');
    expect(body).toMatchObject({ window: null, half_life: 10 });
    expect(body.risk.index[0]).toBe(levels.levels.index[20]);
  });

  test('is refused with both memories and without a run', async () => {
    expect(await service.refusal('GET', '/analytics/TRIO/rolling?window=20&half_life=10')).toMatchObject({
      status: 422,
      code: 'VALIDATION_FAILED',
    });
    expect(await service.refusal('GET', '/analytics/NONE/rolling')).toMatchObject({
      status: 404,
      code: 'INDEX_NOT_FOUND',
    });
    expect((await service.ask<RollingRiskView>('GET', '/analytics/TRIO/rolling?window=2000')).body.risk.index).toEqual(
      [],
    );
  });
});

describe('a simulation', () => {
  test('looks ahead from the end of the run on the sessions of its calendar', async () => {
    const view = await runSimulation({ horizon: 40, paths: 5000, percentiles: [0.1, 0.5, 0.9] });
    expect(view).toMatchObject({
      index_id: 'TRIO',
      method: 'block_bootstrap',
      horizon: 40,
      paths: 5000,
      seed: 0,
      factor_share: null,
      precision: 'float64',
    });
    expect(view.levels.columns).toEqual(['0.1', '0.5', '0.9']);
    expect(view.levels.index).toHaveLength(41);
    expect(view.levels.index[0]).toBe(view.observed_end);
    expect(view.levels.index).not.toContain('2023-11-23'); // Thanksgiving is not a session
    expect(view.levels.data[0]).toEqual([100, 100, 100]);
    expect(view.total_return.percentiles['0.1']! < view.total_return.percentiles['0.9']!).toBe(true);
    expect(view.max_drawdown.maximum).toBeLessThanOrEqual(0);
  });

  test('has a column for each percentile once, in the requested order', async () => {
    const { levels, total_return: total } = await runSimulation({
      horizon: 3,
      paths: 100,
      percentiles: [0.9, 0.1, 0.9],
    });
    expect(levels.columns).toEqual(['0.9', '0.1']);
    expect(levels.data.every((row) => row.length === 2)).toBe(true);
    expect(Object.keys(total.percentiles).toSorted()).toEqual(['0.1', '0.9']);
  });

  test('has the volatility of the run', async () => {
    const { body } = await service.ask<{ metrics: { volatility: number } }>('GET', '/analytics/TRIO/overview');
    expect((await runSimulation({ horizon: 5, paths: 100 })).volatility).toBeCloseTo(body.metrics.volatility, 12);
  });

  test('is bit-identical when repeated, and different for another seed', async () => {
    const first = await runSimulation({ horizon: 20, paths: 3000, seed: 7 });
    await runSimulation({ horizon: 20, paths: 3000, seed: 8 });
    expect(await runSimulation({ horizon: 20, paths: 3000, seed: 7 })).toEqual(first);
    expect((await runSimulation({ horizon: 20, paths: 3000, seed: 8 })).total_return).not.toEqual(first.total_return);
  });

  test('in parts has the numbers of all paths drawn together', async () => {
    const request = SimulationRequest.parse({ horizon: 40, paths: 1_100_000, seed: 3 });
    expect(divideSimulation(request)).toHaveLength(4);
    const view = await runSimulation(request);
    const { body } = await service.ask<{ levels: { data: number[] } }>('GET', '/analytics/TRIO/levels');
    const growth = computeLevelGrowth(Float64Array.from(body.levels.data));
    const { model, horizon, seed, bins, paths, ...plan } = planSimulation(
      request,
      { kind: 'block_bootstrap', growth, block: request.block },
      computeMoments(growth),
    );
    const tallies = createTallies(new ArrayBuffer(computeTallyBytes(paths, horizon)), 0, paths, horizon);
    openWasmEngine().simulatePaths({ model, horizon, seed, first: 0, bins }, tallies);
    const summary = summariseSimulation(request, { model, horizon, seed, bins, paths, ...plan }, tallies);
    // Levels are in index points. So their growth differs in the last bit.
    const computeError = (actual: readonly number[], exact: readonly number[]) =>
      Math.max(...actual.map((value, i) => Math.abs(value - exact[i]!)));
    expect(computeError(view.levels.data.flat().map(Number), summary.levels.flat())).toBeLessThan(1e-10);
    const readFigures = ({ mean, deviation, minimum, maximum, percentiles }: Distribution): number[] => [
      mean,
      deviation,
      minimum,
      maximum,
      ...Object.values(percentiles),
    ];
    expect(computeError(readFigures(view.total_return), readFigures(summary.totalReturn))).toBeLessThan(1e-12);
    expect(computeError(readFigures(view.max_drawdown), readFigures(summary.maxDrawdown))).toBeLessThan(1e-12);
    expect(view.time_under_water).toEqual(summary.timeUnderWater);
  });

  test('by a factor model has the variance of the weights by the model', async () => {
    const view = await runSimulation({ method: 'gaussian_factor', horizon: 21, paths: 20_000, factors: 2 });
    expect(view.factor_share! > 0 && view.factor_share! <= 1).toBe(true);
    const expected = view.volatility * Math.sqrt(21 / 252);
    expect(Math.abs(view.total_return.deviation / expected - 1)).toBeLessThan(0.05);
  });

  test('without a body takes the defaults', async () => {
    expect(await runSimulation()).toMatchObject({ horizon: 252, paths: 10_000, shortfall: { level: 1 } });
  });

  test('is refused without a run, beyond its limits, and beyond the end of its calendar', async () => {
    expect(await service.refusal('POST', '/analytics/NONE/simulate')).toMatchObject({
      status: 404,
      code: 'INDEX_NOT_FOUND',
    });
    expect(await service.refusal('POST', '/analytics/TRIO/simulate', { paths: 20_000_000 })).toMatchObject({
      status: 422,
      code: 'VALIDATION_FAILED',
    });
    const long = await service.ask<JobStatus>('POST', '/analytics/TRIO/simulate', { block: 400, horizon: 500 });
    expect(await service.waitForJob(long.body.job_id)).toMatchObject({
      status: 'failed',
      error: { code: 'RISK_INSUFFICIENT_DATA' },
    });
  });
});
