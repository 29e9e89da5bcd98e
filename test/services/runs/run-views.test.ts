import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDivisorClient, type DivisorClient, type IndexDocumentBody } from '#clients/typescript/divisor.js';
import { runService, type RunningService } from '../running-service.js';

let service: RunningService;
let client: DivisorClient;
const INDEX = {
  calendar: 'XNYS',
  base_date: '2022-01-03',
  base_value: 1000,
  rebalance: { frequency: 'quarterly', effective_lag: 3 },
} as const;

beforeAll(async () => {
  service = await runService();
  client = createDivisorClient({ url: service.url() });
  await client.run('generateSynthetic', {
    body: { store_id: 'm', seed: 7, assets: 20, start: '2021-06-01', end: '2023-12-29' },
  });
  const weighting = { type: 'MarketCapWeight', cap: 0.15 } as const;
  const selection = [{ id: 'top', type: 'TopN' as const, params: { count: 10 } }];
  await client.call('createIndex', { body: { ...INDEX, id: 'TOP', name: 'Top', pipeline: { selection, weighting } } });
  await client.call('createStrategy', { body: { id: 'HALF', name: 'Half', index_id: 'TOP', exposure: 0.5 } });
  for (const index_id of ['TOP', 'HALF'])
    await client.run('startBacktest', { params: { index_id }, body: { transaction_cost_bps: 10 } });
});
afterAll(() => service.close());

test('a row of the summaries has the figures that the views of its run have', async () => {
  const { summaries } = await client.call('listSummaries');
  expect(summaries.map(({ index_id }) => index_id)).toEqual(['HALF', 'TOP']);
  for (const row of summaries) {
    const params = { index_id: row.index_id };
    const { level, metrics, last_rebalance, end } = await client.call('getOverview', { params });
    const values = level.data.map(Number);
    const yearBefore = values[level.index.findLastIndex((date) => date < '2023')]!;
    expect([row.end, row.last_rebalance]).toEqual([end, last_rebalance]);
    expect(row.total_return).toBe(metrics.total_return);
    expect(row.max_drawdown).toBe(metrics.max_drawdown);
    expect(row.day_return).toBeCloseTo(values.at(-1)! / values.at(-2)! - 1, 12);
    expect(row.year_to_date).toBeCloseTo(values.at(-1)! / yearBefore - 1, 12);
    const last = values.slice(-253).map(Math.log);
    const returns = last.slice(1).map((value, t) => Math.expm1(value - last[t]!));
    const mean = returns.reduce((sum, value) => sum + value) / 252;
    const variance = returns.reduce((sum, value) => sum + (value - mean) ** 2, 0) / 251;
    expect(row.volatility).toBeCloseTo(Math.sqrt(252 * variance), 10);
    expect(row.trace.data.at(-1)).toBe(values.at(-1));
    expect(row.trace.index.every((date) => level.index.includes(date))).toBe(true);
  }
  const [half, top] = summaries;
  const { levels } = await client.call('getLevels', { params: { index_id: 'TOP' } });
  const { upcoming } = await client.call('getSchedule', { params: { index_id: 'TOP' }, query: { as_of: top!.end } });
  expect([top!.level, top!.next_rebalance]).toEqual([levels.data.at(-1), upcoming[0]]);
  expect([half!.level, half!.next_rebalance]).toEqual([half!.trace.data.at(-1), null]);
});

test('a stream of all jobs tells the unfinished ones first and every change after, and an etag comes with a document', async () => {
  const seen: string[] = [];
  for await (const { event, data } of client.events('followJobs')) {
    if (event === 'caught-up')
      await client.call('startBacktest', { params: { index_id: 'TOP' }, body: { transaction_cost_bps: 7 } });
    const { job_id, status } = data as { readonly job_id?: string; readonly status?: string };
    seen.push(job_id === undefined ? event : `${job_id} ${status}`);
    if (status === 'succeeded') break;
  }
  expect(seen[0]).toBe('caught-up');
  const known = ['pending', 'running', 'succeeded'].map((status) => `backtest:TOP ${status}`);
  expect(seen.slice(1).filter((told) => !known.includes(told))).toEqual([]);
  const { answer, etag } = await client.callWithEtag('getIndex', { params: { index_id: 'TOP' } });
  const body = { ...answer, name: 'Largest' } as IndexDocumentBody; // What is answered is what PUT accepts.
  await client.call('putIndex', { params: { index_id: 'TOP' }, body, ifMatch: etag! });
  await expect(client.call('putIndex', { params: { index_id: 'TOP' }, body, ifMatch: etag! })).rejects.toMatchObject({
    code: 'PRECONDITION_FAILED',
  });
});
