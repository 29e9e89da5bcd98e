import { describe, expect, test } from 'vitest';
import { fc } from '../../fast-check.js';
import type { Run } from '#domain/backtest/run.js';
import { expectNear, runIndexCase, listWeekdays, type IndexCase } from './index-case.js';

const DAYS = listWeekdays(30);
const repeatPrice = (value: number): number[] => DAYS.map(() => value);
const listDriftingPrices = (start: number, rate: number): number[] => DAYS.map((_, t) => start * (1 + rate) ** t);

/** Returns the composition weights of a day, by security. */
function readWeightsOn({ rebalances, index: { book } }: Run, day: string): Record<string, number> {
  const composition = rebalances.find(({ session }) =>
    new Date(book.sm.sessions[session]! * 86_400_000).toISOString().startsWith(day),
  )!;
  return Object.fromEntries(
    [...composition.columns].map((column, k) => [book.sm.identifiers[column]!, composition.weights[k]!]),
  );
}

/**
 * Computes the price return by hand. Index shares follow from the weights of each composition and stay the same until
 * the next composition.
 */
function replayReturn(run: Run, close: Readonly<Record<string, readonly number[]>>): number[] {
  const { book } = run.index;
  const levels = [100];
  let shares: Record<string, number> = {};
  for (let t = 0; t < DAYS.length; t++) {
    if (t > 0) levels.push(Object.entries(shares).reduce((sum, [name, q]) => sum + q * close[name]![t]!, 0));
    const takenRebalance = run.rebalances.find(({ session }) => session - book.from === t);
    if (takenRebalance === undefined) continue;
    shares = Object.fromEntries(
      [...takenRebalance.columns].map((column, k) => {
        const name = book.sm.identifiers[column]!;
        return [name, (takenRebalance.weights[k]! * levels[t]!) / close[name]![t]!];
      }),
    );
  }
  return levels;
}

function expectReplayed(run: Run, close: Readonly<Record<string, readonly number[]>>): void {
  replayReturn(run, close).forEach((level, t) => expectNear(run.index.book.value[t]!, level, 1e-12));
}

describe('dates of a rebalance', () => {
  // As in S&P 500 Equal Weight, the review is effective after the third Friday, 15 March. It is priced on the second
  // Friday, 8 March. The members are known on the 5th.
  const close = { A: DAYS.map((_, t) => (t >= 6 ? 200 : 100)), B: repeatPrice(100) };
  const rebalance = {
    frequency: 'monthly',
    months: [3],
    anchor: 'third_friday',
    reference: { rule: 'sessions_before', sessions: 8 },
    announcement: { rule: 'weekday_before', weekday: 2, weeks: 1 },
    pricing_date: { rule: 'nth_weekday', nth: 2, weekday: 4 },
  };

  test('prices of the pricing date convert weights to shares: A doubles after it, and weighs 2/3 when it takes effect', () => {
    const run = runIndexCase({ close, rebalance });
    const composition = run.rebalances[1]!;
    const { sessions } = run.index.book.sm;
    const formatSession = (session: number) => new Date(sessions[session]! * 86_400_000).toISOString().slice(0, 10);
    expect([composition.session, composition.decision, composition.pricing!].map(formatSession)).toEqual([
      '2024-03-15',
      '2024-03-05',
      '2024-03-08',
    ]);
    expect(composition.announced).toBe(Date.parse('2024-03-06') / 86_400_000);
    expectNear(readWeightsOn(run, '2024-03-15')['A']!, 2 / 3);
    expect([...composition.targets!.weights]).toEqual([0.5, 0.5]);
  });

  test('a reference date without data: the announcement decides, or the effective date with a finding', () => {
    // A triples after the seventh session, 12 March, on which the review is announced. The store begins on 4 March.
    const prices = { A: DAYS.map((_, t) => (t > 6 ? 300 : 100)), B: repeatPrice(100) };
    const dates = { frequency: 'custom', dates: [DAYS[9]], reference: { rule: 'last_session', months_before: 1 } };
    const weighting = { type: 'FieldWeight', params: { field: 'CLOSE' } };
    const listLooks = ({ findings }: Run) => findings.filter(({ code }) => code === 'LOOK_AHEAD');

    const announced = { ...dates, announcement: { rule: 'sessions_before', sessions: 3 } };
    const run = runIndexCase({ close: prices, rebalance: announced, weighting });
    expect(run.rebalances.map(({ session, decision }) => [session, decision])).toEqual([
      [0, 0],
      [9, 6],
    ]);
    expect([...run.rebalances[1]!.targets!.weights]).toEqual([0.5, 0.5]);
    expect(listLooks(run)).toHaveLength(1);
    expect(listLooks(run)[0]!.message).toMatch(
      /is 2024-02-29, before the first session of the store, 2024-03-04.*of 2024-03-12\.$/,
    );

    const unannounced = runIndexCase({ close: prices, rebalance: dates, weighting });
    expect(unannounced.rebalances[1]!.decision).toBe(9);
    expect([...unannounced.rebalances[1]!.weights]).toEqual([0.75, 0.25]);
    expect(listLooks(unannounced)[0]!.message).toMatch(/of 2024-03-15, after its announcement on 2024-02-29\.$/);
  });

  test('a pricing date on the effective date makes the weights hold there', () => {
    const run = runIndexCase({
      close,
      rebalance: { ...rebalance, pricing_date: { rule: 'sessions_before', sessions: 0 } },
    });
    expect(readWeightsOn(run, '2024-03-15')).toEqual({ A: 0.5, B: 0.5 });
  });

  test('a security that leaves between reference and pricing date is dropped, its weight is distributed', () => {
    const C = DAYS.map((_, t) => (t > 3 ? null : 50));
    const run = runIndexCase({
      close: { A: repeatPrice(100), B: listDriftingPrices(100, 0.01), C },
      actions: [{ name: 'C', type: 'DELISTING', value: 50, ex: DAYS[3]! }],
      rebalance,
    });
    expect(run.rebalances[1]!.targets!.columns.length).toBe(3);
    const b = 1.01 ** 5; // Growth over five sessions from the pricing date.
    expectNear(readWeightsOn(run, '2024-03-15')['B']!, b / (1 + b));
  });
});

describe('a rebalance that is spread over closes', () => {
  test('TOPIX-like: ten steps move equal numbers of shares, and the level is that of a replay by hand', () => {
    const close = { A: listDriftingPrices(50, 0.013), B: listDriftingPrices(80, -0.007) };
    const counts = { A: DAYS.map((_, t) => (t >= 4 ? 200 : 100)), B: repeatPrice(100) };
    const run = runIndexCase({
      close,
      fields: { SHARES_OUTSTANDING: counts },
      weighting: { type: 'MarketCapWeight' },
      rebalance: { frequency: 'custom', dates: [DAYS[6]], effective_lag: 1, phase: { sessions: 10 } },
    });
    expect(run.rebalances).toHaveLength(11);
    const first = 6;
    const computeTwoAssetValue = (a: number, b: number, t: number) => a * close.A[t]! + b * close.B[t]!;
    // Both portfolios have equal market values at the first close.
    const scale = computeTwoAssetValue(100, 100, first) / computeTwoAssetValue(200, 100, first);
    for (let k = 1; k <= 10; k++) {
      const t = first + k - 1;
      const a = (1 - k / 10) * 100 + (k / 10) * 200 * scale;
      const b = (1 - k / 10) * 100 + (k / 10) * 100 * scale;
      expectNear(readWeightsOn(run, DAYS[t]!)['A']!, (a * close.A[t]!) / computeTwoAssetValue(a, b, t), 1e-12);
    }
    expectReplayed(run, close);
  });

  test('GSCI-like: a roll over five closes moves a fifth at a time from one contract to the next', () => {
    const close = { NEAR: listDriftingPrices(70, 0.004), NEXT: listDriftingPrices(72, -0.003) };
    const run = runIndexCase({
      close,
      fields: { RANK: { NEAR: DAYS.map((_, t) => (t < 8 ? 2 : 1)), NEXT: DAYS.map((_, t) => (t < 8 ? 1 : 2)) } },
      selection: [{ id: 'top', type: 'TopN', params: { field: 'RANK', count: 1 } }],
      rebalance: { frequency: 'custom', dates: [DAYS[9]], phase: { fractions: [0.2, 0.2, 0.2, 0.2, 0.2] } },
    });
    expect(run.rebalances.map(({ columns }) => columns.length)).toEqual([1, 2, 2, 2, 2, 1]);
    const scale = close.NEAR[9]! / close.NEXT[9]!;
    for (let k = 1; k <= 5; k++) {
      const t = 8 + k;
      const [nearValue, nextValue] = [(1 - k / 5) * close.NEAR[t]!, (k / 5) * scale * close.NEXT[t]!];
      expectNear(readWeightsOn(run, DAYS[t]!)['NEXT']!, nextValue / (nearValue + nextValue), 1e-12);
    }
    expectReplayed(run, close);
  });

  test('with weights that hold at the close, the last close has exactly the weights decided', () => {
    const close = { A: listDriftingPrices(50, 0.03), B: listDriftingPrices(80, -0.02), C: repeatPrice(10) };
    const run = runIndexCase({
      close,
      rebalance: {
        frequency: 'custom',
        dates: [DAYS[6]],
        weights_as: 'weights',
        phase: { fractions: [0.5, 0.25, 0.25] },
      },
    });
    expect([...run.rebalances.at(-1)!.weights]).toEqual([1 / 3, 1 / 3, 1 / 3]);
    expectReplayed(run, close);
  });

  test('index shares of one share each: the divisor moves with each close and the level does not', () => {
    const close = {
      A: listDriftingPrices(400, 0.01),
      B: listDriftingPrices(100, -0.01),
      C: listDriftingPrices(60, 0.02),
    };
    const run = runIndexCase({
      close,
      fields: {
        RANK: { A: repeatPrice(3), B: DAYS.map((_, t) => (t < 5 ? 2 : 1)), C: DAYS.map((_, t) => (t < 5 ? 1 : 2)) },
      },
      selection: [{ id: 'top', type: 'TopN', params: { field: 'RANK', count: 2 } }],
      weighting: { type: 'PriceWeight' },
      rebalance: { frequency: 'custom', dates: [DAYS[7]], phase: { sessions: 2 } },
    });
    // In the phase the index first holds half a share of B and half a share of C. Then it holds one share of C.
    const computeMoney = (t: number) => close.A[t]! + 0.5 * (close.B[t]! + close.C[t]!);
    expectNear(readWeightsOn(run, DAYS[7]!)['A']!, close.A[7]! / computeMoney(7));
    expectReplayed(run, close);
    const { value, divisor } = run.index.book;
    expectNear((divisor[7]! * value[7]!) / computeMoney(7), (divisor[8]! * value[8]!) / (close.A[8]! + close.C[8]!));
  });
});

describe('several reviews', () => {
  // As in Nasdaq-100, securities are selected once and weighted again each week. The largest weight is 45 %.
  const close = {
    A: listDriftingPrices(100, 0.01),
    B: listDriftingPrices(60, -0.01),
    C: listDriftingPrices(50, 0),
    D: listDriftingPrices(20, 0.05),
  };
  const fields = { SHARES_OUTSTANDING: Object.fromEntries(Object.keys(close).map((name) => [name, repeatPrice(1)])) };
  const scheduleDates = (dates: readonly (string | undefined)[]) => ({ frequency: 'custom', dates });
  const nasdaq: IndexCase = {
    close,
    fields,
    selection: [{ id: 'top', type: 'TopN', params: { field: 'MARKET_CAP', count: 3 } }],
    weighting: { type: 'MarketCapWeight', cap: 0.45 },
    rebalance: scheduleDates([DAYS[25]]),
    reviews: [{ id: 'quarterly', scope: 'weights', schedule: scheduleDates([DAYS[15], DAYS[20], DAYS[25]]) }],
  };

  test('Nasdaq-like: weights are reviewed without a new selection, until the membership is', () => {
    const run = runIndexCase(nasdaq);
    expect(run.rebalances.map(({ reviews }) => reviews)).toEqual([
      ['rebalance'],
      ['quarterly'],
      ['quarterly'],
      ['rebalance', 'quarterly'],
    ]);
    // D is larger than B and C from session 21 on, but enters only at the next membership review.
    expect(Object.keys(readWeightsOn(run, DAYS[20]!))).toEqual(['A', 'B', 'C']);
    expect(Object.keys(readWeightsOn(run, DAYS[25]!))).toEqual(['A', 'C', 'D']);
    const total = close.B[20]! + close.C[20]!;
    expectNear(readWeightsOn(run, DAYS[20]!)['A']!, 0.45);
    expectNear(readWeightsOn(run, DAYS[20]!)['B']!, (0.55 * close.B[20]!) / total);
    expectReplayed(run, close);
  });

  test('a review has its own selection and weighting', () => {
    const run = runIndexCase({
      ...nasdaq,
      reviews: [
        {
          id: 'small',
          scope: 'membership',
          schedule: scheduleDates([DAYS[10]]),
          selection: [{ id: 'two', type: 'TopN', params: { field: 'MARKET_CAP', count: 2 } }],
          weighting: { type: 'EqualWeight' },
        },
      ],
    });
    expect(readWeightsOn(run, DAYS[10]!)).toEqual({ A: 0.5, B: 0.5 });
    expect(run.rebalances.at(-1)!.columns.length).toBe(3);
  });

  test('a review that is decided while another is pending starts from the pending composition', () => {
    // D is larger than C from session 19 on, so the membership review of session 20 replaces C by D on session 25. The
    // review of weights is decided on session 22 and takes effect two sessions after D has entered.
    const run = runIndexCase({
      ...nasdaq,
      close: { ...close, C: repeatPrice(40), D: DAYS.map((_, t) => (t < 19 ? 20 : 80)) },
      rebalance: { ...scheduleDates([DAYS[25]]), effective_lag: 5 },
      reviews: [
        {
          id: 'equal',
          scope: 'weights',
          schedule: { ...scheduleDates([DAYS[27]]), effective_lag: 5, weights_as: 'weights' },
          weighting: { type: 'EqualWeight' },
        },
      ],
    });
    expect(run.rebalances.map(({ reviews }) => reviews)).toEqual([['rebalance'], ['rebalance'], ['equal']]);
    const third = 1 / 3;
    expect(Object.keys(readWeightsOn(run, DAYS[25]!))).toEqual(['A', 'B', 'D']);
    expect(readWeightsOn(run, DAYS[27]!)).toEqual({ A: third, B: third, D: third });
  });

  test('a buffer of a review keeps the securities of a pending composition', () => {
    // On session 23 C is larger than D again, but D is a constituent of the composition that takes effect on session 25.
    const params = { field: 'MARKET_CAP', count: 3, enter_rank: 2, exit_rank: 4 };
    const buffered = { id: 'top', type: 'BufferedTopN', params };
    const run = runIndexCase({
      ...nasdaq,
      close: { ...close, C: repeatPrice(40), D: DAYS.map((_, t) => (t < 19 ? 20 : t < 22 ? 80 : 39)) },
      rebalance: { ...scheduleDates([DAYS[25]]), effective_lag: 5 },
      reviews: [
        {
          id: 'next',
          scope: 'membership',
          schedule: { ...scheduleDates([DAYS[27]]), effective_lag: 4 },
          selection: [buffered],
        },
      ],
    });
    expect(Object.keys(readWeightsOn(run, DAYS[27]!))).toEqual(['A', 'B', 'D']);
  });

  /** A review of constituents on session 20, without notice: D is larger than B from session 20 on. */
  const newer = { id: 'newer', scope: 'membership', schedule: scheduleDates([DAYS[20]]) };

  test('a selection that was decided later is not undone by a review that was decided before it', () => {
    const run = runIndexCase({
      ...nasdaq,
      weighting: { type: 'EqualWeight' },
      rebalance: { ...scheduleDates([DAYS[25], DAYS[29]]), effective_lag: 10 },
      reviews: [newer],
    });
    // The rebalance of session 25 was decided on session 15, before D was selected. That of session 29 was decided on
    // session 19, where B is smaller than D and C.
    expect(run.rebalances.map(({ reviews }) => reviews)).toEqual([['rebalance'], ['newer']]);
    expect(Object.keys(readWeightsOn(run, DAYS[20]!))).toEqual(['A', 'C', 'D']);
    const held = run.findings.filter(({ code }) => code === 'REBALANCE_HELD');
    expect(held.map(({ first_date: date }) => date)).toEqual([DAYS[25], DAYS[29]]);
    expect(held[0]!.message).toContain(`by the review newer on ${DAYS[20]}`);
    expect(held[0]!.message).toContain(`the reference date ${DAYS[15]}`);
    expectReplayed(run, close);
  });

  test('a review that was decided before the base date replaces the composition with which the index begins', () => {
    const two = [{ id: 'two', type: 'TopN', params: { field: 'MARKET_CAP', count: 2 } }];
    const run = runIndexCase({
      ...nasdaq,
      weighting: { type: 'EqualWeight' },
      rebalance: { frequency: 'none' },
      reviews: [
        {
          id: 'annual',
          scope: 'membership',
          selection: two,
          schedule: { ...scheduleDates([DAYS[7]]), effective_lag: 4 },
        },
      ],
      document: { base_date: DAYS[5] },
    });
    expect(Object.keys(readWeightsOn(run, DAYS[5]!))).toEqual(['A', 'B', 'C']);
    expect(Object.keys(readWeightsOn(run, DAYS[7]!))).toEqual(['A', 'B']);
  });

  test('a new version of the definition replaces a selection under the earlier one, whichever was decided first', () => {
    const run = runIndexCase({
      ...nasdaq,
      weighting: { type: 'EqualWeight' },
      rebalance: scheduleDates([DAYS[20]]),
      reviews: undefined!,
      document: {
        amendments: [
          {
            effective_from: DAYS[21],
            changes: { rebalance: { frequency: 'custom', dates: [DAYS[25]], effective_lag: 10 } },
          },
        ],
      },
    });
    expect(Object.keys(readWeightsOn(run, DAYS[20]!))).toEqual(['A', 'C', 'D']);
    expect(Object.keys(readWeightsOn(run, DAYS[25]!))).toEqual(['A', 'B', 'C']);
  });

  test('a review of weights keeps constituents that were selected after its reference date', () => {
    const weights = { id: 'equal', scope: 'weights', weighting: { type: 'EqualWeight' } };
    const schedule = { ...scheduleDates([DAYS[25]]), effective_lag: 10, weights_as: 'weights' };
    const run = runIndexCase({
      ...nasdaq,
      rebalance: { frequency: 'none' },
      reviews: [newer, { ...weights, schedule }],
    });
    const third = 1 / 3;
    expect(readWeightsOn(run, DAYS[25]!)).toEqual({ A: third, C: third, D: third });
  });

  test('a constituent without a price up to the reference date of a review of weights keeps its weight', () => {
    // The index holds a third each of A, B and D from session 20 on. On session 15 the market values are 100 and 60.
    const run = runIndexCase({
      ...nasdaq,
      close: {
        A: repeatPrice(100),
        B: repeatPrice(60),
        C: repeatPrice(50),
        D: DAYS.map((_, t) => (t < 18 ? null : 80)),
      },
      weighting: { type: 'EqualWeight' },
      rebalance: { frequency: 'none' },
      reviews: [
        newer,
        {
          id: 'value',
          scope: 'weights',
          schedule: { ...scheduleDates([DAYS[25]]), effective_lag: 10 },
          weighting: { type: 'MarketCapWeight' },
        },
      ],
    });
    const weights = readWeightsOn(run, DAYS[25]!);
    expectNear(weights['A']!, ((2 / 3) * 100) / 160);
    expectNear(weights['B']!, ((2 / 3) * 60) / 160);
    expectNear(weights['D']!, 1 / 3);
    const [finding] = run.findings.filter(({ code }) => code === 'NO_WEIGHT_DATA');
    expect(finding!.message).toContain('D (0.333');
  });

  test('every review that is scheduled on the base date is performed there, in its order', () => {
    const run = runIndexCase({
      ...nasdaq,
      weighting: { type: 'MarketCapWeight' },
      rebalance: { frequency: 'none' },
      reviews: [
        { id: 'equal', scope: 'weights', schedule: scheduleDates([DAYS[0]]), weighting: { type: 'EqualWeight' } },
        { id: 'later', scope: 'weights', schedule: scheduleDates([DAYS[9]]) },
      ],
    });
    expect(run.rebalances.map(({ reviews }) => reviews)).toEqual([['rebalance', 'equal'], ['later']]);
    const third = 1 / 3;
    expect(readWeightsOn(run, DAYS[0]!)).toEqual({ A: third, B: third, C: third });
    const sum = close.A[9]! + close.B[9]! + close.C[9]!;
    expectNear(readWeightsOn(run, DAYS[9]!)['A']!, close.A[9]! / sum);
    expectReplayed(run, close);
  });

  test('a spun-off security is a current constituent of the next review of weights', () => {
    const KID = DAYS.map((_, t) => (t < 12 ? null : 20));
    const run = runIndexCase({
      close: { A: DAYS.map((_, t) => (t < 12 ? 100 : 80)), B: repeatPrice(100), KID },
      universe: ['A', 'B'],
      actions: [{ name: 'A', type: 'SPIN_OFF', value: 1, related: 'KID', ex: DAYS[12]! }],
      reviews: [{ id: 'equal', scope: 'weights', schedule: scheduleDates([DAYS[15]]) }],
    });
    const third = 1 / 3;
    expect(readWeightsOn(run, DAYS[15]!)).toEqual({ A: third, B: third, KID: third });
  });

  test('a review of share counts keeps the factors of caps, and nothing else changes', () => {
    // A has 200 of 400 and is capped at half. After its share count has doubled, it has 300 of 500 or more.
    const counts = {
      A: DAYS.map((_, t) => (t < 10 ? 3 : 4)),
      B: repeatPrice(1),
      C: DAYS.map((_, t) => (t < 10 ? 1 : 2)),
    };
    const prices = { A: repeatPrice(100), B: listDriftingPrices(100, 0.01), C: repeatPrice(100) };
    const run = runIndexCase({
      close: prices,
      fields: { SHARES_OUTSTANDING: counts },
      weighting: { type: 'MarketCapWeight', cap: 0.5 },
      reviews: [{ id: 'counts', scope: 'shares', schedule: { ...scheduleDates([DAYS[14]]), effective_lag: 3 } }],
    });
    // Initial capping factors: 0.5 / 0.6 for A, and 0.25 / 0.2 for B and C.
    const [a, b, c] = [(4 * 100 * 0.5) / 0.6, (1 * 0.25) / 0.2, (2 * 100 * 0.25) / 0.2];
    const computeLimitValue = (t: number) => [a, b * prices.B[t]!, c];
    const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
    expectNear(readWeightsOn(run, DAYS[14]!)['A']!, a / sum(computeLimitValue(14)));
    expectNear(readWeightsOn(run, DAYS[14]!)['B']!, computeLimitValue(14)[1]! / sum(computeLimitValue(14)));
    expect(run.rebalances.at(-1)!).toMatchObject({ reviews: ['counts'], cap: null });
    expectReplayed(run, prices);
  });

  test('a split between two reviews of share counts changes no weight', () => {
    const split = DAYS.map((_, t) => (t < 8 ? 1 : 2));
    const run = runIndexCase({
      close: { A: DAYS.map((_, t) => (t < 8 ? 100 : 50)), B: repeatPrice(100) },
      fields: { SHARES_OUTSTANDING: { A: split, B: repeatPrice(1) } },
      actions: [{ name: 'A', type: 'SPLIT', value: 2, ex: DAYS[8]! }],
      weighting: { type: 'MarketCapWeight' },
      reviews: [{ id: 'counts', scope: 'shares', schedule: scheduleDates([DAYS[12]]) }],
    });
    expect(readWeightsOn(run, DAYS[12]!)).toEqual({ A: 0.5, B: 0.5 });
  });
});

test('no data after the reference date changes members or target weights, on random prices and dates', () => {
  const factor = fc.double({ min: 0.8, max: 1.25, noNaN: true });
  const draws = fc.record({
    steps: fc.array(factor, { minLength: 120, maxLength: 120 }),
    later: fc.array(factor, { minLength: 120, maxLength: 120 }),
    reference: fc.integer({ min: 2, max: 8 }),
    pricing: fc.integer({ min: 0, max: 2 }),
    scope: fc.constantFrom('membership', 'weights', 'shares'),
  });
  const names = ['A', 'B', 'C', 'D'];
  fc.assert(
    fc.property(draws, ({ steps, later, reference, pricing, scope }) => {
      const effectiveRow = 20;
      const runWith = (isChanged: boolean): Run => {
        const close = Object.fromEntries(
          names.map((name, n) => {
            let price = 50 + 10 * n;
            const path = DAYS.map((_, t) => {
              const from = isChanged && t > effectiveRow - reference ? later : steps;
              return (price *= from[30 * n + t]!);
            });
            return [name, path];
          }),
        );
        const counts = names.map((name, n) => [
          name,
          DAYS.map((_, t) => (isChanged && t > effectiveRow - reference ? 99 : 1) * (n + 1 + (t > 9 ? n : 0))),
        ]);
        return runIndexCase({
          close,
          fields: { SHARES_OUTSTANDING: Object.fromEntries(counts) as Record<string, number[]> },
          selection: [{ id: 'top', type: 'TopN', params: { field: 'MARKET_CAP', count: 3 } }],
          weighting: { type: 'MarketCapWeight', cap: 0.5 },
          reviews: [
            {
              id: 'later',
              scope,
              schedule: {
                frequency: 'custom',
                dates: [DAYS[effectiveRow]],
                reference: { rule: 'sessions_before', sessions: reference },
                pricing_date: { rule: 'sessions_before', sessions: pricing },
              },
            },
          ],
        });
      };
      const listDecisions = (run: Run) => {
        const composition = run.rebalances.find(({ reviews }) => reviews?.includes('later') === true)!;
        const { columns, weights } = composition.targets ?? composition;
        return [composition.decision, [...columns], [...weights]];
      };
      const [as, otherwise] = [runWith(false), runWith(true)];
      expect(listDecisions(otherwise)).toEqual(listDecisions(as));
    }),
    { numRuns: 40 },
  );
});
