import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDivisorClient, type DivisorClient } from '#clients/typescript/divisor.js';
import { writeMarket } from '#market/content/managed-folder.js';
import { buildMarket } from '../../domain/backtest/market-builder.js';
import { runService, type RunningService } from '../running-service.js';

const DATES = ['2024-03-04', '2024-03-05', '2024-03-06', '2024-03-07', '2024-03-08'] as const;
const repeatPrice = (price: number): number[] => DATES.map(() => price);

/**
 * Market of an index with A, B and E. A merges into C, two shares for one. B spins off one share of S per share, and
 * merges into D after the last date.
 */
const market = buildMarket({
  dates: DATES,
  close: {
    A: [100, 100, null, null, null],
    B: [100, 100, 100, 80, 80],
    C: repeatPrice(40),
    D: repeatPrice(20),
    E: repeatPrice(100),
    S: [null, null, null, 20, 20],
  },
  actions: [
    { name: 'A', type: 'MERGER', value: 2, related: 'C', ex: DATES[1] },
    { name: 'B', type: 'SPIN_OFF', value: 1, related: 'S', ex: DATES[3] },
    { name: 'B', type: 'MERGER', value: 4, related: 'D', ex: '2024-03-12' },
  ],
});

let service: RunningService;
let client: DivisorClient;
beforeAll(async () => {
  service = await runService();
  client = createDivisorClient({ url: service.url() });
  const folder = join(service.root, 'removed');
  await writeMarket(folder, market, () => {});
  const store = { store_id: 'removed', name: 'Removed', kind: 'folder', location: folder, activate: true } as const;
  await client.call('createStore', { body: store });
  for (const acquirer of ['remove', 'convert'] as const) {
    const body = {
      id: acquirer,
      name: 'Removed',
      calendar: 'XNYS',
      base_date: DATES[0],
      rebalance: { frequency: 'none' },
      universe: { kind: 'list', identifiers: ['A', 'B', 'E'] },
      pipeline: {
        weighting: { type: 'EqualWeight' },
        treatment: { spin_offs: 'drop_after_first_session', max_stale_sessions: null },
      },
      events: { acquirer },
    } as const;
    await client.call('createIndex', { body });
    await client.run('startBacktest', { params: { index_id: acquirer }, body: {} });
  }
});
afterAll(() => service.close());

const listActions = async (id: string) =>
  (await client.call('getIndexActions', { params: { index_id: id } })).actions.map((action) => ({
    of: `${action.identifier} ${action.type} ${action.state}`,
    action,
  }));
const findOnlyAction = async (id: string, of: string) => (await listActions(id)).find((one) => one.of === of)!.action;

test('a merger into a security outside the universe is listed as a removal', async () => {
  const merger = await findOnlyAction('remove', 'A MERGER effective');
  expect(merger).toMatchObject({ weight_after: 0, shares_after: 0, proceeds: 100, received: null });
  expect(merger.divisor_after! / merger.divisor_before!).toBeCloseTo(2 / 3, 12);
  // A is converted. Two shares of C at 40 replace one share at 100.
  expect(await findOnlyAction('convert', 'A MERGER effective')).toMatchObject({
    received: { identifier: 'C', ratio: 2 },
  });
});

test('an announced merger is shown pro forma as it will be', async () => {
  const comingAction = await findOnlyAction('remove', 'B MERGER coming');
  expect(comingAction).toMatchObject({ proceeds: 80, received: null });
  expect(await findOnlyAction('convert', 'B MERGER coming')).toMatchObject({ received: { identifier: 'D', ratio: 4 } });
});

test('a spun-off security that left at its first close is listed with its shares', async () => {
  const exit = await findOnlyAction('remove', 'S SPIN_OFF_EXIT effective');
  const spinOff = await findOnlyAction('remove', 'B SPIN_OFF effective');
  expect(exit).toMatchObject({ ex_date: DATES[3], related: 'B', value: 20, proceeds: 20, shares_after: 0 });
  expect(exit.shares_before).toBeCloseTo(spinOff.shares_before * spinOff.received!.ratio, 12);
  expect(spinOff.received!.weight).toBe(0);
  // S is worth 20. The index is worth 200.
  expect(exit.divisor_after! / exit.divisor_before!).toBeCloseTo(0.9, 12);
});
