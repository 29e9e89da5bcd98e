import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDivisorClient, type DivisorClient } from '#clients/typescript/divisor.js';
import { formatDay } from '#domain/base/time.js';
import { writeMarket } from '#market/content/managed-folder.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { runService, type RunningService } from '../running-service.js';
import { generateTestMarket } from '../../synthetic-market.js';

const SESSIONS = openCalendars()
  .get('XNYS')!
  .sessions.filter((day) => ['2022', '2023', '2024'].includes(formatDay(day).slice(0, 4)));
const market = generateTestMarket({ seed: 11, assets: 6, sessions: SESSIONS, specific_volatility: 0.4 });

/** Index with quarterly rebalances that have a lag. In the other months it reviews weights. */
const source = {
  id: 'SOURCE',
  name: 'Source',
  calendar: 'XNYS',
  base_date: '2024-01-02',
  rebalance: { frequency: 'quarterly', effective_lag: 4 },
  pipeline: { weighting: { type: 'MarketCapWeight' } },
} as const;
const reviews = [
  {
    id: 'monthly',
    scope: 'weights',
    schedule: { frequency: 'monthly', anchor: 'third_friday' },
    weighting: { type: 'EqualWeight' },
  },
] as const;
const derivation = {
  source_index_id: 'SOURCE',
  constraints: [{ id: 'largest', type: 'PositionBounds', params: { upper: 0.25 } }],
} as const;

let service: RunningService;
let client: DivisorClient;
beforeAll(async () => {
  service = await runService();
  client = createDivisorClient({ url: service.url() });
  const folder = join(service.root, 'derived');
  await writeMarket(folder, market, () => {});
  const store = { store_id: 'derived', name: 'Derived', kind: 'folder', location: folder, activate: true } as const;
  await client.call('createStore', { body: store });
  await client.call('createIndex', { body: source });
  const { calendar, base_date, rebalance } = source;
  await client.call('createIndex', {
    body: { id: 'DERIVED', name: 'Derived', calendar, base_date, rebalance, derivation },
  });
  // The source changes later, but the derived index keeps its schedule.
  await client.call('putIndex', { params: { index_id: 'SOURCE' }, body: { ...source, reviews } as never });
  await client.run('startBacktest', { params, body: {} });
});
afterAll(() => service.close());

const params = { index_id: 'DERIVED' };
const pack = (date: string) =>
  client.call('packRebalance', { params, body: { as_of: date, accounts: [{ name: 'F', cash: 1e9 }] } });
const readRebalances = async () => (await client.call('listRebalances', { params })).rebalances.map(({ date }) => date);

test('the next rebalance of a pack is that of the run', async () => {
  const dates = await readRebalances();
  expect(dates.slice(1)).toEqual(['2024-03-28', '2024-06-28', '2024-09-30', '2024-12-31']);
  for (const [date, next] of [
    ['2024-01-10', dates[1]],
    ['2024-03-28', dates[1]],
    ['2024-04-02', dates[2]],
    ['2024-09-25', dates[3]],
  ] as const)
    expect((await pack(date)).effective).toBe(next);
});

test('the orders of a rebalance lead to the weights of the run on its date', async () => {
  for (const date of (await readRebalances()).slice(1)) {
    const datePack = await pack(date);
    expect(datePack.basis).toBe('announced');
    const { weights } = await client.call('getWeights', { params, query: { as_of: date } });
    const wantedWeights = new Map(datePack.accounts[0]!.trades.map((trade) => [trade.identifier, trade.weight_target]));
    for (const { identifier, weight } of weights) expect(wantedWeights.get(identifier)).toBeCloseTo(weight, 9);
  }
});
