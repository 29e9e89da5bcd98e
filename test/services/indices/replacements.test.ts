import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDivisorClient, type DivisorClient } from '#clients/typescript/divisor.js';
import { formatDay } from '#domain/base/time.js';
import { writeMarket } from '#market/content/managed-folder.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { runService, type RunningService } from '../running-service.js';
import { generateTestMarket } from '../../synthetic-market.js';

const SESSIONS = openCalendars()
  .get('XNYS')!
  .sessions.filter((day) => day > 18_000)
  .slice(0, 60);
const [FALL_ROW, EXIT_ROW, DECISION_ROW, BETWEEN_ROW, EFFECTIVE] = [30, 44, 47, 48, 50];
const market = generateTestMarket({ seed: 3, assets: 6, sessions: SESSIONS, specific_volatility: 0.1 });
const PRICES = new Set(['OPEN', 'HIGH', 'LOW', 'CLOSE']);
const N = market.identifiers.length;
const formatDate = (row: number): string => formatDay(market.dates[row]!);
/** Returns identifiers by market value on a row, largest first. */
function listRanked(row: number): string[] {
  const [close, shares] = [market.fields.get('CLOSE')!, market.fields.get('SHARES_OUTSTANDING')!];
  return market.identifiers
    .map((name, i) => ({ name, value: close[row * N + i]! * shares[row * N + i]! }))
    .filter(({ value }) => value > 0)
    .toSorted((a, b) => b.value - a.value)
    .map(({ name }) => name);
}
const [FIRST, SECOND_NAME, THIRD_NAME] = listRanked(1) as [string, string, string];

let service: RunningService;
let client: DivisorClient;

/**
 * The largest security is acquired on the day EXIT_ROW. The second largest loses almost all of its value on the day
 * FALL_ROW.
 */
beforeAll(async () => {
  const [gone, fell] = [FIRST, SECOND_NAME].map((name) => market.identifiers.indexOf(name)) as [number, number];
  for (const [field, panel] of market.fields)
    for (let row = 0; row < market.dates.length; row++) {
      if (row >= EXIT_ROW) panel[row * N + gone] = Number.NaN;
      if (row >= FALL_ROW && PRICES.has(field)) panel[row * N + fell]! *= 0.001;
    }
  const acquiredMarket = {
    type: 'ACQUISITION',
    value: 120,
    exDay: market.dates[EXIT_ROW]!,
    payDay: null,
    status: null,
  } as const;
  const of = { identifier: FIRST, announcedDay: null, related: null, subscriptionPrice: null };
  service = await runService();
  client = createDivisorClient({ url: service.url() });
  const folder = join(service.root, 'replaced');
  await writeMarket(folder, { ...market, actions: [...market.actions, { ...acquiredMarket, ...of }] }, () => {});
  const store = { store_id: 'replaced', name: 'Replaced', kind: 'folder', location: folder, activate: true } as const;
  await client.call('createStore', { body: store });
  const pipeline = {
    selection: [{ id: 'top', type: 'TopN', params: { field: 'MARKET_CAP', count: 2 } }],
    weighting: { type: 'EqualWeight' },
  };
  const commonFields = { name: 'Replaced', calendar: 'XNYS', base_date: formatDate(1), pipeline };
  const neverSchedule = { frequency: 'none' };
  const schedule = { frequency: 'custom', dates: [formatDate(EFFECTIVE)], effective_lag: EFFECTIVE - DECISION_ROW };
  const replacement = { replacement: 'next_ranked' };
  const documents = [
    { ...commonFields, id: 'NEXT', rebalance: neverSchedule, events: replacement },
    {
      ...commonFields,
      id: 'RESERVE',
      rebalance: neverSchedule,
      events: { replacement: 'reserve', reserve: ['NONE', THIRD_NAME] },
    },
    {
      ...commonFields,
      id: 'EXIT',
      rebalance: neverSchedule,
      events: { fast_exit: { rank: 3, field: 'MARKET_CAP', schedule } },
    },
    {
      ...commonFields,
      id: 'PENDING',
      rebalance: { ...schedule, effective_lag: EFFECTIVE - EXIT_ROW + 1 },
      events: replacement,
    },
  ];
  for (const body of documents) {
    await client.call('createIndex', { body: body as never });
    await client.run('startBacktest', { params: { index_id: body.id }, body: {} });
  }
});
afterAll(() => service.close());

const explain = (id: string, identifier: string) =>
  client.call('explainName', { params: { index_id: id, identifier }, query: { as_of: formatDate(59) } });
const requestIndexPreview = (id: string, row: number) =>
  client.call('previewIndex', { params: { index_id: id }, body: { as_of: formatDate(row) } });
const pack = (id: string, row: number) =>
  client.call('packRebalance', {
    params: { index_id: id },
    body: { as_of: formatDate(row), accounts: [{ name: 'F', cash: 1e9 }] },
  });

/** Compares the target weights in the orders of a pack with the weights that the index held on a date. */
async function expectTraded(id: string, expectedPack: Awaited<ReturnType<typeof pack>>, row: number): Promise<void> {
  const { weights: held } = await client.call('getWeights', {
    params: { index_id: id },
    query: { as_of: formatDate(row) },
  });
  const wantedWeights = new Map(
    expectedPack.accounts[0]!.trades.map((trade) => [trade.identifier, trade.weight_target]),
  );
  expect([...wantedWeights.keys()]).toEqual(held.map(({ identifier }) => identifier).toSorted());
  for (const { identifier, weight } of held) expect(wantedWeights.get(identifier)).toBeCloseTo(weight, 12);
}

describe('a constituent that was acquired between reviews', () => {
  const replacedIndex = {
    date: formatDate(EXIT_ROW),
    rule: 'next_ranked',
    entered: THIRD_NAME,
    left: FIRST,
    decision_date: formatDate(EXIT_ROW),
    ranked_on: formatDate(1),
    rank: 1,
    left_rank: null,
  };

  test('and its replacement are explained by date, rule and rank', async () => {
    const entrant = await explain('NEXT', THIRD_NAME);
    expect(entrant).toMatchObject({ included: true, excluded_by: 'top', replacements: [replacedIndex] });
    expect(entrant.entered).toMatchObject({ date: formatDate(EXIT_ROW), event: 'replacement', related: FIRST });
    const leaver = await explain('NEXT', FIRST);
    expect(leaver).toMatchObject({ included: false, replacements: [replacedIndex] });
    expect(leaver.left).toMatchObject({ event: 'acquisition' });
    expect((await explain('NEXT', SECOND_NAME)).replacements).toEqual([]);
  });

  test('is in the preview of that date and in no other', async () => {
    expect((await requestIndexPreview('NEXT', EXIT_ROW)).replacements).toEqual([replacedIndex]);
    expect((await requestIndexPreview('NEXT', EXIT_ROW + 1)).replacements).toEqual([]);
  });

  test('is traded by the rebalance pack of that date', async () => {
    const nextPack = await pack('NEXT', EXIT_ROW);
    expect(nextPack).toMatchObject({
      effective: formatDate(EXIT_ROW),
      basis: 'announced',
      replacements: [replacedIndex],
    });
    await expectTraded('NEXT', nextPack, EXIT_ROW);
    expect(await pack('NEXT', EXIT_ROW + 1)).toMatchObject({ basis: 'indicative', replacements: [] });
  });

  test('is replaced from a reserve by its position in the list', async () => {
    const { replacements } = await explain('RESERVE', THIRD_NAME);
    expect(replacements).toEqual([{ ...replacedIndex, rule: 'reserve', ranked_on: null, rank: 2 }]);
  });
});

describe('a security that leaves while a review is pending', () => {
  test('is replaced in the rebalance pack, as the index replaces it', async () => {
    const [, , next] = listRanked(EXIT_ROW - 1);
    const swap = { entered: next, left: FIRST, rule: 'next_ranked', date: formatDate(EFFECTIVE) };
    const earlyPack = await pack('PENDING', BETWEEN_ROW);
    expect(earlyPack).toMatchObject({ effective: formatDate(EFFECTIVE), basis: 'announced', replacements: [swap] });
    const pendingPack = await pack('PENDING', EFFECTIVE);
    expect(pendingPack.replacements).toMatchObject([{ ...swap, decision_date: formatDate(EFFECTIVE) }]);
    await expectTraded('PENDING', pendingPack, EFFECTIVE);
    expect((await explain('PENDING', next!)).replacements).toMatchObject([swap]);
  });
});

describe('a fast exit', () => {
  const exitIndex = {
    date: formatDate(EFFECTIVE),
    rule: 'fast_exit',
    left: SECOND_NAME,
    decision_date: formatDate(DECISION_ROW),
    ranked_on: formatDate(DECISION_ROW),
  };

  test('is announced by preview, rebalance pack and pro forma file before it takes effect', async () => {
    const [swap] = (await requestIndexPreview('EXIT', DECISION_ROW)).replacements!;
    const order = listRanked(DECISION_ROW);
    expect(swap).toMatchObject(exitIndex);
    expect(order[swap!.rank - 1]).toBe(swap!.entered);
    expect(order[swap!.left_rank! - 1]).toBe(SECOND_NAME);
    const exitPack = await pack('EXIT', BETWEEN_ROW);
    expect(exitPack).toMatchObject({ effective: formatDate(EFFECTIVE), basis: 'announced', replacements: [swap] });
    const file = await client.call('exportRun', {
      params: { index_id: 'EXIT', table: 'proforma' },
      query: { date: formatDate(BETWEEN_ROW), format: 'csv' },
    });
    const text = typeof file === 'string' ? file : new TextDecoder().decode(file as unknown as Uint8Array);
    expect(text).toContain(swap!.entered);
    expect(text).not.toContain(SECOND_NAME);
  });

  test('is traded on its date, and explained for the security that left', async () => {
    await expectTraded('EXIT', await pack('EXIT', EFFECTIVE), EFFECTIVE);
    const leaver = await explain('EXIT', SECOND_NAME);
    expect(leaver.replacements).toMatchObject([exitIndex]);
    expect(leaver.left).toMatchObject({ event: 'fast_exit', related: leaver.replacements[0]!.entered });
  });

  test('is not announced before its decision', async () => {
    expect(await pack('EXIT', DECISION_ROW - 1)).toMatchObject({ basis: 'indicative', replacements: [] });
  });
});
