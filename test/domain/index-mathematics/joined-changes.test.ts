import { expect, test } from 'vitest';
import { expectNear, runIndexCase, listShareChanges, type IndexCase, listWeekdays } from './index-case.js';

const DAYS = listWeekdays(12);
const repeatPrice = (price: number): number[] => DAYS.map(() => price);
const TOP_2 = [{ id: 'top', type: 'TopN', params: { field: 'MARKET_CAP', count: 2 } }];
const createScheduleAt = (row: number, members: object = {}) => ({
  frequency: 'custom',
  dates: [DAYS[row]],
  ...members,
});

/**
 * Runs an index of A to D with market values 400, 300, 200 and 100. The named security is acquired at 100 on a session.
 */
function runAcquisition(name: string, row: number, members: Partial<IndexCase> = {}) {
  const close: Record<string, (number | null)[]> = {
    A: repeatPrice(100),
    B: repeatPrice(100),
    C: repeatPrice(100),
    D: repeatPrice(100),
  };
  close[name] = repeatPrice(100).map((price, t) => (t > row ? null : price));
  return runIndexCase({
    close,
    fields: { SHARES_OUTSTANDING: { A: repeatPrice(4), B: repeatPrice(3), C: repeatPrice(2), D: repeatPrice(1) } },
    selection: TOP_2,
    actions: [{ name, type: 'ACQUISITION', value: 100, ex: DAYS[row]! }],
    events: { replacement: 'next_ranked' },
    ...members,
  });
}

function readHeldAt({ index: { book } }: ReturnType<typeof runAcquisition>, row: number): Record<string, number> {
  const H = book.columns.length;
  const weights = [...book.columns].map((column, k): [string, number] => [
    book.sm.identifiers[column]!,
    Math.round(book.weights[row * H + k]! * 1e9) / 1e9,
  ]);
  return Object.fromEntries(weights.filter(([, weight]) => weight !== 0));
}

test('a constituent that leaves during a phase is replaced at its last close, and the phase continues', () => {
  const run = runAcquisition('A', 5, { rebalance: createScheduleAt(4, { phase: { sessions: 4 } }) });
  expect(readHeldAt(run, 5)).toEqual({ B: 1 });
  expect(readHeldAt(run, 7)).toEqual({ B: 0.5, C: 0.5 });
  expect(run.rebalances.at(-1)!.phase!.fraction).toBe(1);
});

/** Dates of a review of constituents: selected on row 2, and spread over the closes of rows 7 and 8. */
const PHASE_AFTER_NOTICE = createScheduleAt(7, {
  reference: { rule: 'sessions_before', sessions: 5 },
  phase: { fractions: [0.25, 0.75] },
});

test('a phase starts from the shares before its first close, which include a replacement since the reference date', () => {
  const run = runAcquisition('A', 5, { rebalance: PHASE_AFTER_NOTICE });
  // The review selected A and B. A leaves on row 5, and C takes its half; the target is then only B.
  expect(readHeldAt(run, 4)).toEqual({ A: 0.5, B: 0.5 });
  expect(readHeldAt(run, 6)).toEqual({ B: 0.5, C: 0.5 });
  // 0.75 of the previous shares and 0.25 of the target: B has 0.75 * 0.5 + 0.25 * 1.
  expect(readHeldAt(run, 7)).toEqual({ B: 0.625, C: 0.375 });
});

test('a phase starts from the shares before its first close, which a breach since the reference date changed', () => {
  const run = runIndexCase({
    close: { A: DAYS.map((_, t) => (t < 4 ? 100 : 200)), B: repeatPrice(100) },
    treatment: { on_breach: 'rebalance', breach_limits: { single: { above: 0.6 } } },
    rebalance: PHASE_AFTER_NOTICE,
  });
  // A doubles to 2/3 on row 4, which triggers equal weights. The review set equal values at the prices of row 2, so its
  // target shares are worth 2/3 and 1/3 on row 7: A has 0.75 * 1/2 + 0.25 * 2/3 = 13/24.
  expect(run.rebalances.map(({ cause, session }) => [session - run.index.book.from, cause])).toEqual([
    [0, undefined],
    [4, 'breach'],
    [7, undefined],
    [8, undefined],
  ]);
  expect(readHeldAt(run, 7)).toEqual({ A: 0.541666667, B: 0.458333333 });
  expect(readHeldAt(run, 8)).toEqual({ A: 0.666666667, B: 0.333333333 });
});

test('a constituent that leaves on the session of a review of weights is replaced before the others are weighed', () => {
  const run = runAcquisition('A', 6, { reviews: [{ id: 'weights', scope: 'weights', schedule: createScheduleAt(6) }] });
  expect(readHeldAt(run, 6)).toEqual({ B: 0.5, C: 0.5 });
  expect(run.rebalances.at(-1)!.reviews).toEqual(['weights']);
});

test('share counts of a phase are those of its securities: without a change nothing scales', () => {
  const run = runAcquisition('D', 11, {
    weighting: { type: 'MarketCapWeight' },
    events: { share_changes: 'effective' },
    rebalance: createScheduleAt(4, { phase: { sessions: 3 } }),
    selection: [{ id: 'top', type: 'TopN', params: { field: 'RANK', count: 2 } }],
    fields: {
      SHARES_OUTSTANDING: { A: repeatPrice(4), B: repeatPrice(3), C: repeatPrice(2), D: repeatPrice(1) },
      RANK: { A: DAYS.map((_, t) => (t < 3 ? 9 : 1)), B: repeatPrice(5), C: repeatPrice(4), D: repeatPrice(2) },
    },
  });
  expect(listShareChanges(run)).toEqual([]);
  run.index.book.divisor.forEach((divisor) => expectNear(divisor, 1));
});

test('one share of each is held whatever the pricing date', () => {
  const close = { A: DAYS.map((_, t) => (t < 4 ? 300 : 100)), B: repeatPrice(100) };
  const dates = {
    reference: { rule: 'sessions_before', sessions: 4 },
    pricing_date: { rule: 'sessions_before', sessions: 1 },
  };
  const run = runIndexCase({ close, weighting: { type: 'PriceWeight' }, rebalance: createScheduleAt(7, dates) });
  expectNear(readHeldAt(run, 7)['A']!, 0.5);
  expectNear(run.index.book.divisor[8]!, run.index.book.divisor[6]!);
});

test('an immediate amendment has the dates of its rebalance, and its events apply afterwards', () => {
  const dates = { reference: { rule: 'sessions_before', sessions: 3 } };
  const changes = { rebalance: dates, events: { replacement: 'next_ranked' } };
  const run = runAcquisition('A', 8, {
    events: {},
    document: { amendments: [{ effective_from: DAYS[5], rebalance: true, changes }] },
  });
  const [, amended] = run.rebalances;
  expect([amended!.session, amended!.decision].map((session) => session - run.index.book.from)).toEqual([5, 2]);
  expect(readHeldAt(run, 8)).toEqual({ B: 0.5, C: 0.5 });
  const earlyRun = runAcquisition('A', 3, {
    events: {},
    document: { amendments: [{ effective_from: DAYS[5], changes: { events: { replacement: 'next_ranked' } } }] },
  });
  expect(readHeldAt(earlyRun, 4)).toEqual({ B: 1 });
});

test('a phase that began before an amendment ends by the text that it began with', () => {
  const run = runIndexCase({
    close: { A: repeatPrice(100), B: repeatPrice(100), C: repeatPrice(100) },
    fields: {
      RANK: { A: repeatPrice(3), B: DAYS.map((_, t) => (t < 3 ? 2 : 1)), C: DAYS.map((_, t) => (t < 3 ? 1 : 2)) },
    },
    selection: [{ id: 'top', type: 'TopN', params: { field: 'RANK', count: 2 } }],
    rebalance: createScheduleAt(4, { phase: { sessions: 4 } }),
    document: { amendments: [{ effective_from: DAYS[6], changes: { rebalance: { phase: null, dates: [DAYS[10]] } } }] },
  });
  expect(run.rebalances.map(({ session }) => session - run.index.book.from)).toEqual([0, 4, 5, 6, 7, 10]);
  expect(readHeldAt(run, 7)).toEqual({ A: 0.5, C: 0.5 });
});

test('an amendment to a price weighting holds one share of each constituent from its first review on, and back', () => {
  const hundreds = (...prices: readonly (readonly [number, number])[]): number[] =>
    DAYS.map((_, t) => prices.findLast(([from]) => from <= t)![1]);
  const run = runIndexCase({
    close: { A: hundreds([0, 100], [7, 200]), B: hundreds([0, 300], [10, 600]) },
    weighting: { type: 'EqualWeight' },
    rebalance: { frequency: 'none' },
    document: {
      amendments: [
        { effective_from: DAYS[5], rebalance: true, changes: { pipeline: { weighting: { type: 'PriceWeight' } } } },
        { effective_from: DAYS[8], rebalance: true, changes: { pipeline: { weighting: { type: 'EqualWeight' } } } },
      ],
    },
  });
  const { value, divisor } = run.index.book;
  // One share of each costs 400 at the level 100. With A at 200 they are worth 500.
  expect([divisor[4], divisor[5], value[6], value[7]]).toEqual([1, 4, 100, 125]);
  // Then half of 125 in each: 62.5 grows to 125 when B doubles.
  expect(divisor[8]).toBe(4);
  expect(value[10]).toBeCloseTo(187.5, 10);
});
