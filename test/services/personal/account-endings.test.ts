import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AccountBacktestView } from '#contract/batches.js';
import { runService, type RunningService } from '../running-service.js';
import { createFrame } from '../../table-frame.js';
import { createEqualIndex } from '../../equal-index.js';

const HOLIDAYS = new Set(['2023-01-16', '2023-02-20']);
/** Sessions of New York from 3 January to 24 March 2023. */
const DAYS = Array.from({ length: 81 }, (_, i) => new Date(Date.UTC(2023, 0, 3 + i)))
  .filter((day) => day.getUTCDay() % 6 !== 0)
  .map((day) => day.toISOString().slice(0, 10))
  .filter((day) => !HOLIDAYS.has(day));
const ENDING = 30;

type Terms = readonly [type: string, value: number | null, related?: string, cash?: number];

/**
 * Each case has a security of its own at a price of 50 up to the session before its events. The account holds 100 shares
 * of it and 250 shares of N at 20. X trades at 25, K at 10 from the ex-date on, Y, which is acquired on the ex-date, at 25.
 */
const CASES: readonly {
  readonly title: string;
  readonly events: readonly Terms[];
  /** Value of the account, and the dividends and shares that the events leave. */
  readonly value: number;
  readonly dividends?: number;
  readonly shares?: Readonly<Record<string, number>>;
}[] = [
  {
    title: 'special dividend and acquisition: 100 x (10 + 44) + 5000',
    events: [
      ['SPECIAL_DIVIDEND', 10],
      ['ACQUISITION', 44],
    ],
    value: 10_400,
    dividends: 1000,
  },
  {
    title: 'dividend and acquisition: 100 x (2 + 48) + 5000',
    events: [
      ['DIVIDEND', 2],
      ['ACQUISITION', 48],
    ],
    value: 10_000,
    dividends: 200,
  },
  {
    title: 'dividend and delisting with a payment: 100 x (2 + 48) + 5000',
    events: [
      ['DIVIDEND', 2],
      ['DELISTING', 48],
    ],
    value: 10_000,
    dividends: 200,
  },
  {
    title: 'dividend and delisting at the last price: 100 x (2 + 50) + 5000',
    events: [
      ['DIVIDEND', 2],
      ['DELISTING', null],
    ],
    value: 10_200,
    dividends: 200,
  },
  {
    title: 'special dividend and delisting at the last price, reduced by it: 100 x (10 + 40) + 5000',
    events: [
      ['SPECIAL_DIVIDEND', 10],
      ['DELISTING', null],
    ],
    value: 10_000,
    dividends: 1000,
  },
  {
    title: 'return of capital and acquisition: 100 x (5 + 45) + 5000',
    events: [
      ['RETURN_OF_CAPITAL', 5],
      ['ACQUISITION', 45],
    ],
    value: 10_000,
  },
  {
    title: 'split and acquisition: 200 x 25 + 5000',
    events: [
      ['SPLIT', 2],
      ['ACQUISITION', 25],
    ],
    value: 10_000,
  },
  {
    title: 'dividend per new share, split and acquisition: 200 x (1 + 24) + 5000',
    events: [
      ['DIVIDEND', 1],
      ['SPLIT', 2],
      ['ACQUISITION', 24],
    ],
    value: 10_000,
    dividends: 200,
  },
  {
    title: 'spin-off and acquisition: 100 x (40 + 10) + 5000',
    events: [
      ['SPIN_OFF', 1, 'K'],
      ['ACQUISITION', 40],
    ],
    value: 10_000,
    shares: { K: 100 },
  },
  {
    title: 'rights, which lapse, and acquisition at the price without them: 100 x 40 + 5000',
    events: [
      ['RIGHTS_ISSUE', 1],
      ['ACQUISITION', 40],
    ],
    value: 9000,
  },
  {
    title: 'special dividend and merger for shares: 100 x (10 + 1.6 x 25) + 5000',
    events: [
      ['SPECIAL_DIVIDEND', 10],
      ['MERGER', 1.6, 'X'],
    ],
    value: 10_000,
    dividends: 1000,
    shares: { X: 160 },
  },
  {
    title: 'split and merger for shares and cash: 200 x (0.5 x 25 + 12.5) + 5000',
    events: [
      ['SPLIT', 2],
      ['MERGER', 0.5, 'X', 12.5],
    ],
    value: 10_000,
    shares: { X: 100 },
  },
  {
    title: 'merger for shares of a security that is acquired on the same day: 100 x 2 x 25 + 5000',
    events: [['MERGER', 2, 'AY']],
    value: 10_000,
  },
  {
    title: 'dividend per new share and split without an ending: 200 x (1 + 50) + 5000',
    events: [
      ['DIVIDEND', 1],
      ['SPLIT', 2],
    ],
    value: 15_200,
    dividends: 200,
  },
];
const listNames = () => CASES.map((_, i) => `M${i}`);
const isEnding = ({ events }: (typeof CASES)[number]) =>
  !events.every(([type]) => type === 'DIVIDEND' || type === 'SPLIT');

let service: RunningService;
beforeAll(async () => {
  service = await runService();
  const market = DAYS.flatMap((day, t) => [
    ...CASES.flatMap((one, i) => (t < ENDING || !isEnding(one) ? [[`M${i}`, day, 50]] : [])),
    ...Object.entries({ N: 20, X: 25 }).map(([name, price]) => [name, day, price]),
    ...(t < ENDING ? [['AY', day, 25]] : [['K', day, 10]]),
  ]);
  const actions = [
    ...CASES.flatMap(({ events }, i) =>
      events.map(([type, value, related = null, cash = null]) => [
        `M${i}`,
        type,
        value,
        DAYS[ENDING],
        related,
        cash,
        type === 'RIGHTS_ISSUE' ? 30 : null,
      ]),
    ),
    ['AY', 'ACQUISITION', 25, DAYS[ENDING], null, null, null],
  ];
  const columns = ['identifier', 'type', 'value', 'ex_date', 'related', 'cash', 'subscription_price'];
  const imported = await service.ask('POST', '/data/import', {
    name: 'ended',
    store_id: 'ended',
    currency: 'USD',
    adjustment: 'none',
    activate: true,
    tables: {
      market: createFrame(['identifier', 'date', 'CLOSE'], market),
      corporate_actions: createFrame(columns, actions),
    },
  });
  expect(imported.status, JSON.stringify(imported.body)).toBe(201);
  const identifiers = [...listNames(), 'N', 'X', 'K'];
  const model = await service.ask('POST', '/risk-models/flat/import', {
    units: 'annual',
    models: [
      {
        date: DAYS[0],
        exposures: { index: identifiers, columns: ['F'], data: identifiers.map(() => [0.2]) },
        factor_covariance: { index: ['F'], columns: ['F'], data: [[1]] },
        specific_variances: Object.fromEntries(identifiers.map((name) => [name, 0.03])),
      },
    ],
  });
  expect(model.status, JSON.stringify(model.body)).toBeLessThan(300);
});
afterAll(() => service?.close());

async function runAccount(security: string): Promise<AccountBacktestView> {
  const stored = await service.ask(
    'PUT',
    `/indices/I${security}`,
    createEqualIndex(`I${security}`, {
      name: security,
      base_date: DAYS[0],
      currency: 'USD',
      store_id: 'ended',
      rebalance: { frequency: 'none' },
      universe: { kind: 'list', identifiers: [security, 'N'] },
    }),
  );
  expect(stored.status, JSON.stringify(stored.body)).toBeLessThan(300);
  const lots = [
    { identifier: security, shares: 100, cost: 40, acquired: '2022-01-03' },
    { identifier: 'N', shares: 250, cost: 20, acquired: '2022-01-03' },
  ];
  const { status, body } = await service.ask<{ job_id: string }>('POST', `/analytics/I${security}/accounts/backtest`, {
    backtest_id: `b${security}`,
    risk_model: 'flat',
    objective: { cost_bps: 0 },
    start: DAYS[1],
    end: DAYS.at(-1),
    rebalance: 'quarterly',
    account: { account_id: 'A', cash: 0, lots },
  });
  expect(status, JSON.stringify(body)).toBe(202);
  const job = await service.waitForJob(body.job_id);
  expect(job.error).toBeNull();
  return job.result as AccountBacktestView;
}

test.each(CASES.map((one, i) => ({ ...one, security: `M${i}` })))(
  'an account receives every event of a day: $title',
  async ({ security, value, dividends = 0, shares = {} }) => {
    const view = await runAccount(security);
    // The first rebalance trades fractions of a share within the tolerance of the solver.
    expect(view.final_value).toBeCloseTo(value, 2);
    expect(view.dividends).toBeCloseTo(dividends, 2);
    for (const [name, count] of Object.entries(shares))
      expect(view.lots.find(({ identifier }) => identifier === name)?.shares).toBeCloseTo(count, 3);
  },
);
