import { expect, test } from 'vitest';
import {
  PlanCheck,
  CHECK_NAMES,
  type CheckInput,
  findCheckKind,
  listStandardChecks,
} from '#domain/definition/daily-plan-checks.js';
import type { CorporateAction } from '#domain/market/market-data.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';

/** Day of the check. It is a Tuesday, and the previous session is a Monday. */
const DAY = parseValidDay('2026-11-24');
const DAY_BEFORE = DAY - 1;

const createAction = (change: Partial<CorporateAction>): CorporateAction => ({
  identifier: 'A',
  type: 'SPLIT',
  value: 2,
  exDay: DAY,
  payDay: null,
  status: null,
  announcedDay: null,
  related: null,
  subscriptionPrice: null,
  ...change,
});

const NO_CASH = { cash: { marketValue: 0, weight: 0 }, variant: 'price' } as const;
const NO_DECIMALS = { level: null, divisor: null, weights: null };

type Prices = Readonly<Record<string, readonly number[]>>;

/**
 * Returns the input of a check: an index of two securities with equal weights, and five days of prices up to the day.
 */
function createInput(
  change: Partial<CheckInput> = {},
  prices: Prices = { A: [10, 11, 12, 11, 12], B: [20, 20, 21, 20, 21] },
): CheckInput {
  const holdings = [
    { identifier: 'A', marketValue: 600, weight: 0.5 },
    { identifier: 'B', marketValue: 600, weight: 0.5 },
  ];
  const composition = { holdings, ...NO_CASH, divisor: 12 };
  const createLevel = (price: number) => ({ price, total: price, net: null });
  return {
    indexId: 'CORE',
    date: DAY,
    previous: DAY_BEFORE,
    closing: composition,
    opening: composition,
    levels: new Map([
      [DAY_BEFORE, createLevel(100)],
      [DAY, createLevel(100)],
    ]),
    published: new Map(),
    decimals: NO_DECIMALS,
    maySellShort: false,
    closeOn: (identifier, day) => prices[identifier]?.[4 - (DAY - day)] ?? Number.NaN,
    lastDays: (count) => Array.from({ length: count }, (_, k) => DAY - count + 1 + k),
    actionsOf: () => [],
    deskStateOf: () => 'new',
    isClosed: () => false,
    isSession: () => true,
    issuerOf: (identifier) => identifier,
    seriesOn: () => Number.NaN,
    restated: null,
    ...change,
  };
}

/** Returns the findings of a check with these parameters. Each finding is a security and a message. */
function listFindings(params: { readonly check: string }, input: CheckInput): string[] {
  const check = PlanCheck.parse(params);
  return findCheckKind(check.check)
    .judge(input, check as never)
    .map(({ identifier, message }) => `${identifier ?? '-'}: ${message}`);
}

test('an index without a problem passes every check', () => {
  for (const check of listStandardChecks(true)) expect(listFindings(check, createInput()), check.check).toEqual([]);
  expect(CHECK_NAMES).toHaveLength(11);
  expect(listStandardChecks(true).every(({ check, severity }) => check !== 'published' || severity === 'block')).toBe(
    true,
  );
  const withPolicy = listStandardChecks(true, true).filter(({ check }) => check === 'published');
  expect(withPolicy).toMatchObject([{ severity: 'warn' }]);
  expect(listStandardChecks(false).map(({ check }) => check)).toEqual([
    'coverage',
    'staleness',
    'moves',
    'history',
    'actions',
  ]);
});

test('coverage: constituents without a price count by weight, those of a closed exchange do not', () => {
  const prices = { A: [10, 11, 12, 11, Number.NaN], B: [20, 20, 21, 20, 21] };
  expect(listFindings({ check: 'coverage' }, createInput({}, prices))).toEqual([
    'A: A has no price. Constituents without a price have 50% of the index.',
  ]);
  expect(listFindings({ check: 'coverage', minimum: 0.5 } as never, createInput({}, prices))).toEqual([]);
  expect(listFindings({ check: 'coverage', minimum: 0.51 } as never, createInput({}, prices))).toHaveLength(1);
  expect(listFindings({ check: 'coverage' }, createInput({ isClosed: (id) => id === 'A' }, prices))).toEqual([]);
});

test('staleness: a price that repeats on all of the sessions is reported, one that moved once is not', () => {
  const prices = { A: [12, 12, 12, 12, 12], B: [20, 20, 20, 20, 21] };
  expect(listFindings({ check: 'staleness' }, createInput({}, prices))).toEqual([
    'A: A has the price 12 on 5 sessions.',
  ]);
  expect(listFindings({ check: 'staleness', sessions: 4 } as never, createInput({}, prices))).toHaveLength(1);
});

test('moves: a move beyond the limit needs a corporate action since the session before', () => {
  const prices = { A: [10, 10, 10, 10, 5], B: [20, 20, 20, 20, 25] };
  const listMoveFindings = (change: Partial<CheckInput>) =>
    listFindings({ check: 'moves', limit: 0.25 } as never, createInput(change, prices));
  expect(listMoveFindings({})).toEqual(['A: A moved by -50% without a corporate action; the limit is 25%.']); // B moved by exactly the limit
  expect(listMoveFindings({ actionsOf: (id) => (id === 'A' ? [createAction({})] : []) })).toEqual([]);
  expect(listMoveFindings({ actionsOf: () => [createAction({ exDay: DAY_BEFORE })] })).toHaveLength(1);
  expect(listMoveFindings({ actionsOf: () => [createAction({ status: 'cancelled' })] })).toHaveLength(1);
});

test('moves: a finding has the closes before and after the move and the weight of the security', () => {
  const prices = { A: [10, 10, 10, 10, 5], B: [20, 20, 20, 20, 25] };
  const check = PlanCheck.parse({ check: 'moves', limit: 0.25 });
  const [finding] = findCheckKind('moves').judge(createInput({}, prices), check as never);
  expect(finding!.evidence).toEqual({
    previous_date: formatDay(DAY_BEFORE),
    previous_close: 10,
    close: 5,
    weight: 0.5,
  });
});

test('history: a constituent whose history the refresh rejected is reported, another security is not', () => {
  expect(listFindings({ check: 'history' }, createInput({ restated: new Set(['B', 'Z']) }))).toEqual([
    'B: The source has a changed history of B, which was rejected. Its prices are not updated.',
  ]);
});

test('actions: impossible dates of coming actions are reported', () => {
  const listActions = (id: string) =>
    id === 'B'
      ? []
      : [
          createAction({ exDay: DAY + 3, announcedDay: DAY + 4 }),
          createAction({ type: 'DIVIDEND', exDay: DAY + 2, payDay: DAY + 1 }),
          createAction({ exDay: DAY + 20, announcedDay: DAY + 30 }),
          createAction({ exDay: DAY_BEFORE, announcedDay: DAY }),
        ];
  const isSession = (day: number) => day !== DAY + 2;
  expect(listFindings({ check: 'actions' }, createInput({ actionsOf: listActions, isSession }))).toEqual([
    'A: The SPLIT of A on 2026-11-27 was announced after this date, on 2026-11-28.',
    'A: The DIVIDEND of A on 2026-11-26 is not on a session.',
    'A: The DIVIDEND of A on 2026-11-26 is paid before this date, on 2026-11-25.',
  ]);
});

test('weights: a sum other than one, a negative weight and an empty index are reported', () => {
  const listMoveFindings = (weights: readonly number[]) =>
    listFindings(
      { check: 'weights' },
      createInput({
        closing: {
          ...NO_CASH,
          divisor: 1,
          holdings: weights.map((weight, k) => ({ identifier: 'AB'[k]!, marketValue: weight, weight })),
        },
      }),
    );
  expect(listMoveFindings([0.5, 0.5 + 2e-9])).toEqual(['-: Weights add up to 1.000000002.']);
  expect(listMoveFindings([1.25, -0.25])).toEqual(['B: B has the weight -25%.']);
  expect(listMoveFindings([])).toEqual(['-: The index has no constituents.']);
  const closing = {
    holdings: [{ identifier: 'A', marketValue: -1, weight: -1 }],
    cash: { marketValue: 2, weight: 2 },
    divisor: 1,
    variant: 'price',
  } as const;
  expect(listFindings({ check: 'weights' }, createInput({ closing, maySellShort: true }))).toEqual([]);
  expect(listFindings({ check: 'weights' }, createInput({ closing }))).toEqual(['A: A has the weight -100%.']);
});

test('divisor: market value over divisor is the level, at the close and before the open, up to rounding', () => {
  const listMoveFindings = (change: Partial<CheckInput>) => listFindings({ check: 'divisor' }, createInput(change));
  const listLevels = (before: number, now: number) =>
    new Map([
      [DAY_BEFORE, { price: before, total: null, net: null }],
      [DAY, { price: now, total: null, net: null }],
    ]);
  expect(listMoveFindings({ levels: listLevels(100, 100.001) })).toEqual([
    '-: The market value divided by the divisor at the close is 100; the level is 100.001.',
  ]);
  expect(listMoveFindings({ levels: listLevels(99, 100) })).toEqual([
    '-: The market value divided by the divisor before the open is 100; the level is 99.',
  ]);
  expect(listMoveFindings({ levels: listLevels(100.004, 99.996), decimals: { ...NO_DECIMALS, level: 2 } })).toEqual([]);
  expect(listMoveFindings({ levels: listLevels(100.006, 100), decimals: { ...NO_DECIMALS, level: 2 } })).toHaveLength(
    1,
  );
  expect(listMoveFindings({ closing: null, opening: null })).toEqual([]); // there is no run
  const { closing } = createInput();
  const lent = { ...closing!, cash: { marketValue: -600, weight: -1 } };
  expect(listMoveFindings({ closing: lent })).toEqual([
    '-: The market value divided by the divisor at the close is 50; the level is 100.',
  ]);
  expect(listMoveFindings({ closing: { ...lent, divisor: 6 }, opening: null })).toEqual([]);
  expect(listMoveFindings({ closing: { ...closing!, variant: 'net' } })).toEqual([]); // the levels lack the net variant
  const divisor = 1200 / 100.3;
  expect(listMoveFindings({ closing: { ...closing!, divisor }, decimals: { ...NO_DECIMALS, divisor: 1 } })).toEqual([]);
  expect(
    listMoveFindings({ closing: { ...closing!, divisor }, decimals: { ...NO_DECIMALS, divisor: 2 } }),
  ).toHaveLength(1);
});

test('limits: numbers of constituents, weights and a published rule', () => {
  const listMoveFindings = (params: object) => listFindings({ check: 'limits', ...params }, createInput());
  expect(listMoveFindings({ minimum: 3 })).toEqual(['-: The index has 2 constituents; 3 are the least.']);
  expect(listMoveFindings({ maximum: 1 })).toEqual(['-: The index has 2 constituents; 1 is the most.']);
  expect(listMoveFindings({ maximum_weight: 0.49 })).toEqual(
    ['A', 'B'].map((id) => `${id}: ${id} has the weight 50%; the limit is 49%.`),
  );
  expect(listMoveFindings({ maximum_weight: 0.5, minimum: 2, maximum: 2 })).toEqual([]);
  // Computed by hand: the largest issuer has 50 % (limit 10 %), and both issuers together have 100 % (limit 40 %).
  expect(listMoveFindings({ rule: 'UCITS_5_10_40' })).toEqual([
    '-: UCITS 5/10/40: largest issuer is 50%; the limit is 10%.',
    '-: UCITS 5/10/40: issuers above 5% together is 100%; the limit is 40%.',
  ]);
  // Both securities belong to one issuer: 100 %.
  expect(listFindings({ check: 'limits', rule: 'UCITS_20_35' } as never, createInput({ issuerOf: () => 'X' }))).toEqual(
    ['-: UCITS 20/35: largest issuer is 100%; the limit is 35%.'],
  );
});

test('second source: the level is compared in basis points, and a missing value is a finding', () => {
  const check = { check: 'second_source', series: { CORE: 'CALC' } };
  const listMoveFindings = (value: number, change: object = {}) =>
    listFindings({ ...check, ...change }, createInput({ seriesOn: () => value }));
  expect(listMoveFindings(100)).toEqual([]);
  expect(listMoveFindings(100.009)).toEqual([]); // 0.9 bp
  expect(listMoveFindings(100.02)).toEqual([
    'CALC: The level is 100, and the level of CALC is 100.02. The difference is -2 bp; the tolerance is 1 bp.',
  ]);
  expect(listMoveFindings(100.02, { tolerance_bps: 2 })).toEqual([]);
  expect(listMoveFindings(Number.NaN)).toEqual(['CALC: CALC has no value on 2026-11-24.']);
  expect(listMoveFindings(100, { variant: 'net' })).toEqual(['CALC: The run has no net level on 2026-11-24.']);
  expect(listMoveFindings(1, { series: { OTHER: 'CALC' } })).toEqual([]);
});

test('published: levels of the run that differ from published ones are counted, with the largest', () => {
  const publishedLevels = new Map([
    [DAY_BEFORE, { price: 100, total: 100, net: null }],
    [DAY - 4, { price: 1, total: 1, net: 1 }], // the run does not contain this day
  ]);
  expect(listFindings({ check: 'published' }, createInput({ published: publishedLevels }))).toEqual([]);
  const other = new Map([[DAY_BEFORE, { price: 100, total: 100.05, net: null }]]);
  expect(listFindings({ check: 'published' }, createInput({ published: other }))).toEqual([
    '-: The run differs from 1 published close. The largest difference is 4.998 bp, on 2026-11-23.',
  ]);
  expect(listFindings({ check: 'published', tolerance_bps: 5 } as never, createInput({ published: other }))).toEqual(
    [],
  );
});

test('only a confirmed action takes effect without a finding; one of another day or cancelled is none', () => {
  const judgeFindings = (state: 'new' | 'confirmed' | 'rejected' | 'amended', change: Partial<CorporateAction> = {}) =>
    findCheckKind('confirmed_actions')
      .judge(
        createInput({ actionsOf: (name) => (name === 'A' ? [createAction(change)] : []), deskStateOf: () => state }),
        PlanCheck.parse({ check: 'confirmed_actions' }),
      )
      .map(({ identifier }) => identifier);
  expect(judgeFindings('confirmed')).toEqual([]);
  for (const state of ['new', 'rejected', 'amended'] as const) expect(judgeFindings(state)).toEqual(['A']);
  expect(judgeFindings('new', { exDay: DAY + 1 })).toEqual([]);
  expect(judgeFindings('new', { exDay: DAY_BEFORE })).toEqual([]);
  expect(judgeFindings('new', { status: 'cancelled' })).toEqual([]);
  expect(listStandardChecks(true).map(({ check }) => check)).not.toContain('confirmed_actions');
});
