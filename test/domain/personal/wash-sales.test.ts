import { describe, expect, test } from 'vitest';
import { listSecurityLots } from '#domain/personal/account-lots.js';
import { Account } from '#domain/personal/account-request.js';
import { isLongTerm, findWashStates } from '#domain/personal/wash-sales.js';
import { parseValidDay } from '#domain/time/days.js';
import { AS_OF, createLot, sumShares, createSmallBatch, requireResult } from './small-batch.js';

const asOf = parseValidDay(AS_OF);
const createAccount = (more: object): Account => Account.parse({ account_id: 'X', ...more });
const createPurchase = (date: string, shares = 10, identifier = 'A') => ({ identifier, date, shares, price: 100 });
const createSale = (date: string, more: object = {}) => ({ identifier: 'A', date, shares: -5, price: 90, ...more });
const findState = (more: object, identifier = 'A') => findWashStates(createAccount(more), asOf).get(identifier);

describe('the state of a security under the wash sale rule', () => {
  test.each([
    ['2024-06-28', 10],
    ['2024-05-29', 10], // 30 days before the sale
    ['2024-05-28', undefined],
  ])('counts shares bought on %s: %s', (date, replaced) => {
    expect(findState({ recent: [createPurchase(date)] })?.replaced).toBe(replaced);
  });

  test('uses the window that the account states', () => {
    const recent = [createPurchase('2024-06-18')];
    expect(findState({ recent, tax: { wash_sale_days: 10 } })?.replaced).toBe(10);
    expect(findState({ recent, tax: { wash_sale_days: 9 } })).toBeUndefined();
  });

  test('counts a lot bought in the window once, also if it is listed as a recent trade', () => {
    const lots = [{ ...createLot('A', 10, 100), acquired: '2024-06-18' }];
    expect(findState({ lots })?.replaced).toBe(10);
    expect(findState({ lots, recent: [createPurchase('2024-06-18')] })?.replaced).toBe(10);
    expect(findState({ lots, recent: [createPurchase('2024-06-19', 3)] })?.replaced).toBe(13);
  });

  test.each([
    ['at a loss', createSale('2024-06-18', { cost: 95 }), '2024-07-18'],
    ['without its cost', createSale('2024-06-18'), '2024-07-18'],
    ['on the first day of the window', createSale('2024-05-29', { cost: 95 }), '2024-06-28'],
    ['before the window', createSale('2024-05-28', { cost: 95 }), undefined],
    ['at a gain', createSale('2024-06-18', { cost: 80 }), undefined],
  ])('forbids purchases for 30 days after a sale %s', (_, trade, until) => {
    expect(findState({ recent: [trade] })?.noPurchaseUntil).toBe(until && parseValidDay(until));
  });

  test('is shared by substitutes, but not by other securities', () => {
    const substitutes = [
      ['A', 'B'],
      ['B', 'C'],
    ];
    const recent = [createPurchase('2024-06-18'), createSale('2024-06-19')];
    const states = findWashStates(createAccount({ recent, substitutes }), asOf);
    expect([...states.keys()].toSorted()).toEqual(['A', 'B']);
    expect(states.get('B')).toEqual({ replaced: 10, noPurchaseUntil: parseValidDay('2024-07-19') });
  });
});

describe('the lots of a security with a recent purchase', () => {
  const wash = { replaced: 12, noPurchaseUntil: null };
  /** The price is 80. Two lots have losses of 20 and 5 per share. One lot has a gain of 30. */
  const lots = [
    { identifier: 'A', shares: 10, cost: 100, acquired: '2023-01-03' },
    { identifier: 'A', shares: 8, cost: 50, acquired: '2022-01-03' },
    { identifier: 'A', shares: 10, cost: 85, acquired: '2024-02-01' },
  ];
  const ask = (tax: object, isExcluded = false) =>
    listSecurityLots(createAccount({ lots, tax }), [0, 1, 2], { price: 80, asOf, wash, isExcluded });

  test('lose the deduction of as many shares, in the order of purchase', () => {
    expect(ask({ lot_method: 'specific' })).toEqual({
      lots: [
        { lot: 0, shares: 10, isLong: true, gain: 0, disallowed: 20 },
        { lot: 2, shares: 2, isLong: false, gain: 0, disallowed: 5 },
        { lot: 2, shares: 8, isLong: false, gain: -5, disallowed: 0 },
        { lot: 1, shares: 8, isLong: true, gain: 30, disallowed: 0 },
      ],
      isOrdered: true,
      blocked: 0,
    });
  });

  test('are sold in the order of the lot method', () => {
    const listLotOrder = (lot_method: string) => ask({ lot_method }).lots.map(({ lot, shares }) => [lot, shares]);
    expect(listLotOrder('hifo')).toEqual([
      [0, 10],
      [2, 2],
      [2, 8],
      [1, 8],
    ]);
    expect(listLotOrder('fifo')).toEqual([
      [1, 8],
      [0, 10],
      [2, 2],
      [2, 8],
    ]);
  });

  test('are kept if losses are forbidden, unless the security is excluded', () => {
    const lotsIfForbidden = ask({ wash_sales: 'forbid' });
    expect([lotsIfForbidden.lots.map(({ lot }) => lot), lotsIfForbidden.blocked]).toEqual([[1], 20]);
    const forcedAnswer = ask({ wash_sales: 'forbid' }, true);
    expect([forcedAnswer.lots.reduce((sum, { shares }) => sum + shares, 0), forcedAnswer.blocked]).toEqual([28, 0]);
  });
});

test.each([
  ['2023-06-27', true],
  ['2023-06-28', false], // held for exactly one year
  ['2024-01-02', false],
])('a lot bought on %s is long-term: %s', (acquired, isLong) => expect(isLongTerm(acquired, asOf)).toBe(isLong));

describe('an account under the wash sale rule', () => {
  const cash = 5000;
  /** Each of 50 shares has a loss of 20. */
  const lots = [createLot('A', 50, 120)];
  const recent = [{ identifier: 'A', date: '2024-06-18', shares: 10, price: 100 }];
  const parent = createSmallBatch([0, 0.5, 0.5]);

  test.each([
    ['the security', recent, []],
    ['a substitute', [{ ...recent[0]!, identifier: 'C' }], [['A', 'C']]],
  ])('deducts the loss of 40 of 50 shares after a purchase of 10 of %s', (_, trades, substitutes) => {
    const patient = createSmallBatch([0, 0.5, 0.5], { objective: { cash_maximum: 1 } });
    const result = requireResult(patient, { cash, lots, recent: trades, substitutes, exclusions: ['A'] });
    expect(result.long_gain).toBeCloseTo(-40 * 20, 9);
    expect(result.trades.filter(({ side }) => side === 'sell')).toMatchObject([
      { shares: 10, gain: 0, disallowed_loss: 200 },
      { shares: 40, gain: -800, disallowed_loss: 0 },
    ]);
  });

  test('realises the loss of an excluded security together with the shares that replace it, if they are sold as well', () => {
    // 50 shares with a loss of 20 each have been held since 2022. 20 shares that were bought ten days ago at 96 have a
    // gain of 4 each. The loss of 20 of the shares is added to the cost basis of the recent ones: 120 - 100 + 96 = 116.
    // Their holding periods are added as well, so the loss of 16 is long-term. The other 30 shares lose 20 each.
    const bothLots = [...lots, { ...createLot('A', 20, 96), acquired: '2024-06-18' }];
    const result = requireResult(parent, { cash, lots: bothLots, exclusions: ['A'] });
    expect([result.long_gain, result.short_gain]).toEqual([expect.closeTo(-20 * 16 - 30 * 20, 9), 0]);
    expect(result.trades.every((trade) => (trade.disallowed_loss ?? 0) === 0)).toBe(true);
    // Only 5 of 20 purchased shares are left. The loss of the other 15 is not allowed, because no sale here realises
    // it.
    const fewLots = [...lots, { ...createLot('A', 5, 96), acquired: '2024-06-18' }];
    const other = requireResult(parent, {
      cash,
      lots: fewLots,
      exclusions: ['A'],
      recent: [{ ...recent[0]!, shares: 20 }],
    });
    expect([other.long_gain, other.short_gain]).toEqual([expect.closeTo(-5 * 16 - 30 * 20, 9), 0]);
    expect(other.trades.reduce((sum, trade) => sum + (trade.disallowed_loss ?? 0), 0)).toBeCloseTo(15 * 20, 9);
  });

  test('realises the loss of a lot that was bought in the window itself', () => {
    const freshLots = [{ ...createLot('A', 50, 120), acquired: '2024-06-18' }];
    expect(requireResult(parent, { cash, lots: freshLots, exclusions: ['A'] }).short_gain).toBeCloseTo(-1000, 9);
  });

  test('adds the holding periods of a lot and of its replacement', () => {
    // The shares with a loss of 20 were held for 360 days. The shares that replace them were held for ten days.
    // Together these are 370 days.
    const bothTrades = [
      { ...createLot('A', 10, 120), acquired: '2023-07-04' },
      { ...createLot('A', 10, 100), acquired: '2024-06-18' },
    ];
    const result = requireResult(parent, { cash, lots: bothTrades, exclusions: ['A'] });
    expect([result.long_gain, result.short_gain]).toEqual([expect.closeTo(-200, 9), 0]);
  });

  test('deducts the loss of all shares without a purchase', () => {
    expect(requireResult(parent, { cash, lots, exclusions: ['A'] }).long_gain).toBeCloseTo(-1000, 9);
  });

  test('keeps the lots where losses are forbidden, and reports them', () => {
    const result = requireResult(parent, { cash, lots, recent, tax: { wash_sales: 'forbid' } });
    expect(sumShares(result, 'sell', 'A')).toBe(0);
    expect(result.avoided_wash_sales).toEqual([{ identifier: 'A', prevented: 'sale', shares: 50, until: null }]);
    expect(result.weights['A']).toBeCloseTo(0.5, 12);
  });

  test('does not buy securities that it sold at a loss, nor their substitutes, until the window ends', () => {
    const trade = { identifier: 'B', date: '2024-06-18', shares: -5, price: 90, cost: 95 };
    const result = requireResult(createSmallBatch([0.5, 0.25, 0.25]), {
      cash,
      lots,
      recent: [trade],
      substitutes: [['B', 'C']],
    });
    expect([sumShares(result, 'buy', 'B'), sumShares(result, 'buy', 'C')]).toEqual([0, 0]);
    const until = '2024-07-18';
    expect(result.avoided_wash_sales).toEqual([
      { identifier: 'B', prevented: 'purchase', shares: null, until },
      { identifier: 'C', prevented: 'purchase', shares: null, until },
    ]);
    const laterResult = requireResult(createSmallBatch([0.5, 0.25, 0.25]), {
      cash,
      lots,
      recent: [{ ...trade, cost: 80 }],
    });
    expect(sumShares(laterResult, 'buy', 'B')).toBeGreaterThan(20);
  });

  test.each([
    ['by choice', []],
    ['as it is excluded', ['A']],
  ])('does not buy a substitute of a security that it sells at a loss %s', (_, exclusions) => {
    const freeResult = requireResult(parent, { cash, lots, exclusions });
    expect([sumShares(freeResult, 'sell', 'A'), sumShares(freeResult, 'buy', 'B')]).toEqual([
      expect.closeTo(50, 4),
      expect.closeTo(50, 0),
    ]);
    const relaxedBatch = createSmallBatch([0, 0.5, 0.5], { objective: { cash_maximum: 1 } });
    const result = requireResult(relaxedBatch, { cash, lots, exclusions, substitutes: [['A', 'B']] });
    expect(sumShares(result, 'sell', 'A')).toBeCloseTo(50, 2);
    expect(sumShares(result, 'buy', 'B')).toBe(0);
    expect(result.avoided_wash_sales).toMatchObject([{ identifier: 'B', prevented: 'purchase', until: '2024-07-28' }]);
  });
});
