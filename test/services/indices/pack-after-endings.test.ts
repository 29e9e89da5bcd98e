import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDivisorClient, type DivisorClient } from '#clients/typescript/divisor.js';
import { formatDay } from '#domain/base/time.js';
import { writeMarket } from '#market/content/managed-folder.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { runService, type RunningService } from '../running-service.js';
import { generateTestMarket } from '../../synthetic-market.js';

/** Sessions of four securities. The last security is acquired two sessions before an announced rebalance. */
const SESSIONS = openCalendars()
  .get('XNYS')!
  .sessions.filter((day) => day > 18_000)
  .slice(0, 60);
const [DECISION_ROW, EXIT_ROW, EFFECTIVE] = [45, 48, 50];
const market = generateTestMarket({ seed: 3, assets: 4, sessions: SESSIONS, specific_volatility: 0.3 });
const endedSecurity = market.identifiers.at(-1)!;
const formatDate = (row: number): string => formatDay(market.dates[row]!);

let service: RunningService;
let client: DivisorClient;
beforeAll(async () => {
  for (const panel of market.fields.values())
    for (let row = EXIT_ROW; row < market.dates.length; row++) panel[(row + 1) * market.identifiers.length - 1] = NaN;
  const acquiredMarket = {
    type: 'ACQUISITION',
    value: 120,
    exDay: market.dates[EXIT_ROW]!,
    payDay: null,
    status: null,
  } as const;
  const of = { identifier: endedSecurity, announcedDay: null, related: null, subscriptionPrice: null };
  service = await runService();
  client = createDivisorClient({ url: service.url() });
  const folder = join(service.root, 'ended');
  await writeMarket(folder, { ...market, actions: [...market.actions, { ...acquiredMarket, ...of }] }, () => {});
  const store = { store_id: 'ended', name: 'Ended', kind: 'folder', location: folder, activate: true } as const;
  await client.call('createStore', { body: store });
  const rebalance = {
    frequency: 'custom',
    dates: [formatDate(EFFECTIVE)],
    effective_lag: EFFECTIVE - DECISION_ROW,
    weights_as: 'weights',
  } as const;
  const pipeline = { weighting: { type: 'EqualWeight' } } as const;
  const index = { id: 'E', name: 'Ended', calendar: 'XNYS', base_date: formatDate(1), rebalance, pipeline };
  await client.call('createIndex', { body: index });
  await client.run('startBacktest', { params, body: {} });
});
afterAll(() => service.close());

const params = { index_id: 'E' };

test('a security that has ended since the announcement is not bought: the pack equals the trades of the index', async () => {
  const accounts = [{ name: 'F', cash: 1e6, holdings: [{ identifier: endedSecurity, shares: 100 }] }];
  const pack = await client.call('packRebalance', { params, body: { as_of: formatDate(EFFECTIVE), accounts } });
  const { weights } = await client.call('getWeights', { params, query: { as_of: formatDate(EFFECTIVE) } });
  const purchases = pack.accounts[0]!.trades.filter(({ side }) => side === 'buy');
  expect(pack.basis).toBe('announced');
  expect(purchases.map(({ identifier }) => identifier)).toEqual(weights.map(({ identifier }) => identifier).toSorted());
  for (const { identifier, weight_target } of purchases)
    expect(weight_target).toBeCloseTo(weights.find((row) => row.identifier === identifier)!.weight, 12);
  expect(purchases).toHaveLength(3);
  const reports = pack.findings.map(({ code, places, value }) => [code, places ?? value]);
  expect(reports).toContainEqual(['NOT_IN_INDEX', [endedSecurity]]);
  expect(reports).toContainEqual(['STALE_FILL', endedSecurity]);
  const orders = pack.reconciliation!.accounts[0]!.orders;
  const endedOrder = orders.find(({ identifier }) => identifier === endedSecurity)!;
  expect(endedOrder.shares_announced).toBeGreaterThan(0);
  expect(endedOrder.shares).toBe(0);
});

test('a holding that has ended is neither sold nor counted, and its payment is reported', async () => {
  const packFor = (holdings: readonly { identifier: string; shares: number }[]) => {
    const accounts = [{ name: 'F', cash: 1e6, holdings: [...holdings] }];
    return client.call('packRebalance', { params, body: { as_of: formatDate(EFFECTIVE), accounts } });
  };
  const heldPack = await packFor([{ identifier: endedSecurity, shares: 100 }]);
  const packWithout = await packFor([]);
  expect(heldPack.accounts).toEqual(packWithout.accounts);
  expect(heldPack.accounts[0]!.value).toBe(1e6);
  expect([heldPack.liquidation, heldPack.reconciliation]).toEqual([
    packWithout.liquidation,
    packWithout.reconciliation,
  ]);
  const [told] = heldPack.findings.filter(({ value }) => value === endedSecurity);
  expect(told).toMatchObject({ code: 'STALE_FILL', path: 'accounts[0].holdings[0].identifier' });
  expect(told!.message).toContain(`(ACQUISITION of ${formatDate(EXIT_ROW)}): paid 120 per share.`);
});

test('before it has ended the announced orders contain it', async () => {
  const body = { as_of: formatDate(EXIT_ROW - 1), aum: 1e6 };
  const { accounts, findings } = await client.call('packRebalance', { params, body });
  expect(accounts[0]!.trades.map(({ weight_target }) => weight_target)).toEqual([0.25, 0.25, 0.25, 0.25]);
  expect(findings).toEqual([]);
});

test('a pack without an announced rebalance states the next one, or that there is none', async () => {
  const packOn = async (as_of: string) => {
    const { basis, findings } = await client.call('packRebalance', { params, body: { as_of, aum: 1e6 } });
    return [basis, findings.filter(({ code }) => code === 'NOT_ANNOUNCED')];
  };
  const [basis, told] = await packOn(formatDate(DECISION_ROW - 1));
  expect([basis, told]).toMatchObject(['indicative', [{ severity: 'info', path: 'as_of' }]]);
  expect(JSON.stringify(told)).toContain(
    `effective on ${formatDate(EFFECTIVE)}, is decided on ${formatDate(DECISION_ROW)}`,
  );
  expect(await packOn(formatDate(DECISION_ROW))).toEqual(['announced', []]);
  const laterPack = await packOn(formatDate(EFFECTIVE + 1));
  expect(laterPack).toMatchObject(['indicative', [{ severity: 'warning' }]]);
  expect(JSON.stringify(laterPack)).toContain(`E has no rebalance on or after ${formatDate(EFFECTIVE + 1)}`);
});

test('a mean volume of more sessions than exist states their number', async () => {
  const createPack = (adv_sessions: number) =>
    client.call('packRebalance', { params, body: { as_of: formatDate(DECISION_ROW), aum: 1e6, adv_sessions } });
  const [all, more] = await Promise.all([DECISION_ROW + 1, 1000].map(createPack));
  const [cut] = more!.findings;
  expect(cut).toMatchObject({ severity: 'warning', code: 'WINDOW_CUT', path: 'adv_sessions', value: 1000 });
  expect(cut!.message).toContain(`adv_sessions is 1000, and the store has ${DECISION_ROW + 1} sessions`);
  expect([more!.accounts, all!.findings]).toEqual([all!.accounts, []]);
});
