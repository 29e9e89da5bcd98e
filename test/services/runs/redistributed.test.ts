import { afterAll, beforeAll, expect, test } from 'vitest';
import { runService, type RunningService } from '../running-service.js';
import { createFrame } from '../../table-frame.js';

/** Service with a capped index whose compositions take effect three sessions after their decision. */
let service: RunningService;
const DAYS = Array.from({ length: 90 }, (_, i) => new Date(Date.UTC(2024, 0, 2 + i)))
  .filter((day) => day.getUTCDay() % 6 !== 0)
  .map((day) => day.toISOString().slice(0, 10));

beforeAll(async () => {
  service = await runService();
  const growth = { A: 1.03, B: 0.99, C: 1.001 };
  const data = Object.entries(growth).flatMap(([name, g]) => DAYS.map((day, t) => [name, day, 100 * g ** t]));
  const market = createFrame(['identifier', 'date', 'CLOSE'], data);
  const body = { store_id: 'm', name: 'm', tables: { market }, activate: true };
  expect((await service.ask('POST', '/data/import', body)).status).toBe(201);
  const weighting = { type: 'FixedWeight', params: { weights: { A: 0.6, B: 0.3, C: 0.1 } }, cap: 0.5 };
  const index = { id: 'CAPPED', name: 'Capped', calendar: 'XNYS', base_date: '2024-01-02', pipeline: { weighting } };
  const rebalance = { frequency: 'monthly', effective_lag: 3 };
  expect((await service.ask('PUT', '/indices/CAPPED', { ...index, rebalance })).status).toBe(200);
  await service.ask('POST', '/analytics/CAPPED/backtest', {});
  expect((await service.waitForJob('backtest:CAPPED')).error).toBeNull();
});
afterAll(() => service.close());

type Weights = Readonly<Record<string, number>>;
interface Snapshot {
  readonly weights: Weights;
  readonly uncapped_weights: Weights;
  readonly target_weights: Weights | null;
  readonly redistributed: number;
}

test('redistributed is the weight by which the weights of the snapshot are below its uncapped weights', async () => {
  const { body } = await service.ask<{ index: { target: { rebalances: Snapshot[] } } }>(
    'GET',
    '/analytics/CAPPED/record',
  );
  const { rebalances } = body.index.target;
  for (const { weights, uncapped_weights: uncapped, redistributed } of rebalances) {
    const moved = Object.entries(uncapped).reduce((sum, [name, u]) => sum + Math.max(0, u - weights[name]!), 0);
    expect(redistributed).toBeCloseTo(moved, 12);
  }
  const drifted = rebalances.filter(({ target_weights: targets }) => targets !== null);
  expect(drifted.length).toBeGreaterThan(0);
  // A was cut from 0.6 to 0.5 at the decision, and rose by 3 % a session until the effective close.
  for (const { redistributed } of drifted) expect(redistributed).not.toBeCloseTo(0.1, 4);
});
