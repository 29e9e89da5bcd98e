import { describe, expect, test } from 'vitest';
import { auditMarket } from '#market/judge/audit.js';
import { findActionWarnings } from '#market/judge/content-warnings.js';
import { warnOfMarket } from '#market/judge/market-warnings.js';
import { createProblems } from '#market/tables/problems.js';
import { buildMarket, type MarketSketch } from '../../domain/backtest/market-builder.js';

const DATES = ['2023-04-10', '2023-04-11', '2023-04-12', '2023-04-13'];
type Action = NonNullable<MarketSketch['actions']>[number];

function listWarnings(
  close: MarketSketch['close'],
  actions: readonly Action[],
  adjustment: 'none' | 'splits' | 'total' = 'none',
) {
  const market = buildMarket({ dates: DATES, close, actions, adjustment });
  const problems = createProblems();
  warnOfMarket(market, adjustment, problems);
  const jumps = problems.findings().filter(({ code }) => code === 'PRICE_JUMP');
  const sizes = findActionWarnings(market, adjustment).map(({ code, message }) => `${code} ${message}`);
  return { jumps: jumps.map(({ path, message }) => `${path} ${message}`), sizes };
}

const createAction = (type: Action['type'], value: number, rest: Partial<Action> = {}): Action => ({
  name: 'A',
  type,
  value,
  ex: '2023-04-12',
  ...rest,
});

describe('a jump on the ex-date of an action', () => {
  test.each([
    ['a split of 2 for 1', [84, 84, 42, 42], [createAction('SPLIT', 2)]],
    ['a consolidation of 1 for 10', [1, 1, 10.5, 10], [createAction('SPLIT', 0.1)]],
    ['a dividend of most of the price', [100, 100, 21, 21], [createAction('SPECIAL_DIVIDEND', 80)]],
    [
      'a split and a dividend per new share',
      [100, 100, 19, 19],
      [createAction('SPLIT', 4), createAction('DIVIDEND', 6)],
    ],
    // A holder of one share pays 4 x 10 and has five shares of 28: 140 - 40 = 100.
    ['a rights issue', [100, 100, 28, 28], [createAction('RIGHTS_ISSUE', 4, { subscription: 10 })]],
    ['rights without a price', [100, 100, 28, 28], [createAction('RIGHTS_ISSUE', 4)]],
    ['a delisting without a payment', [100, 100, 1, null], [createAction('DELISTING', 0)]],
    ['an acquisition at twice the price', [40, 40, 80, null], [createAction('ACQUISITION', 80)]],
    ['a spin-off of a security without a price', [100, 100, 30, 30], [createAction('SPIN_OFF', 1, { related: 'C' })]],
  ] as const)('is no warning if the action explains it: %s', (_, close, actions) => {
    expect(listWarnings({ A: close, B: [9, 9, 9, 9] }, actions).jumps).toEqual([]);
  });

  test('is no warning if the price of the spun-off or acquiring security explains it', () => {
    const child = { A: [100, 100, 30, 30], C: [null, null, 35, 35] };
    expect(listWarnings(child, [createAction('SPIN_OFF', 2, { related: 'C' })]).jumps).toEqual([]);
    expect(listWarnings(child, [createAction('SPIN_OFF', 0.2, { related: 'C' })]).jumps).toHaveLength(1);
    const acquirer = { A: [40, 40, 70, null], C: [34, 34, 35, 35] };
    expect(listWarnings(acquirer, [createAction('MERGER', 2, { related: 'C' })]).jumps).toEqual([]);
    expect(listWarnings(acquirer, [createAction('MERGER', 0.2, { related: 'C' })]).jumps).toHaveLength(1);
  });

  test('remains a warning with an inverted ratio, with the ratio that explains it', () => {
    // A ratio of 0.5 turns 83.6 into 167.2.
    expect(listWarnings({ A: [84.2, 83.6, 42.1, 42.3] }, [createAction('SPLIT', 0.5)]).jumps).toEqual([
      'market[A 2023-04-12].CLOSE CLOSE went from 83.60 on 2023-04-11 to 42.10 on 2023-04-12 with SPLIT of 0.5 on 2023-04-12, which implies 167.20. A ratio of 2 explains the move.',
    ]);
  });

  test.each([
    ['a dividend of a cent', [100, 100, 30, 30], createAction('DIVIDEND', 0.01)],
    ['half the ratio', [100, 100, 24.9, 25], createAction('SPLIT', 2)],
    [
      'an inverted split of 3 for 2, although the close itself fell by a third only',
      [90, 90, 60, 60],
      createAction('SPLIT', 2 / 3),
    ],
    ['a delisting at another price', [40, 40, 90, null], createAction('DELISTING', 10)],
  ] as const)('remains a warning with %s', (_, close, action) => {
    const { jumps } = listWarnings({ A: close, B: [9, 9, 9, 9] }, [action]);
    expect(jumps).toEqual([
      expect.stringContaining(`market[A 2023-04-12].CLOSE CLOSE went from ${close[1].toFixed(2)}`),
    ]);
  });

  test('is judged on the price basis of the store', () => {
    const split = [createAction('SPLIT', 2)];
    // Prices that are divided by later splits do not fall on the ex-date.
    expect(listWarnings({ A: [84, 84, 41, 42] }, split, 'splits').jumps).toHaveLength(1);
    expect(listWarnings({ A: [84, 84, 85, 86] }, split, 'splits').jumps).toEqual([]);
    expect(listWarnings({ A: [100, 100, 30, 30] }, [createAction('DIVIDEND', 70)], 'total').jumps).toHaveLength(1);
  });

  test('is no jump but a wrong size of the action if the close does not move', () => {
    for (const action of [createAction('SPLIT', 2), createAction('SPLIT', 0.5), createAction('DIVIDEND', 60)]) {
      const { jumps, sizes } = listWarnings({ A: [100, 100, 101, 101] }, [action]);
      expect(jumps).toEqual([]);
      expect(sizes).toEqual([
        expect.stringMatching(/^ACTION_SIZE .*does not reflect it: 100 on 2023-04-11, 101 on 2023-04-12/),
      ]);
    }
  });
});

describe('a change of ticker', () => {
  const change = createAction('TICKER_CHANGE', 0, { related: 'C' });
  const jumpTo27 =
    'market[C 2023-04-12].CLOSE CLOSE went from 91.00 on 2023-04-11 to 27.00 of C on 2023-04-12 with TICKER_CHANGE to C on 2023-04-12, which does not explain it.';

  test.each([
    ['at the first bar of the new code', { A: [90, 91, null, null], C: [null, null, 27, 27] }],
    ['to a code that has earlier bars', { A: [90, 91, null, null], C: [26, 26, 27, 27] }],
    ['also if another company takes over the old code', { A: [90, 91, 88, 87], C: [null, null, 27, 27] }],
  ])('explains no jump %s', (_, close) => {
    expect(listWarnings(close, [change]).jumps).toEqual([jumpTo27]);
    const doubts = auditMarket(buildMarket({ dates: DATES, close, actions: [change] }), 'none', () => {}).doubts;
    expect(doubts.filter(({ identifier }) => identifier === 'C')).toMatchObject([
      { kind: 'unexplained_jump', date: '2023-04-12', evidence: { before: 91, close: 27 }, repair: null },
    ]);
  });

  test('is compared with the last bar of the old code if the new code begins later', () => {
    const late = { A: [90, 91, 92, null], C: [null, null, null, 27] };
    expect(listWarnings(late, [change]).jumps).toEqual([
      expect.stringContaining('market[C 2023-04-13].CLOSE CLOSE went from 92.00 on 2023-04-12 to 27.00 of C on'),
    ]);
  });

  test('is no jump if the prices are close, if a split explains the move, or if bars belong to another company', () => {
    const close = { A: [90, 91, null, null], C: [null, null, 30, 31] };
    expect(listWarnings(close, [change, createAction('SPLIT', 3)]).jumps).toEqual([]);
    expect(listWarnings({ A: [62, 63, 9, 9], C: [null, null, 64, 65] }, [change]).jumps).toEqual([]);
    expect(
      listWarnings({ A: [62, 63, null, null], C: [null, null, 9, 9] }, [{ ...change, cancelled: true }]).jumps,
    ).toEqual([]);
  });

  test('in a chain of changes is compared at each change', () => {
    const actions = [change, { ...change, name: 'C', related: 'D', ex: '2023-04-13' }];
    const close = { A: [90, 91, null, null], C: [null, null, 92, null], D: [null, null, null, 27] };
    expect(listWarnings(close, actions).jumps).toEqual([
      expect.stringContaining('market[D 2023-04-13].CLOSE CLOSE went from 92.00 on 2023-04-12 to 27.00 of D'),
    ]);
  });

  test('shows a split of the day that the close does not reflect', () => {
    const close = { A: [90, 91, null, null], C: [null, null, 92, 93] };
    expect(listWarnings(close, [change, createAction('SPLIT', 2)])).toEqual({
      jumps: [],
      sizes: [
        expect.stringMatching(/^ACTION_SIZE .*SPLIT of A.*does not reflect it: 91 on 2023-04-11, 92 on 2023-04-12/),
      ],
    });
  });
});

describe('the other security of an action', () => {
  const merge = createAction('MERGER', 2, { related: 'C' });

  test('has a price if its first bar is on the ex-date', () => {
    expect(listWarnings({ A: [104, 105, null, null], C: [null, null, 53, 54] }, [merge]).sizes).toEqual([]);
  });

  test('has no price if its first bar is later, so that the last close is paid', () => {
    expect(listWarnings({ A: [104, 105, null, null], C: [null, null, null, 53] }, [merge]).sizes).toEqual([
      'ACTION_WITHOUT_PRICE The MERGER of A on 2023-04-12 pays 2 shares per share of C, which has no bar before 2023-04-13. The last close is paid instead.',
    ]);
  });

  test('has no price if it ended before, so that the last close is paid', () => {
    const end = createAction('DELISTING', 53, { name: 'C', ex: '2023-04-11' });
    expect(listWarnings({ A: [104, 105, null, null], C: [53, null, null, null] }, [end, merge]).sizes).toEqual([
      'ACTION_WITHOUT_PRICE The MERGER of A on 2023-04-12 pays 2 shares per share of C, which ended on 2023-04-11. The last close is paid instead.',
    ]);
  });

  test('has a value only from its first bar on if it is spun off', () => {
    const spinOff = createAction('SPIN_OFF', 0.5, { related: 'C' });
    const close = { A: [12, 12, 8, 8], C: [null, null, null, 8] };
    expect(listWarnings(close, [spinOff]).sizes).toEqual([
      'ACTION_WITHOUT_PRICE The SPIN_OFF of A on 2023-04-12 pays 0.5 shares per share of C, which has no bar before 2023-04-13. The shares have no value until then, and none at all if more sessions pass than max_stale_sessions allows.',
    ]);
    expect(listWarnings({ ...close, C: [null, null, 8, 8] }, [spinOff]).sizes).toEqual([]);
    expect(listWarnings({ ...close, C: [8, 8, null, 8] }, [spinOff]).sizes).toEqual([]);
  });

  test('may have no price if the store has no bar at all on the days before its first bar', () => {
    const listLate = (ex: string, first: string) =>
      findActionWarnings(
        buildMarket({
          dates: ['2023-04-10', '2023-04-11', first],
          close: { A: [104, 105, null], C: [null, null, 53] },
          actions: [{ ...merge, ex }],
        }),
        'none',
      ).map(({ message }) => message);
    expect(listLate('2023-04-12', '2023-04-14')).toEqual([
      'The MERGER of A on 2023-04-12 pays 2 shares per share of C, which has no bar before 2023-04-14. If there is a session before that day: the last close is paid instead.',
    ]);
    // 15 and 16 April 2023 were a weekend.
    expect(listLate('2023-04-15', '2023-04-17')).toEqual([]);
  });

  test('is compared with the last close also at its first bar', () => {
    expect(listWarnings({ A: [104, 105, null, null], C: [null, null, 5, 5] }, [merge]).sizes).toEqual([
      expect.stringContaining('worth 10 at the close of 2023-04-12, which is far from the previous close of A, 105'),
    ]);
  });

  test('takes over after a change of ticker, and later bars of the old code are reported', () => {
    const change = createAction('TICKER_CHANGE', 0, { related: 'C' });
    expect(listWarnings({ A: [62, 63, null, null], C: [null, null, 64, 65] }, [change]).sizes).toEqual([]);
    expect(listWarnings({ A: [62, 63, 9, 9], C: [null, null, null, 65] }, [change]).sizes).toEqual([
      'ACTION_DATES The TICKER_CHANGE of A on 2023-04-12 changes the code to C, but the store has a bar of A on 2023-04-12. Indices hold C from 2023-04-13 on; later bars of A count as another security.',
    ]);
    expect(listWarnings({ A: [62, 63, 64, 65], C: [20, 20, null, null] }, [change]).sizes).toEqual([
      expect.stringContaining('to C, which has no bar from that day on. The change is not applied.'),
    ]);
  });
});
