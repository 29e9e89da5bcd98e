import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDivisorClient, type DivisorClient } from '#clients/typescript/divisor.js';
import { runService, type RunningService } from '../running-service.js';

let service: RunningService;
let client: DivisorClient;
const INDEX = {
  calendar: 'XNYS',
  base_date: '2022-06-01',
  base_value: 1000,
  rebalance: { frequency: 'quarterly' },
} as const;
const params = { index_id: 'TOP' };

beforeAll(async () => {
  service = await runService();
  client = createDivisorClient({ url: service.url() });
  await client.run('generateSynthetic', {
    body: { store_id: 'm', seed: 11, assets: 12, start: '2021-06-01', end: '2022-12-30' },
  });
  const selection = [{ id: 'top', type: 'TopN' as const, params: { count: 6 } }];
  const byCap = { type: 'MarketCapWeight' } as const;
  const pipeline = { selection, weighting: byCap };
  await client.call('createIndex', { body: { ...INDEX, id: 'TOP', name: 'Top', pipeline } });
  await client.run('startBacktest', { params, body: {} });
});
afterAll(() => service.close());

test('an expression is averaged like its datapoints', async () => {
  const fields = ['CLOSE * SHARES_OUTSTANDING', 'MARKET_CAP', 'clip( zscore(MARKET_CAP, by=SECTOR), -1, 1 )'];
  const { fields: found } = await client.call('getExposures', { params, query: { interval: 'monthly', fields } });
  expect(found.map(({ field }) => field)).toEqual([
    'CLOSE * SHARES_OUTSTANDING',
    'MARKET_CAP',
    'clip(zscore(MARKET_CAP, by=SECTOR), -1, 1)',
  ]);
  found[0]!.mean.forEach((value, k) => expect(value! / found[1]!.mean[k]!).toBeCloseTo(1, 12));
  for (const value of found[2]!.mean) expect(Math.abs(value!)).toBeLessThanOrEqual(1);
  const requestRefusal = async (field: string) => {
    const answer = await service.refusal('GET', `/analytics/TOP/exposures?fields=CLOSE,${encodeURIComponent(field)}`);
    const [finding] = answer.detail!['findings'] as { code: string; path: string; position: object }[];
    return finding;
  };
  expect(await requestRefusal('CLOSE * (2')).toMatchObject({
    code: 'BAD_EXPRESSION',
    position: { start: 10, end: 10 },
  });
  expect(await requestRefusal('max(CLOSE, CLOES)')).toMatchObject({
    code: 'UNKNOWN_FIELD_NAME',
    path: 'fields[1]',
    position: { start: 11, end: 16 },
  });
  expect(await requestRefusal('1 + weight_in("TOP")')).toMatchObject({ code: 'NOT_IN_CHOICES', path: 'fields[1]' });
});
