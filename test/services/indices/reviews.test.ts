import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDivisorClient, type DivisorClient } from '#clients/typescript/divisor.js';
import { formatDay } from '#domain/base/time.js';
import { writeMarket } from '#market/content/managed-folder.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { runService, type RunningService } from '../running-service.js';
import { generateTestMarket } from '../../synthetic-market.js';

/** Sessions of 2024 in New York, with prices of eight securities. */
const SESSIONS = openCalendars()
  .get('XNYS')!
  .sessions.filter((day) => formatDay(day).startsWith('2024'));
const market = generateTestMarket({ seed: 7, assets: 8, sessions: SESSIONS, specific_volatility: 0.4 });

/** Index with quarterly rebalances on third Fridays over three closes. In the other months it reviews weights. */
const document = {
  id: 'R',
  name: 'Reviewed',
  calendar: 'XNYS',
  base_date: '2024-01-02',
  rebalance: {
    frequency: 'quarterly',
    anchor: 'third_friday',
    reference: { rule: 'last_session', months_before: 1 },
    announcement: { rule: 'nth_weekday', nth: 1, weekday: 4 },
    pricing_date: { rule: 'nth_weekday', nth: 2, weekday: 4 },
    phase: { fractions: [0.5, 0.25, 0.25] },
  },
  reviews: [
    {
      id: 'monthly',
      scope: 'weights',
      schedule: { frequency: 'monthly', months: [2, 5, 8, 11], anchor: 'third_friday', effective_lag: 4 },
      weighting: { type: 'EqualWeight' },
    },
  ],
  pipeline: {
    selection: [{ id: 'top', type: 'TopN', params: { field: 'MARKET_CAP', count: 4 } }],
    weighting: { type: 'MarketCapWeight', cap: 0.4 },
  },
} as const;

let service: RunningService;
let client: DivisorClient;
beforeAll(async () => {
  service = await runService();
  client = createDivisorClient({ url: service.url() });
  const folder = join(service.root, 'reviewed');
  await writeMarket(folder, market, () => {});
  await client.call('createStore', {
    body: { store_id: 'reviewed', name: 'Reviewed', kind: 'folder', location: folder, activate: true },
  });
  await client.call('createIndex', { body: document });
  await client.run('startBacktest', { params, body: {} });
});
afterAll(() => service.close());

const params = { index_id: 'R' };
const readSnapshots = async () => (await client.call('getRecord', { params })).index.target!.rebalances;

test('snapshots state their review, their dates and the share of a rebalance that is complete', async () => {
  const rows = (await readSnapshots()).map(({ date, review, reference_date, announced, pricing_date, phase }) =>
    [date, review, reference_date, announced, pricing_date, phase].join(' '),
  );
  expect(rows.slice(0, 6)).toEqual([
    '2024-01-02 rebalance 2024-01-02  2024-01-02 1',
    '2024-02-16 monthly 2024-02-12 2024-02-12 2024-02-12 1',
    '2024-03-15 rebalance 2024-02-29 2024-03-01 2024-03-08 0.5',
    '2024-03-18 rebalance 2024-02-29 2024-03-01 2024-03-08 0.75',
    '2024-03-19 rebalance 2024-02-29 2024-03-01 2024-03-08 1',
    '2024-05-17 monthly 2024-05-13 2024-05-13 2024-05-13 1',
  ]);
  const { rebalances } = await client.call('listRebalances', { params });
  expect(rebalances.slice(1, 4).map(({ date, review, phase, decision_date: on }) => [date, review, phase, on])).toEqual(
    [
      ['2024-02-16', 'monthly', 1, '2024-02-12'],
      ['2024-03-15', 'rebalance', 0.5, '2024-02-29'],
      ['2024-03-18', 'rebalance', 0.75, '2024-02-29'],
    ],
  );
});

test('the calendar announces every review and shows every close of a phase', async () => {
  const schedule = await client.call('getSchedule', { params, query: { as_of: '2024-02-20', limit: 4 } });
  expect(schedule.upcoming).toEqual(['2024-03-15', '2024-03-18', '2024-03-19', '2024-05-17']);
  expect(schedule.announcements).toMatchObject({ '2024-02-16': '2024-02-12', '2024-03-15': '2024-03-01' });
  const { events } = await client.call('listEvents', {
    query: { from: '2024-02-01', to: '2024-03-31', index_ids: ['R'], kinds: ['announcement', 'effective'] },
  });
  expect(events.map(({ date, kind }) => `${date} ${kind}`)).toEqual([
    '2024-02-12 announcement',
    '2024-02-16 effective',
    '2024-03-01 announcement',
    '2024-03-15 effective',
    '2024-03-18 effective',
    '2024-03-19 effective',
  ]);
});

describe.each([
  ['a review of weights', '2024-02-16'],
  ['the first close of a phase', '2024-03-15'],
  ['a later close of a phase', '2024-03-18'],
  ['the last close of a phase', '2024-03-19'],
])('the orders of %s', (_, date) => {
  test('lead to the weights of the run on its date', async () => {
    const accounts = [{ name: 'F', cash: 1e9, holdings: [] }];
    const pack = await client.call('packRebalance', { params, body: { as_of: date, accounts } });
    const { weights } = (await readSnapshots()).find((one) => one.date === date)!;
    expect(pack).toMatchObject({ effective: date, basis: 'announced' });
    const wantedWeights = Object.fromEntries(
      pack.accounts[0]!.trades.map((trade) => [trade.identifier, trade.weight_target]),
    );
    expect(Object.keys(wantedWeights).toSorted()).toEqual(Object.keys(weights).toSorted());
    for (const [name, weight] of Object.entries(weights)) expect(wantedWeights[name]).toBeCloseTo(weight, 12);
  });
});

test('orders before an announcement are indicative and state its date', async () => {
  const body = { as_of: '2024-02-29', accounts: [{ name: 'F', cash: 1e6, holdings: [] }] };
  const pack = await client.call('packRebalance', { params, body });
  expect(pack).toMatchObject({ effective: '2024-03-15', basis: 'indicative' });
  expect(pack.findings.map(({ message }) => message).join(' ')).toContain('is announced on 2024-03-01');
});

test('a preview of a reference date and an explanation have the weights of the review', async () => {
  const preview = await client.call('previewIndex', { params, body: { as_of: '2024-02-12' } });
  expect(Object.values(preview.weights)).toEqual([0.25, 0.25, 0.25, 0.25]);
  const [, monthly] = await readSnapshots();
  expect(monthly!.target_weights).toEqual(preview.weights);
  const [identifier] = Object.keys(monthly!.weights);
  const explainedAnswer = await client.call('explainName', {
    params: { ...params, identifier: identifier! },
    query: { as_of: '2024-02-20' },
  });
  expect(explainedAnswer).toMatchObject({ reviews: ['monthly'], decision_date: '2024-02-12', included: true });
  // The selection dates from the base date, the weight from the review.
  expect(explainedAnswer.rules.map(({ rule_id, kept }) => [rule_id, kept])).toEqual([['top', true]]);
  expect(explainedAnswer.weighting!.uncapped_weight).toBe(0.25);
  expect(explainedAnswer.weight).toBeCloseTo(monthly!.weights[identifier!]!, 15);
});

test('the methodology states the dates and the reviews', async () => {
  const { sentences } = await client.call('getMethodology', { params });
  const text = JSON.stringify(sentences);
  expect(text).toContain('the last session of the month before that of the effective date');
  expect(text).toContain('It is announced on the first Friday of the month of the effective date.');
  expect(text).toContain('closes of the pricing date, the second Friday of the month of the effective date');
  expect(text).toContain('in steps of 50%, 25%, 25%');
  expect(text).toContain('By the review monthly it is rebalanced monthly');
});

describe('a document is checked', () => {
  const check = async (changes: object) => {
    const { findings } = await client.call('validateIndex', { body: { ...document, ...changes } as never });
    return findings.map(({ severity, code, path, message }) => ({ at: `${severity} ${code} ${path}`, message }));
  };
  const { reviews, rebalance } = document;
  const [monthly] = reviews;

  test('for dates out of order, on the sessions of its calendar', async () => {
    const announcement = { rule: 'nth_weekday', nth: 3, weekday: 4 };
    const [finding] = await check({ rebalance: { ...rebalance, announcement } });
    expect(finding!.at).toBe('error INVALID_RANGE rebalance.announcement');
    expect(finding!.message).toContain('gives 2024-03-15 for the rebalance effective on 2024-03-15');
    const [later] = await check({ reviews: [{ ...monthly, schedule: { ...monthly.schedule, announcement } }] });
    expect(later!.at).toBe('error INVALID_RANGE reviews[0].schedule.announcement');
  });

  test.each<[string, object, string]>([
    ['an id that is taken', { ...monthly, id: 'rebalance' }, 'error DUPLICATE_ROW_ID reviews[0].id'],
    ['an unknown member', { ...monthly, scopes: 1 }, 'error UNKNOWN_FIELD reviews[0].scopes'],
    ['a selection that nothing reads', { ...monthly, selection: [] }, 'warning NO_EFFECT reviews[0].selection'],
    ['a weighting of share counts', { ...monthly, scope: 'shares' }, 'warning NO_EFFECT reviews[0].weighting'],
    [
      'fixed shares combined with weights',
      { ...monthly, weighting: { type: 'PriceWeight' } },
      'error NOT_IN_CHOICES reviews[0].weighting.type',
    ],
    [
      'a rule that is not known',
      { ...monthly, scope: 'membership', selection: [{ id: 'a', type: 'Top' }] },
      'error UNKNOWN_TYPE reviews[0].selection[0].type',
    ],
    ['no schedule', { ...monthly, schedule: undefined }, 'error REQUIRED reviews[0].schedule'],
    ['an empty schedule', { ...monthly, schedule: {} }, 'error REQUIRED reviews[0].schedule.frequency'],
    [
      'a schedule without a frequency',
      { ...monthly, schedule: { effective_lag: 2 } },
      'error REQUIRED reviews[0].schedule.frequency',
    ],
    [
      'a schedule without dates',
      { ...monthly, schedule: { frequency: 'none' } },
      'warning NO_EFFECT reviews[0].schedule',
    ],
    [
      'a second selection of one date',
      { ...monthly, scope: 'membership', schedule: { ...rebalance, phase: undefined } },
      'error INVALID_RANGE rebalance.phase',
    ],
    [
      'a column that the store lacks',
      { ...monthly, weighting: { type: 'FieldWeight', params: { field: 'NOPE' } } },
      'warning UNKNOWN_FIELD_NAME reviews[0].weighting.params.field',
    ],
  ])('for %s', async (_, review, expected) => {
    expect((await check({ reviews: [review] })).map(({ at }) => at)).toContain(expected);
  });

  test('for two selections that take effect on one date', async () => {
    const { phase: _phase, ...rebalanceFields } = rebalance;
    const secondReview = { ...monthly, scope: 'membership', schedule: rebalanceFields };
    const result = await check({ rebalance: rebalanceFields, reviews: [secondReview] });
    expect(result.find(({ at }) => at === 'warning NO_EFFECT reviews[0].schedule')!.message).toContain(
      'The reviews rebalance and monthly both have the scope membership on 2024-03-15',
    );
  });

  test('for amendments with a wrong value, an unknown member, or no effect', async () => {
    const checkAmended = (changes: object) => check({ amendments: [{ effective_from: '2024-02-01', changes }] });
    const [wrong] = await checkAmended({ rounding: { level: 99 } });
    expect(wrong!.at).toBe('error OUT_OF_RANGE amendments[0].changes.rounding.level');
    expect(wrong!.message).toContain('is 99; at most 15 is accepted');
    expect((await checkAmended({ treatment: {} }))[0]!.at).toBe('error UNKNOWN_FIELD amendments[0].changes.treatment');
    expect((await checkAmended({ pipeline: null }))[0]!.at).toBe('error PIPELINE_XOR_DERIVATION amendments[0].changes');
    expect(await checkAmended({})).toContainEqual({
      at: 'warning NO_EFFECT amendments[0].changes',
      message: 'amendments[0].changes changes nothing, because the document already has these values.',
    });
    const laterReviews = {
      amendments: [{ effective_from: '2024-02-01', changes: { rounding: { level: 2 } } }],
      reviews: undefined,
    };
    expect((await check({ ...laterReviews, rebalance: { frequency: 'none' } })).map(({ at }) => at)).toContain(
      'warning NO_EFFECT amendments[0].effective_from',
    );
  });

  test('for more than two reviews of one date: each that has no effect is reported once', async () => {
    const equalReviews = ['a', 'b', 'c', 'd'].map((id) => ({ ...monthly, id }));
    const findings = (await check({ reviews: equalReviews })).filter(({ message }) => message.includes('runs last'));
    expect(findings.map(({ message }) => message.slice(0, 24))).toEqual([
      'The reviews a and b both',
      'The reviews b and c both',
      'The reviews c and d both',
    ]);
  });

  test('for share counts that no weight follows', async () => {
    const { weighting: _weighting, ...counts } = { ...monthly, scope: 'shares' };
    const pipeline = { weighting: { type: 'EqualWeight' } };
    expect((await check({ pipeline, reviews: [counts] })).map(({ at }) => at)).toContain(
      'warning NO_EFFECT reviews[0].scope',
    );
    expect((await check({ reviews: [counts] })).map(({ at }) => at)).not.toContain(
      'warning NO_EFFECT reviews[0].scope',
    );
  });
});
