import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PLUGIN_EXAMPLES } from '#contract/plugins.js';
import type * as Api from '#engine/api.js';
import { openEngine } from '#engine/main.js';
import { openLiveService, type LiveService } from '../real/live.js';
import { createExampleMarket } from './example-market.js';

const market = createExampleMarket({ names: 20, days: 400, seed: 11 });
/** Identifiers in order, without every fifth security, which is listed later. */
const list = market.arrays.identifiers.filter((_, n) => n % 5 !== 0).toSorted();

type Body = Parameters<Api.Engine['define']>[0];
const rules = { calendar: 'XNYS', base_date: '2022-02-01', rebalance: { frequency: 'monthly' } };
const bodies = [
  {
    ...rules,
    id: 'PLUGGED',
    name: 'Plugged',
    plugins: { HIGH: { plugin: 'near-high', parameters: { minimum: 0.7 } }, SCORE: { plugin: 'residual-momentum' } },
    pipeline: {
      selection: [
        { id: 'high', type: 'PluginFilter', params: { plugin: 'HIGH' } },
        { id: 'top', type: 'TopN', params: { count: 8, field: 'SCORE' } },
      ],
      weighting: { type: 'EqualWeight', cap: 0.3 },
    },
  },
  {
    ...rules,
    id: 'PARENT',
    name: 'Parent',
    universe: { kind: 'list', identifiers: list },
    pipeline: { weighting: { type: 'EqualWeight' } },
  },
  {
    ...rules,
    id: 'LEAST',
    name: 'Least variance',
    derivation: { source_index_id: 'PARENT', objective: { type: 'min_variance' }, risk_model: 'own' },
  },
] as unknown as readonly Body[];
const estimate = { identifiers: list, end: '2022-01-31', estimator: 'gerber' } as const;

let service: LiveService;
let engine: Api.Engine;
beforeAll(async () => {
  service = await openLiveService();
  const tables = { market: market.table, corporate_actions: market.actions, reference: market.reference };
  await service.ok('POST', '/data/import', { store_id: 'm', name: 'm', tables, activate: true });
  for (const id of ['near-high', 'residual-momentum'] as const)
    await service.ok('PUT', `/plugins/${id}`, PLUGIN_EXAMPLES[id]);
  await service.job('/risk-models/own/estimate', estimate);
  for (const body of bodies) {
    await service.ok('PUT', `/indices/${body.id}`, body);
    await service.job(`/analytics/${body.id}/backtest`, {});
  }
  engine = await openEngine({
    market: { prices: market.arrays, corporate_actions: market.actions, reference: market.reference },
    plugins: PLUGIN_EXAMPLES as unknown as NonNullable<Api.EngineOptions['plugins']>,
  });
});
afterAll(() => service.close());

interface Frame {
  readonly index: readonly string[];
  readonly data: readonly (readonly number[])[];
}

test('an estimated risk model is bit-identical to that of the service, and so is one imported from its export', async () => {
  const ownModel = engine.riskModel('own', estimate);
  const storedModel = await service.ok<{ covariance: Frame; asset_ids: string[]; diagnostics: object }>(
    'GET',
    '/risk-models/own',
  );
  expect(ownModel.asset_ids).toEqual(storedModel.asset_ids);
  expect([...ownModel.covariance]).toEqual(storedModel.covariance.data.flat());
  expect(ownModel.diagnostics).toEqual(storedModel.diagnostics);
  const sentAnswer = await service.ok<Parameters<Api.Engine['importRiskModel']>[1]>('GET', '/risk-models/own/export');
  const copy = engine.importRiskModel('copy', sentAnswer);
  expect([...copy.covariance]).toEqual(storedModel.covariance.data.flat());
});

test.each(bodies.map(({ id }) => id))('the complete run of %s has the bytes of the file of the service', (id) => {
  engine.riskModel('own', estimate);
  for (const body of bodies) engine.define(body);
  const { hash } = engine.backtest(id);
  const files = readdirSync(service.folder, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
  const hashes = files.map((file) =>
    createHash('sha256')
      .update(readFileSync(join(file.parentPath, file.name)))
      .digest('hex'),
  );
  expect(hashes).toContain(hash);
});

test('a risk model of an index is estimated on the last constituents of its run', async () => {
  engine.define(bodies[1]!);
  await service.job('/risk-models/held/estimate', { index_id: 'PARENT', start: '2022-02-01' });
  const storedModel = await service.ok<{ covariance: Frame }>('GET', '/risk-models/held');
  const heldModel = engine.riskModel('held', { index_id: 'PARENT', start: '2022-02-01' });
  expect([...heldModel.covariance]).toEqual(storedModel.covariance.data.flat());
});

test('an optimisation has the result of the service', async () => {
  engine.define(bodies[1]!);
  engine.riskModel('own', estimate);
  const constraints = [
    { id: 'pos', type: 'PositionBounds', params: { lower: 0, upper: 0.12 } },
    { id: 'sec', type: 'ActiveGroupBounds', params: { field: 'SECTOR', lower: -0.05, upper: 0.05 } },
  ];
  await service.ok('POST', '/optimise/constraint-sets', { id: 'desk', name: 'Desk', constraints });
  const requests = [
    { index_id: 'PARENT', objective: 'min_variance', as_of: '2022-06-01' },
    { index_id: 'PARENT', objective: 'max_diversification', risk_model: 'own' },
  ];
  for (const request of requests) {
    const job = await service.job('/optimise/runs', { ...request, constraint_set_id: 'desk' });
    expect(job.error).toBeNull();
    const { run_id: _run, constraint_set_id: _set, ...result } = job.result as Record<string, unknown>;
    const ownResult = engine.optimise({ ...request, constraints } as unknown as Api.OptimisationRequest);
    expect(JSON.parse(JSON.stringify(ownResult))).toEqual(result);
  }
});

test('a missing part is refused by name', async () => {
  const derivedDocument = {
    ...bodies[2]!,
    id: 'OTHER',
    derivation: { ...(bodies[2] as { derivation: object }).derivation, risk_model: 'none' },
  };
  engine.define(bodies[1]!);
  engine.define(derivedDocument as unknown as Body);
  expect(() => engine.backtest('OTHER')).toThrow(expect.objectContaining({ code: 'VALIDATION_FAILED' }));
  const unpluggedBody = { ...bodies[0]!, plugins: { HIGH: { plugin: 'absent' } } } as unknown as Body;
  expect(engine.validate(unpluggedBody).map(({ code, path }) => [code, path])).toContainEqual([
    'PLUGIN_NOT_FOUND',
    'plugins.HIGH.plugin',
  ]);
  expect(() => engine.optimise({ index_id: 'PARENT', risk_model: 'none' } as Api.OptimisationRequest)).toThrow(
    expect.objectContaining({ code: 'RISK_MODEL_NOT_FOUND' }),
  );
  const brokenPlugin = { bad: { ...PLUGIN_EXAMPLES['near-high'], source: 'function compute( {' } };
  const plugins = brokenPlugin as unknown as NonNullable<Api.EngineOptions['plugins']>;
  await expect(openEngine({ market: { prices: market.arrays }, plugins })).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
    detail: { findings: [{ code: 'PLUGIN_FAULT', path: 'plugins.bad.source' }] },
  });
});

describe('decisions on data known at the time', () => {
  const dates = ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05', '2024-01-08', '2024-01-09', '2024-01-10'];
  const createPrices = (wrong: number): Api.PriceArrays => ({
    dates,
    identifiers: ['A', 'B'],
    fields: { CLOSE: Float64Array.from(dates.flatMap((_, t) => [t < 4 ? 10 : 20, t === 3 ? wrong : 10])) },
  });
  const desk = {
    id: 'DESK',
    name: 'Desk',
    calendar: 'XNYS',
    base_date: '2024-01-02',
    rebalance: { frequency: 'weekly' },
    pipeline: { weighting: { type: 'PriceWeight' } },
  } as unknown as Body;

  test('use the earlier content, and levels use the last content', async () => {
    const deskEngine = await openEngine({
      market: { prices: createPrices(10) },
      known_on: '2024-01-08',
      earlier: [{ known_on: '2024-01-01', market: { prices: createPrices(40) } }],
    });
    deskEngine.define(desk);
    // On Friday the 5th, the latest version of the data leads to half in A, and the earlier version to a fifth. A
    // doubles on Monday.
    expect(deskEngine.backtest('DESK').metrics.total_return).toBeCloseTo(0.5, 12);
    expect(deskEngine.backtest('DESK', { as_known: 'decision' }).metrics.total_return).toBeCloseTo(0.2, 12);
  });

  test('need days in order', async () => {
    const earlierMarkets = [{ known_on: '2024-02-01', market: { prices: createPrices(40) } }];
    await expect(
      openEngine({ market: { prices: createPrices(10) }, known_on: '2024-01-08', earlier: earlierMarkets }),
    ).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      detail: { findings: [{ path: 'known_on', code: 'INVALID_RANGE' }] },
    });
  });
});
