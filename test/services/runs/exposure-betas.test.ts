import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDivisorClient, type DivisorClient } from '#clients/typescript/divisor.js';
import { runService, type RunningService } from '../running-service.js';

let service: RunningService;
let client: DivisorClient;
const INDEX = { calendar: 'XNYS', base_date: '2022-06-01', rebalance: { frequency: 'quarterly' } } as const;
const DATE = '2022-12-30';
const params = { index_id: 'TOP' };

beforeAll(async () => {
  service = await runService();
  client = createDivisorClient({ url: service.url() });
  await client.run('generateSynthetic', {
    body: { store_id: 'm', seed: 11, assets: 12, start: '2021-06-01', end: DATE },
  });
  const selection = [{ id: 'top', type: 'TopN' as const, params: { count: 6 } }];
  const pipeline = { selection, weighting: { type: 'MarketCapWeight' } } as const;
  await client.call('createIndex', { body: { ...INDEX, id: 'TOP', name: 'Top', pipeline } });
  const equalPipeline = { weighting: { type: 'EqualWeight' } } as const;
  await client.call('createIndex', { body: { ...INDEX, id: 'ALL', name: 'All', pipeline: equalPipeline } });
  await client.run('startBacktest', { params, body: {} });
});
afterAll(() => service.close());

/** Returns the total returns of a security for each session. */
async function readReturns(identifier: string): Promise<ReadonlyMap<string, number>> {
  const query = { end: DATE, adjust: 'total' } as const;
  const { prices } = await client.call('getPrices', { params: { identifier }, query });
  const column = prices.columns.indexOf('CLOSE');
  const closes = prices.data.map((row) => Number(row[column]));
  return new Map(closes.slice(1).map((close, t) => [String(prices.index[t + 1]), close / closes[t]! - 1]));
}

const computeMean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/**
 * Computes the slope of the returns of each security on the mean return of all securities, over the last 252 sessions.
 */
async function readBetas(identifiers: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const returns = await Promise.all(identifiers.map(readReturns));
  const sessions = [...new Set(returns.flatMap((of) => [...of.keys()]))].toSorted().slice(-252);
  const market = new Map(sessions.map((day) => [day, computeMean(returns.flatMap((of) => of.get(day) ?? []))]));
  return new Map(
    identifiers.map((identifier, i) => {
      const days = sessions.filter((day) => returns[i]!.has(day));
      const normaliseReturns = (of: ReadonlyMap<string, number>) => {
        const values = days.map((day) => of.get(day)!);
        const middle = computeMean(values);
        return values.map((value) => value - middle);
      };
      const [ownReturns, marketReturns] = [normaliseReturns(returns[i]!), normaliseReturns(market)];
      return [
        identifier,
        computeMean(ownReturns.map((value, k) => value * marketReturns[k]!)) /
          computeMean(marketReturns.map((value) => value ** 2)),
      ];
    }),
  );
}

test('BETA equals the datapoint of the rules: against the equal-weighted universe, half of which the index holds', async () => {
  const query = { interval: 'monthly', fields: ['BETA'], benchmark: 'ALL' } as const;
  const view = await client.call('getExposures', { params, query });
  const { assets } = await client.call('previewIndex', { params: { index_id: 'ALL' }, body: { as_of: DATE } });
  const betas = await readBetas(assets.map(({ identifier }) => identifier));
  const { weights } = await client.call('getWeights', { params, query: { as_of: DATE } });
  expect([weights.length, assets.length]).toEqual([6, 12]);
  const expected = weights.reduce((sum, { identifier, weight }) => sum + weight * betas.get(identifier)!, 0);
  const field = view.fields[0]!;
  const row = view.dates.indexOf(DATE);
  expect(field.mean[row]).toBeCloseTo(expected, 10);
  // The universe of three months earlier has equal weights. It is nearly the market against which it is measured.
  expect(field.benchmark!.mean[row]).toBeCloseTo(1, 1);
});
