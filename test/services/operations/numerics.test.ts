import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { z } from 'zod';
import type { RiskModelView } from '#contract/risk-models.js';
import type { SimulationView } from '#contract/simulations.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { describeChoice, openNumericEngine } from '#kernels/engines/open-engine.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import { IS_SOAK } from '../../soak.js';
import { runService, type RunningService } from '../running-service.js';
import { createEqualIndex } from '../../equal-index.js';

const NAMES = ['AAA', 'BBB', 'CCC'];
const DAYS = Array.from({ length: 160 }, (_, i) => new Date(Date.UTC(2023, 0, 3 + i)))
  .filter((date) => date.getUTCDay() % 6 !== 0)
  .map((date) => date.toISOString().slice(0, 10));
const random = createCounterRandom({ seed: 6, stream: 0 });
const closes = NAMES.map(() => {
  let level = 50;
  return DAYS.map(() => (level = Math.round(level * (1 + 0.0005 + 0.012 * random.normal()) * 1e4) / 1e4));
});

/** Computes 252 times the sample covariance of two securities over a range of closes. */
function computeCovariance(i: number, j: number, from = 0, to = DAYS.length): number {
  const [x, y] = [i, j].map((name) =>
    closes[name]!.slice(from + 1, to).map((close, t) => close / closes[name]![from + t]! - 1),
  );
  const computeMean = (values: readonly number[]) => values.reduce((total, value) => total + value, 0) / values.length;
  const [mx, my] = [computeMean(x!), computeMean(y!)];
  return (252 * x!.reduce((total, value, t) => total + (value - mx) * (y![t]! - my), 0)) / (x!.length - 1);
}

const SETTINGS = ['native', 'wasm', 'tensorflow', 'auto', 'reference'] as const;

/**
 * Every engine can be requested by name. If an engine is missing, another one replaces it, and `/health` reports the
 * reason.
 */
describe.each(SETTINGS)('a service on %s', (setting) => {
  let service: RunningService;
  let choice: Awaited<ReturnType<typeof openNumericEngine>>;
  beforeAll(async () => {
    choice = await openNumericEngine(setting);
    service = await runService(['--numerics', setting]);
    const folder = join(service.root, 'market');
    await mkdir(folder, { recursive: true });
    await writeFile(
      join(folder, 'market.csv'),
      `identifier,date,CLOSE\n${NAMES.flatMap((name, i) => DAYS.map((day, t) => `${name},${day},${closes[i]![t]}`)).join('\n')}\n`,
    );
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
  });
  afterAll(() => service.close());
  /** With `auto`, the health report contains the chosen engine. This engine is also tested under its own name. */
  const testWhenSet = test.skipIf(setting === 'auto' && !IS_SOAK);

  test('reports in its health the running engine and why others do not run', async () => {
    const { body } = await service.ask<{ status: string; checks: { name: string; ok: boolean; message: string }[] }>(
      'GET',
      '/health',
    );
    expect(body.checks.find(({ name }) => name === 'numerics')).toEqual({
      name: 'numerics',
      ok: choice.asAsked,
      warning: false,
      message: describeChoice(choice),
    });
    expect(body.status).toBe(choice.asAsked ? 'ok' : 'degraded');
  });

  testWhenSet('estimates with it, and the model states its precision', async () => {
    const { body: job } = await service.ask<JobStatus>('POST', '/risk-models/trio/estimate', {
      identifiers: NAMES,
      intensity: 0,
    });
    expect(await service.waitForJob(job.job_id)).toMatchObject({ status: 'succeeded' });
    const { body: model } = await service.ask<z.infer<typeof RiskModelView>>('GET', '/risk-models/trio');
    const { precision } = choice.engine;
    expect(model.precision).toBe(precision);
    const errors = model.covariance.data.flatMap((row, i) =>
      row.map(
        (value, j) =>
          Math.abs((value as number) - computeCovariance(i, j)) /
          Math.sqrt(computeCovariance(i, i) * computeCovariance(j, j)),
      ),
    );
    expect(Math.max(...errors)).toBeLessThan(precision === 'float64' ? 1e-12 : 1e-5);
    // the engine computed in float32
    if (precision === 'float32') expect(Math.max(...errors)).toBeGreaterThan(1e-12);
  });

  const index = createEqualIndex('TRIO', {
    name: 'Trio',
    base_date: '2023-01-03',
    base_value: 100,
    currency: 'USD',
    universe: { kind: 'all' },
    rebalance: { frequency: 'quarterly' },
  });

  testWhenSet('weighs indices in float64, whatever it is', async () => {
    // The thirty returns before Good Friday contain no holiday.
    const document = {
      ...index,
      base_date: '2023-03-01',
      pipeline: { selection: [], weighting: { type: 'EqualRiskWeight', params: { window: 30, intensity: 0 } } },
    };
    const { status, body } = await service.ask<{ assets: { identifier: string; weight: number }[] }>(
      'POST',
      '/indices/preview',
      { document, as_of: '2023-04-06' },
    );
    expect(status, JSON.stringify(body)).toBe(200);
    const weights = NAMES.map((name) => body.assets.find(({ identifier }) => identifier === name)!.weight);
    const to = DAYS.indexOf('2023-04-06') + 1;
    const contributions = weights.map(
      (weight, i) =>
        weight * weights.reduce((total, other, j) => total + other * computeCovariance(i, j, to - 31, to), 0),
    );
    for (const contribution of contributions)
      expect(Math.abs(contribution / contributions[0]! - 1)).toBeLessThan(1e-10);
  });

  testWhenSet('simulates with it, and the simulation states its precision', async () => {
    expect((await service.ask('POST', '/indices', index)).status).toBe(200);
    const run = await service.ask<JobStatus>('POST', '/analytics/TRIO/backtest');
    expect(await service.waitForJob(run.body.job_id)).toMatchObject({ status: 'succeeded' });
    const { body: job } = await service.ask<JobStatus>('POST', '/analytics/TRIO/simulate', {
      horizon: 20,
      paths: 2_000,
    });
    const view = (await service.waitForJob(job.job_id)).result as SimulationView;
    expect(view.precision).toBe(choice.engine.precision);
    const expected = (1 + view.mean_return) ** 20 - 1;
    const fiveErrors = 5 * (view.total_return.deviation / Math.sqrt(2_000));
    expect(Math.abs(view.total_return.mean - expected)).toBeLessThan(fiveErrors);
  });
});
