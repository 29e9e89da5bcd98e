import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDivisorClient } from '#clients/typescript/divisor.js';
import type { MarketContent } from '#market/content/market-content.js';
import { writeMarket } from '#market/content/managed-folder.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { runService, type RunningService } from '../running-service.js';
import { generateTestMarket } from '../../synthetic-market.js';

/** Market of six securities that drift apart. Two of them sometimes exceed a fifth of the index. */
const WHOLE_CONTENT: MarketContent = generateTestMarket({
  seed: 5,
  assets: 6,
  sessions: openCalendars()
    .get('XNYS')!
    .sessions.filter((day) => day > 18_000)
    .slice(0, 300),
  specific_volatility: 0.6,
  dividend_yield: 0.03,
});
const formatIsoDay = (row: number): string =>
  new Date(WHOLE_CONTENT.dates[row]! * 86_400_000).toISOString().slice(0, 10);
const findRow = (day: string): number => WHOLE_CONTENT.dates.indexOf(Date.parse(day) / 86_400_000);
const INDEX = {
  id: 'W',
  name: 'Watched',
  calendar: 'XNYS',
  base_date: formatIsoDay(2),
  rebalance: { frequency: 'annual', effective_lag: 2 },
  pipeline: {
    treatment: { on_breach: 'rebalance', breach_rule: 'UCITS_20_35' },
    weighting: { type: 'EqualWeight' },
  },
} as const;
const params = { index_id: 'W' };
/** Number of sessions of the first run, and of the last run that is extended by a day. */
const [FIRST, LAST] = [200, 203];

let services: RunningService[] = [];
beforeAll(async () => {
  services = await Promise.all(['1', '2'].map((workers) => runService(['--workers', workers])));
});
afterAll(() => Promise.all(services.map((service) => service.close())));

function cutMarket(rows: number): MarketContent {
  const fields = new Map(
    [...WHOLE_CONTENT.fields].map(([name, panel]) => [name, panel.slice(0, rows * WHOLE_CONTENT.identifiers.length)]),
  );
  const last = WHOLE_CONTENT.dates[rows - 1]!;
  return {
    ...WHOLE_CONTENT,
    dates: WHOLE_CONTENT.dates.slice(0, rows),
    fields,
    actions: WHOLE_CONTENT.actions.filter(({ exDay }) => exDay <= last),
  };
}

/**
 * Returns all responses of a service about the index in three cases. The run is extended day by day, computed in full,
 * or part of a sweep.
 */
async function reportBreaches(service: RunningService) {
  const client = createDivisorClient({ url: service.url() });
  const folder = join(service.root, 'desk');
  await writeMarket(folder, cutMarket(FIRST), () => {});
  const store = { store_id: 'desk', name: 'Desk', kind: 'folder', location: folder, activate: true } as const;
  await client.call('createStore', { body: store });
  await client.call('createIndex', { body: INDEX });
  await client.run('startBacktest', { params, body: {} });
  for (let rows = FIRST + 1; rows <= LAST; rows++) {
    rmSync(folder, { recursive: true, force: true });
    await writeMarket(folder, cutMarket(rows), () => {});
    await client.run('refreshStore', { params: { store_id: 'desk' }, body: {} });
    await client.run('startBacktest', { params, body: {} });
  }
  const appendedViews = await readShownBy(client);
  await client.call('deleteRecord', { params });
  await client.run('startBacktest', { params, body: {} });
  const wholeViews = await readShownBy(client);
  const grid = {
    '/document/pipeline/treatment/on_breach': ['none', 'rebalance'],
    '/request/transaction_cost_bps': [0, 5],
  };
  const sweep = await client.run('startSweep', { body: { sweep_id: 's', index_id: 'W', grid } });
  return { appended: appendedViews, whole: wholeViews, sweep };
}

async function readShownBy(client: ReturnType<typeof createDivisorClient>) {
  const { levels, divisor } = await client.call('getLevels', { params });
  const { rebalances } = await client.call('listRebalances', { params });
  const { index } = await client.call('getRecord', { params });
  const { metrics } = await client.call('getOverview', { params });
  return { levels, divisor, rebalances, snapshots: index.target!.rebalances, metrics };
}

test('an index with breach rebalances is bit-identical for any number of workers, extended day by day, whole, and in sweeps', async () => {
  const [one, two] = await Promise.all(services.map(reportBreaches));
  expect(two).toEqual(one);
  const { appended, whole, sweep } = one!;
  expect(appended).toEqual(whole);
  const causes = whole.rebalances.map(({ cause }) => cause);
  expect(causes[0]).toBe('schedule');
  expect(causes).toContain('breach');
  // The record contains the compositions of the list, one by one.
  expect(whole.snapshots.map(({ date, cause }) => [date, cause])).toEqual(
    whole.rebalances.map(({ date, cause }) => [date, cause]),
  );
  const response = sweep.rows.find(
    ({ patch }) =>
      patch['/request/transaction_cost_bps'] === 0 && patch['/document/pipeline/treatment/on_breach'] === 'rebalance',
  );
  expect(response!.metrics).toEqual(whole.metrics);
});

test('after a change of the definition the breach is reported on its date', async () => {
  const [service] = services;
  const client = createDivisorClient({ url: service!.url() });
  const { rebalances } = await client.call('listRebalances', { params });
  const breachDate = rebalances.find(({ cause }) => cause === 'breach')!.decision_date!;
  const requestWhatIf = (as_of: string) =>
    client.call('whatIf', {
      body: { index_id: 'W', as_of, patch: { pipeline: { treatment: { on_breach: 'none' } } } },
    });
  const breachPreview = await requestWhatIf(breachDate);
  expect([breachPreview.before.cause, breachPreview.after.cause]).toEqual(['breach', null]);
  expect(breachPreview.before.limits!.rule).toBe('UCITS_20_35');
  // With six equal weights, the headroom of the second largest issuer is a fifth minus a sixth.
  expect(breachPreview.before.limits!.headroom).toBeCloseTo(0.2 - 1 / 6, 12);
  expect(breachPreview.after.limits).toBeUndefined();
  const first = await requestWhatIf(rebalances[0]!.decision_date!);
  expect([first.before.cause, first.after.cause]).toEqual(['schedule', 'schedule']);
  const decisionDates = new Set(rebalances.map(({ decision_date }) => decision_date));
  const quietDay = Array.from({ length: LAST }, (_, row) => formatIsoDay(row)).find(
    (day) => day > INDEX.base_date && !decisionDates.has(day),
  )!;
  expect((await requestWhatIf(quietDay)).before.cause).toBeNull();
});

test('limits default to those of the rule of the index', async () => {
  const client = createDivisorClient({ url: services[0]!.url() });
  const [ownEvents, namedEvents] = await Promise.all(
    [{}, { rule: 'UCITS_20_35' } as const].map((query) => client.call('getLimits', { params, query })),
  );
  expect(ownEvents!.rule).toBe('UCITS_20_35');
  expect(ownEvents).toEqual(namedEvents);
});

test('the pack of a breach rebalance is announced, and equals the trades of the index on its day', async () => {
  const client = createDivisorClient({ url: services[0]!.url() });
  const { rebalances } = await client.call('listRebalances', { params });
  const { decision_date: decision, date: effective } = rebalances.find(({ cause }) => cause === 'breach')!;
  const packOn = (as_of: string) => client.call('packRebalance', { params, body: { as_of, aum: 1e9 } });
  const [before, announced, traded] = await Promise.all(
    [formatIsoDay(findRow(decision!) - 1), decision!, effective].map(packOn),
  );
  expect([before!.basis, before!.effective === effective]).toEqual(['indicative', false]);
  for (const pack of [announced!, traded!]) expect(pack).toMatchObject({ basis: 'announced', decision, effective });
  const { weights } = await client.call('getWeights', { params, query: { as_of: effective } });
  for (const { identifier, weight } of weights) {
    const order = traded!.accounts[0]!.trades.find((trade) => trade.identifier === identifier)!;
    expect(order.weight_target).toBeCloseTo(weight, 12);
  }
  expect(traded!.reconciliation!.announced).toBe(decision);
});

test('a breach rebalance is announced from its session on, also in a run that ends before it', async () => {
  const client = createDivisorClient({ url: services[0]!.url() });
  const { rebalances } = await client.call('listRebalances', { params });
  const breachPreview = rebalances.filter(({ cause }) => cause === 'breach');
  const fetchAnnounced = async (query: { from: string; to: string; index_ids?: string[] }) => {
    const { events } = await client.call('listEvents', { query: { kinds: ['announcement', 'effective'], ...query } });
    return events.map(({ date, kind, index_id: id, effective }) => `${id} ${date} ${kind} ${effective}`);
  };
  const { decision_date: decided, date: effective } = breachPreview[0]!;
  const expected = [`W ${decided} announcement ${effective}`, `W ${effective} effective ${effective}`];
  expect(await fetchAnnounced({ from: decided!, to: effective })).toEqual(expected);
  const { events } = await client.call('listEvents', { query: { from: INDEX.base_date, to: effective } });
  for (const { date, cause, rule, summary } of events.filter(({ kind }) => kind === 'effective')) {
    expect(cause).toBe(rebalances.find((rebalance) => rebalance.date === date)!.cause);
    expect(rule === null).toBe(cause === 'schedule');
    expect(summary.endsWith(rule === null ? 'effective' : `effective after a breach of ${rule}`)).toBe(true);
  }
  expect(events.filter(({ index_id: id }) => id === null).every(({ cause }) => cause === null)).toBe(true);
  const schedule = (asof: string) => client.call('getSchedule', { params, query: { asof } });
  const [before, on] = await Promise.all([formatIsoDay(findRow(decided!) - 1), decided!].map(schedule));
  expect(before!.upcoming).not.toContain(effective);
  expect([on!.upcoming[0], on!.announcements![effective]]).toEqual([effective, decided]);

  // The trade follows the breach by two sessions. If a run ends on the session in between, it includes the decision.
  const dateBetween = formatIsoDay(findRow(decided!) + 1);
  expect(dateBetween < effective).toBe(true);
  const overlay = {
    id: 'W2',
    name: 'Twice',
    calendar: 'XNYS',
    base_date: INDEX.base_date,
    kind: 'overlay',
    currency: 'USD',
    source_index_id: 'W',
    overlay: { type: 'leverage', factor: 2 },
  } as const;
  await client.call('createIndex', { body: overlay });
  await client.run('startBacktest', { params, body: { end: dateBetween } });
  await client.run('startBacktest', { params: { index_id: 'W2' }, body: { end: dateBetween } });
  const { summaries } = await client.call('listSummaries', {});
  const rows = summaries.filter(({ index_id: id }) => id === 'W' || id === 'W2');
  expect(rows.map(({ end, next_rebalance: next }) => [end, next])).toEqual([
    [dateBetween, effective],
    [dateBetween, effective],
  ]);
  expect(await fetchAnnounced({ from: decided!, to: effective })).toEqual(
    expected.flatMap((event) => [event, event.replace('W ', 'W2 ')]),
  );
});

test('the table parameter applies to files: with JSON it is refused with its requirement, and as CSV it is used', async () => {
  for (const [path, table, formats] of [
    ['/indices/W/actions', 'constituents', ['csv']],
    ['/analytics/W/exposures', 'concentration', ['csv', 'arrow', 'parquet', 'xlsx']],
    ['/analytics/W/limits', 'breaches', ['csv', 'arrow', 'parquet', 'xlsx']],
  ] as const) {
    const refusal = await fetch(`${services[0]!.url()}${path}?table=${table}`);
    expect(refusal.status).toBe(422);
    expect(await refusal.json()).toMatchObject({
      error: {
        code: 'VALIDATION_FAILED',
        detail: { findings: [{ code: 'REQUIRED', path: 'format', accepted: formats }] },
      },
    });
    expect((await fetch(`${services[0]!.url()}${path}?table=${table}&format=csv`)).status).toBe(200);
    expect((await fetch(services[0]!.url() + path)).status).toBe(200);
  }
});
