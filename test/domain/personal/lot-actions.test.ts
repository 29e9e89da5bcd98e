import { describe, expect, test } from 'vitest';
import type { CorporateAction } from '#domain/market/market-data.js';
import { applyToLots, type HeldLot, orderActions } from '#domain/personal/account-backtest.js';
import { parseValidDay } from '#domain/base/time.js';

const ACQUIRED = parseValidDay('2010-05-03');
const createLot = (identifier: string, shares: number, cost: number): HeldLot => ({
  identifier,
  shares,
  cost,
  acquired: ACQUIRED,
});
const createAction = (
  type: CorporateAction['type'],
  identifier: string,
  more: Partial<CorporateAction>,
): CorporateAction => ({
  identifier,
  type,
  value: 0,
  exDay: parseValidDay('2013-01-02'),
  payDay: null,
  status: null,
  announcedDay: null,
  related: null,
  subscriptionPrice: null,
  ...more,
});
const applyAction = (
  lots: readonly HeldLot[],
  action: CorporateAction,
  prices: Record<string, number> = {},
  adjustment: 'none' | 'splits' = 'none',
) => applyToLots(lots, action, { adjustment, priceOf: (name) => prices[name] ?? Number.NaN });

describe('lots through corporate actions', () => {
  test('a split of 7 for 1 (Apple, June 2014) spreads the basis over the new shares', () => {
    const { lots, cash } = applyAction([createLot('AAPL', 100, 450)], createAction('SPLIT', 'AAPL', { value: 7 }));
    expect(lots).toEqual([{ identifier: 'AAPL', shares: 700, cost: 450 / 7, acquired: ACQUIRED }]);
    expect(cash).toBe(0);
    expect(
      applyAction([createLot('AAPL', 100, 450)], createAction('SPLIT', 'AAPL', { value: 7 }), {}, 'splits').lots[0]!
        .shares,
    ).toBe(100);
  });

  test('a cash dividend is income and leaves the basis', () => {
    const { lots, dividends, gains } = applyAction(
      [createLot('KO', 200, 40)],
      createAction('DIVIDEND', 'KO', { value: 0.28 }),
    );
    expect(dividends).toBeCloseTo(56, 12);
    expect([lots[0]!.cost, gains]).toEqual([40, []]);
  });

  test('a stock dividend of 5 % spreads the basis', () => {
    const { lots } = applyAction([createLot('T', 100, 21)], createAction('STOCK_DIVIDEND', 'T', { value: 1.05 }));
    expect(lots[0]!.shares).toBeCloseTo(105, 12);
    expect(lots[0]!.cost).toBeCloseTo(20, 12);
  });

  test('a spin-off allocates the basis by the values of both (Abbott and AbbVie, January 2013)', () => {
    // The closes of 2 January 2013 are 32.05 and 35.12. There is one new share per share, so they divide the cost basis
    // into 47.72 % and 52.28 %.
    const { lots, gains } = applyAction(
      [createLot('ABT', 100, 50)],
      createAction('SPIN_OFF', 'ABT', { value: 1, related: 'ABBV' }),
      {
        ABT: 32.05,
        ABBV: 35.12,
      },
    );
    expect(lots.map(({ identifier, shares, acquired }) => [identifier, shares, acquired])).toEqual([
      ['ABT', 100, ACQUIRED],
      ['ABBV', 100, ACQUIRED],
    ]);
    expect(lots[0]!.cost).toBeCloseTo(50 * 0.4771475, 5);
    expect(lots[1]!.cost).toBeCloseTo(50 * 0.5228525, 5);
    expect(gains).toEqual([]);
  });

  test('a spin-off of a third of a share keeps the basis of the whole', () => {
    const { lots } = applyAction(
      [createLot('A', 90, 60)],
      createAction('SPIN_OFF', 'A', { value: 1 / 3, related: 'B' }),
      {
        A: 40,
        B: 60,
      },
    );
    // For each share held, the values are 40 and 20. So the cost of 60 is divided two to one. The new lot has a third
    // as many shares.
    expect(lots[0]!.cost).toBeCloseTo(40, 12);
    expect([lots[1]!.shares, lots[1]!.cost]).toEqual([expect.closeTo(30, 12), expect.closeTo(60, 12)]);
  });

  test('a merger for shares carries the basis over', () => {
    const { lots, cash, gains } = applyAction(
      [createLot('XTO', 1000, 30)],
      createAction('MERGER', 'XTO', { value: 0.7098, related: 'XOM' }),
      { XOM: 60 },
    );
    expect(lots[0]!.shares).toBeCloseTo(709.8, 9);
    expect(lots[0]!.shares * lots[0]!.cost).toBeCloseTo(30_000, 9);
    expect([lots[0]!.identifier, lots[0]!.acquired, cash, gains]).toEqual(['XOM', ACQUIRED, 0, []]);
  });

  test('a merger for shares and cash realises gains up to the cash, and no loss', () => {
    // Merger of Wyeth into Pfizer in 2009: 33.00 in cash and 0.985 shares.
    const terms = createAction('MERGER', 'WYE', { value: 0.985, cash: 33, related: 'PFE' });
    const prices = { PFE: 17.66 };
    const receivedValue = 0.985 * 17.66 + 33; // 50.3951
    const smallResult = applyAction([createLot('WYE', 100, 45)], terms, prices);
    expect(smallResult.cash).toBe(3300);
    expect(smallResult.gains).toEqual([
      { amount: expect.closeTo(100 * (receivedValue - 45), 9), acquired: ACQUIRED, cost: 45, cash: 3300, sold: 0 },
    ]);
    expect(smallResult.lots[0]!.cost * 0.985).toBeCloseTo(45 - 33 + (receivedValue - 45), 9); // equals the value of the received shares
    const large = applyAction([createLot('WYE', 100, 10)], terms, prices);
    expect(large.gains[0]!.amount).toBeCloseTo(3300, 9);
    expect(large.lots[0]!.cost * 0.985).toBeCloseTo(10, 9);
    const loss = applyAction([createLot('WYE', 100, 60)], terms, prices);
    expect(loss.gains).toEqual([]);
    expect(loss.lots[0]!.cost * 0.985).toBeCloseTo(27, 9);
  });

  test('an acquisition for cash sells every lot', () => {
    const { lots, cash, gains } = applyAction(
      [createLot('A', 10, 4), createLot('B', 1, 1)],
      createAction('ACQUISITION', 'A', { value: 9 }),
    );
    expect(lots).toEqual([createLot('B', 1, 1)]);
    expect([cash, gains]).toEqual([90, [{ amount: 50, acquired: ACQUIRED, cost: 4, cash: 90, sold: 10 }]]);
  });

  test('a worthless delisting is a loss of the basis', () => {
    expect(applyAction([createLot('A', 10, 4)], createAction('DELISTING', 'A', { value: 0 })).gains[0]!.amount).toBe(
      -40,
    );
  });

  test('a return of capital reduces the basis, and is a gain below zero', () => {
    const { lots, cash, gains } = applyAction(
      [createLot('A', 10, 4), createLot('A', 10, 1)],
      createAction('RETURN_OF_CAPITAL', 'A', { value: 3 }),
    );
    expect(lots.map(({ cost }) => cost)).toEqual([1, 0]);
    expect([cash, gains]).toEqual([60, [{ amount: 20, acquired: ACQUIRED, cost: 1, cash: 30, sold: 0 }]]);
  });

  test('a change of the ticker renames the lot', () => {
    expect(applyAction([createLot('FB', 3, 2)], createAction('TICKER_CHANGE', 'FB', { related: 'META' })).lots).toEqual(
      [createLot('META', 3, 2)],
    );
  });

  test.each([
    [
      ['ACQUISITION', 'DIVIDEND', 'SPIN_OFF', 'SPLIT'],
      ['SPLIT', 'DIVIDEND', 'SPIN_OFF', 'ACQUISITION'],
    ],
    [
      ['ACQUISITION', 'DELISTING', 'MERGER'],
      ['MERGER', 'ACQUISITION', 'DELISTING'],
    ],
    [
      ['MERGER', 'SPECIAL_DIVIDEND', 'STOCK_DIVIDEND'],
      ['STOCK_DIVIDEND', 'SPECIAL_DIVIDEND', 'MERGER'],
    ],
  ] as const)('the actions %j of an ex-date apply in the order %j', (stored, applied) => {
    const dated = stored.map((type) => ({
      action: createAction(type, 'A', { value: 2, related: type === 'MERGER' ? 'B' : null }),
    }));
    expect(orderActions(dated, () => 10).map(({ action }) => action.type)).toEqual(applied);
  });

  test('an acquirer ends after the security that merges into it, and an earlier ex-date is first', () => {
    const [ended, merged, early] = [
      createAction('ACQUISITION', 'B', { value: 10 }),
      createAction('MERGER', 'C', { value: 1, related: 'B' }),
      createAction('DIVIDEND', 'D', { value: 1, exDay: parseValidDay('2013-01-01') }),
    ];
    const dated = [ended, merged, { ...merged, identifier: 'A', related: 'C' }, early].map((action) => ({ action }));
    const ordered = orderActions(dated, () => 10);
    expect(ordered.map(({ action }) => action.identifier)).toEqual(['D', 'A', 'C', 'B']);
  });
});
