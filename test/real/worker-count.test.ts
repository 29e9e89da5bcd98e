import { expect, test } from 'vitest';
import { IS_SOAK } from '../soak.js';
import { openLiveService } from './live.js';

const RUNS = ['A', 'B', 'C', 'D'];

interface Result {
  readonly run_hash: string;
}

/** An index with several reviews by date rules. It also has changes between reviews. */
const REVIEWED = {
  rebalance: {
    frequency: 'semi_annual',
    anchor: 'third_friday',
    reference: { rule: 'last_session', months_before: 1 },
    pricing_date: { rule: 'nth_weekday', nth: 2, weekday: 4 },
  },
  reviews: [
    {
      id: 'weights',
      scope: 'weights',
      schedule: { frequency: 'monthly', anchor: 'nth_weekday', nth: 1, weekday: 4, effective_lag: 3 },
    },
    { id: 'shares', scope: 'shares', schedule: { frequency: 'quarterly', anchor: 'last_session' } },
  ],
};

/**
 * Runs four backtests at the same time on a service with this number of worker threads.
 * @returns their results, and the record of one backtest, as text
 */
async function computeWithWorkers(workers: number): Promise<string[]> {
  const service = await openLiveService(['--workers', String(workers)]);
  try {
    expect(
      (
        await service.job('/data/synthetic', {
          store_id: 'm',
          seed: 3,
          assets: 24,
          start: '2016-07-01',
          end: '2018-06-29',
        })
      ).error,
    ).toBeNull();
    for (const [k, id] of RUNS.entries()) {
      await service.ok('PUT', `/indices/${id}`, {
        id,
        name: id,
        calendar: 'XNYS',
        base_date: '2017-01-03',
        rebalance: { frequency: 'monthly' },
        ...(k < 2 ? {} : REVIEWED),
        pipeline: {
          treatment: { dividends: 'total' },
          weighting: { type: k % 2 === 0 ? 'MarketCapWeight' : 'InverseVolatilityWeight', cap: 0.05 + 0.01 * k },
        },
      });
    }
    const jobs = await Promise.all(
      RUNS.map((id) => service.job<Result>(`/analytics/${id}/backtest`, { transaction_cost_bps: 10 })),
    );
    const record = await service.ok<Record<string, unknown>>('GET', '/analytics/B/record');
    return [...jobs.map(({ result }) => JSON.stringify(result)), JSON.stringify({ ...record, run_at: null })];
  } finally {
    await service.close();
  }
}

/** Numbers of worker threads. With three threads, two threads take one job each, and one thread takes two. */
const WORKER_COUNTS = IS_SOAK ? [2, 3, 4] : [3];

test('one thread and several threads give the same bytes', async () => {
  const hashes = await computeWithWorkers(1);
  expect(hashes.every((text) => text.length > 10_000)).toBe(true);
  for (const workers of WORKER_COUNTS) expect(await computeWithWorkers(workers), `${workers} threads`).toEqual(hashes);
});
