import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDivisorClient, type DivisorClient } from '#clients/typescript/divisor.js';
import { runService, type RunningService } from '../running-service.js';

let service: RunningService;
let client: DivisorClient;
const BASE = { calendar: 'XNYS', base_date: '2022-06-01', base_value: 1000 } as const;
const ON_TOP = { ...BASE, name: 'On top', kind: 'overlay', source_index_id: 'TOP' } as const;

beforeAll(async () => {
  service = await runService();
  client = createDivisorClient({ url: service.url() });
  await client.run('generateSynthetic', {
    body: { store_id: 'm', seed: 11, assets: 12, start: '2021-06-01', end: '2022-12-30' },
  });
  const pipeline = { weighting: { type: 'MarketCapWeight' } } as const;
  await client.call('createIndex', { body: { ...BASE, id: 'TOP', name: 'Top', pipeline } });
  await client.run('startBacktest', { params: { index_id: 'TOP' }, body: {} });
});
afterAll(() => service.close());

const readLevels = async (index_id: string, variant: 'price' | 'total') =>
  (await client.call('getLevels', { params: { index_id }, query: { variant } })).levels.data.map(Number);

test('the preview of a risk control explains its exposure', async () => {
  const overlay = { type: 'risk_control', target: 0.1, sessions: 20, tolerance: 0.05, max_change: 0.1 } as const;
  const steps = [];
  for (const as_of of ['2022-11-15', '2022-11-16', '2022-11-17'])
    steps.push(
      (await client.call('previewDocument', { body: { document: { ...ON_TOP, id: 'SENT', overlay }, as_of } })).overlay!
        .exposure!,
    );
  for (const [k, { exposure, target, before, volatility, reason }] of steps.entries()) {
    expect(target).toBeCloseTo(Math.min(1.5, 0.1 / volatility!), 12);
    const isWithin = Math.abs(target - before!) <= 0.05;
    const isLimited = Math.abs(target - before!) > 0.1;
    expect(reason).toBe(isWithin ? 'within_tolerance' : isLimited ? 'max_change' : 'target');
    const limitedExposure = before! + Math.sign(target - before!) * 0.1;
    expect(exposure).toBeCloseTo(isWithin ? before! : isLimited ? limitedExposure : target, 12);
    if (k > 0) expect(before).toBe(steps[k - 1]!.exposure);
  }
  const document = { ...ON_TOP, id: 'SENT', overlay } as const;
  const { exposure } = await client.call('sketchLevel', { body: { document } });
  const last = await client.call('previewDocument', { body: { document, as_of: '2022-12-30' } });
  expect([exposure!.index.at(-1), exposure!.data.at(-1)]).toEqual(['2022-12-30', last.overlay!.exposure!.exposure]);
});

test('a quanto is run, extended, reconciled and viewed without an exchange rate', async () => {
  const quanto = { ...ON_TOP, id: 'QUANTO', overlay: { type: 'quanto', to: 'JPY' } } as const;
  await client.call('createIndex', { body: quanto });
  expect((await client.call('getIndex', { params: { index_id: 'QUANTO' } })).currency).toBe('JPY');
  await client.run('startBacktest', { params: { index_id: 'QUANTO' }, body: { end: '2022-11-30' } });
  const secondRun = await client.run('startBacktest', { params: { index_id: 'QUANTO' }, body: {} });
  expect([secondRun.extended_from, secondRun.full_run_reason]).toEqual(['2022-11-30', null]);
  const [quantoLevels, topLevels] = [await readLevels('QUANTO', 'price'), await readLevels('TOP', 'price')];
  quantoLevels.forEach((level, t) => expect(level / topLevels[t]!).toBeCloseTo(quantoLevels[0]! / topLevels[0]!, 12));
  const { checks } = await client.call('reconcileRun', { params: { index_id: 'QUANTO' } });
  expect(checks.filter(({ holds }) => !holds)).toEqual([]);
  for (const view of ['overview', 'record', 'weights', 'exports/constituents', 'exports/trades', 'exposures'])
    expect([view, (await service.ask('GET', `/analytics/QUANTO/${view}`)).status]).toEqual([view, 200]);
  const [quantoEvents, topEvents] = await Promise.all(
    ['QUANTO', 'TOP'].map((index_id) => client.call('getWeights', { params: { index_id }, query: { risk: true } })),
  );
  expect(quantoEvents!.risk!.volatility).toBeCloseTo(topEvents!.risk!.volatility, 12);
});
