import { describe, expect, test } from 'vitest';
import { createWashRule, type FreshShares, listSecurityLots, readWashWindow } from '#domain/personal/lots.js';
import { isLongTerm } from '#domain/personal/tax-regime.js';
import { Account } from '#domain/personal/account.js';
import { parseValidDay } from '#domain/base/time.js';
import { AS_OF, createLot, sumShares, createSmallBatch, requireResult } from './small-batch.js';

const asOf = parseValidDay(AS_OF);
const createAccount = (more: object): Account => Account.parse({ account_id: 'X', ...more });
const createPurchase = (date: string, shares = 10, identifier = 'A') => ({ identifier, date, shares, price: 100 });
const createSale = (date: string, more: object = {}) => ({ identifier: 'A', date, shares: -5, price: 90, ...more });
const createRule = (more: object) => {
  const account = createAccount(more);
  return createWashRule(account, asOf, readWashWindow(account, asOf));
};
/** Returns the number of shares that can replace shares of a security. */
const sumFresh = (more: object, identifier = 'A') =>
  createRule(more)
    .listFresh(identifier)
    .reduce((sum, { shares }) => sum + shares, 0);

describe('the state of a security under the wash sale rule', () => {
  test.each([
    ['2024-06-28', 10],
    ['2024-05-29', 10], // 30 days before the sale
    ['2024-05-28', 0],
  ])('counts shares bought on %s: %s', (date, shares) => {
    expect(sumFresh({ recent: [createPurchase(date)] })).toBe(shares);
  });

  test('uses the window that the account states', () => {
    const recent = [createPurchase('2024-06-18')];
    expect(sumFresh({ recent, tax: { wash_sale_days: 10 } })).toBe(10);
    expect(sumFresh({ recent, tax: { wash_sale_days: 9 } })).toBe(0);
  });

  test('counts a lot bought in the window once, also if it is listed as a recent trade', () => {
    const lots = [{ ...createLot('A', 10, 100), acquired: '2024-06-18' }];
    expect(sumFresh({ lots })).toBe(10);
    expect(sumFresh({ lots, recent: [createPurchase('2024-06-18')] })).toBe(10);
    expect(sumFresh({ lots, recent: [createPurchase('2024-06-19', 3)] })).toBe(13);
  });

  test('counts shares once: not those that were sold since, nor those that have replaced others', () => {
    const lots = [{ ...createLot('A', 5, 100), acquired: '2024-06-10' }];
    // 15 of 20 shares bought on 10 June were sold on 14 June. The other 5 are held.
    const recent = [createPurchase('2024-06-10', 20), createSale('2024-06-14', { shares: -15, cost: 95 })];
    expect(sumFresh({ lots, recent })).toBe(5);
    // 5 older shares were sold at a loss on 14 June: the 5 shares bought on 10 June replace them.
    expect(sumFresh({ lots, recent: [createSale('2024-06-14', { cost: 95 })] })).toBe(0);
    expect(sumFresh({ lots: [{ ...lots[0]!, acquired: '2024-06-05', bought: '2024-06-10' }] })).toBe(0);
  });

  test.each([
    ['at a loss', createSale('2024-06-18', { cost: 95 }), '2024-07-18'],
    ['without its cost', createSale('2024-06-18'), '2024-07-18'],
    ['on the first day of the window', createSale('2024-05-29', { cost: 95 }), '2024-06-28'],
    ['before the window', createSale('2024-05-28', { cost: 95 }), undefined],
    ['at a gain', createSale('2024-06-18', { cost: 80 }), undefined],
  ])('forbids purchases for 30 days after a sale %s', (_, trade, until) => {
    expect(createRule({ recent: [trade] }).noPurchaseUntil.get('A')).toBe(until && parseValidDay(until));
  });

  test('is shared by substitutes, but not by other securities', () => {
    const substitutes = [
      ['A', 'B'],
      ['B', 'C'],
    ];
    const recent = [createPurchase('2024-06-18'), createSale('2024-06-19')];
    const { noPurchaseUntil, listFresh } = createRule({ recent, substitutes });
    expect([...noPurchaseUntil.keys()].toSorted()).toEqual(['A', 'B']);
    expect(noPurchaseUntil.get('B')).toBe(parseValidDay('2024-07-19'));
    expect(listFresh('B')).toEqual([{ lot: null, identifier: 'A', day: parseValidDay('2024-06-18'), shares: 5 }]);
    expect(listFresh('C')).toEqual([]);
  });
});

describe('the lots of a security with a recent purchase', () => {
  const fresh = [{ lot: null, identifier: 'A', day: asOf - 5, shares: 12 }];
  /** The price is 80. Two lots have losses of 20 and 5 per share. One lot has a gain of 30. */
  const lots = [
    { identifier: 'A', shares: 10, cost: 100, acquired: '2023-01-03' },
    { identifier: 'A', shares: 8, cost: 50, acquired: '2022-01-03' },
    { identifier: 'A', shares: 10, cost: 85, acquired: '2024-02-01' },
  ];
  const ask = (tax: object, own = lots, freshShares: readonly FreshShares[] = fresh) =>
    listSecurityLots(
      createAccount({ lots: own, tax }),
      own.map((_, lot) => lot),
      {
        price: 80,
        priceOf: () => 80,
        rule: { ...createRule({ lots: own }), listFresh: () => freshShares },
        fresh: freshShares,
      },
    );

  test('lose the deduction of as many shares, in the order of purchase', () => {
    expect(ask({ lot_method: 'specific' })).toEqual({
      lots: [
        { lot: 0, shares: 10, short: 0, long: 0 },
        { lot: 2, shares: 2, short: 0, long: 0 },
        { lot: 2, shares: 8, short: -5, long: 0 },
        { lot: 1, shares: 8, short: 0, long: 30 },
      ],
      isOrdered: true,
      blocked: 0,
      unlisted: 0,
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

  test('lose no deduction once the shares that replace them are sold as well', () => {
    // The 10 shares of 2023 lose 20 each. 4 shares bought 13 days ago at 90 replace 4 of them, until they are sold too.
    const own = [lots[0]!, { identifier: 'A', shares: 4, cost: 90, acquired: '2024-06-15' }];
    const freshLot = [{ lot: 1, identifier: 'A', day: parseValidDay('2024-06-15'), shares: 4 }];
    expect(ask({ lot_method: 'fifo' }, own, freshLot).lots).toEqual([
      { lot: 0, shares: 4, short: 0, long: 0 },
      { lot: 0, shares: 6, short: 0, long: -20 },
      { lot: 1, shares: 4, short: -10, long: -20 },
    ]);
    // Sold first, the recent shares replace nothing: part of a purchase is not replaced by its other part.
    expect(ask({ lot_method: 'specific' }, own, freshLot).lots).toEqual([
      { lot: 1, shares: 4, short: -10, long: 0 },
      { lot: 0, shares: 10, short: 0, long: -20 },
    ]);
  });

  test('are kept if their losses would be disallowed and this is forbidden', () => {
    const lotsIfForbidden = ask({ wash_sales: 'forbid' });
    expect([lotsIfForbidden.lots.map(({ lot }) => lot), lotsIfForbidden.blocked]).toEqual([[1], 20]);
    // Once the recent shares are sold, no loss of the others is disallowed.
    const own = [...lots, { identifier: 'A', shares: 4, cost: 90, acquired: '2024-06-15' }];
    const freshLot = [{ lot: 3, identifier: 'A', day: parseValidDay('2024-06-15'), shares: 4 }];
    const order = ask({ wash_sales: 'forbid', lot_method: 'hifo' }, own, freshLot);
    expect([order.lots.map(({ lot }) => lot), order.blocked]).toEqual([[3, 0, 2, 1], 0]);
  });
});

test.each([
  ['2023-06-27', true],
  ['2023-06-28', false], // held for exactly one year
  ['2024-01-02', false],
])('a lot bought on %s is long-term: %s', (acquired, isLong) => expect(isLongTerm(acquired, asOf)).toBe(isLong));

test.each([
  ['2023-02-27', '2024-02-28'], // held from 28 February
  ['2023-02-28', '2024-03-01'], // held from 1 March
  ['2024-02-28', '2025-03-01'], // held from 29 February
  ['2024-02-29', '2025-03-01'],
  ['2023-12-31', '2025-01-01'],
  ['2022-03-01', '2023-03-02'],
])('a lot bought on %s is long-term from %s', (acquired, first) => {
  expect([0, -1].map((days) => isLongTerm(acquired, parseValidDay(first) + days))).toEqual([true, false]);
});

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

  test('realises the loss of an excluded security if the shares that would replace it are sold as well', () => {
    // 50 shares lose 20 each, held since 2022. 20 shares bought ten days ago at 96 gain 4 each.
    const bothLots = [...lots, { ...createLot('A', 20, 96), acquired: '2024-06-18' }];
    const result = requireResult(parent, { cash, lots: bothLots, exclusions: ['A'] });
    expect([result.long_gain, result.short_gain]).toEqual([expect.closeTo(-50 * 20, 9), expect.closeTo(20 * 4, 9)]);
    expect(result.disallowed_loss).toBe(0);
    // Only 5 of 20 purchased shares are lots of the account. The other 15 replace 15 of the shares sold at a loss.
    const fewLots = [...lots, { ...createLot('A', 5, 96), acquired: '2024-06-18' }];
    const other = requireResult(parent, {
      cash,
      lots: fewLots,
      exclusions: ['A'],
      recent: [{ ...recent[0]!, shares: 20 }],
    });
    expect([other.long_gain, other.short_gain]).toEqual([expect.closeTo(-35 * 20, 9), expect.closeTo(5 * 4, 9)]);
    expect(other.trades.reduce((sum, trade) => sum + (trade.disallowed_loss ?? 0), 0)).toBeCloseTo(15 * 20, 9);
    expect([other.disallowed_loss, other.disallowed_elsewhere]).toEqual([
      expect.closeTo(15 * 20, 9),
      expect.closeTo(15 * 20, 9),
    ]);
  });

  test('realises the loss of a lot that was bought in the window itself', () => {
    const freshLots = [{ ...createLot('A', 50, 120), acquired: '2024-06-18' }];
    expect(requireResult(parent, { cash, lots: freshLots, exclusions: ['A'] }).short_gain).toBeCloseTo(-1000, 9);
  });

  test.each([
    ['specific', -80 * 60],
    ['fifo', -80 * 60],
    ['hifo', -80 * 60],
  ])('deducts the loss of a recent lot that is sold by choice, by the method %s', (lot_method, gain) => {
    // 80 shares bought ten days ago at 160 are the only lot. The target is A 0, B and C half each.
    const freshLots = [{ ...createLot('A', 80, 160), acquired: '2024-06-18' }];
    const result = requireResult(parent, { lots: freshLots, tax: { lot_method } });
    expect([result.short_gain, result.disallowed_loss]).toEqual([expect.closeTo(gain, 1), 0]);
  });

  test('buys a security whose losses it may not realise', () => {
    const result = requireResult(createSmallBatch([0.8, 0.1, 0.1]), {
      cash,
      lots,
      recent,
      tax: { wash_sales: 'forbid' },
    });
    expect(result.trades.filter(({ identifier }) => identifier === 'A')).toMatchObject([{ side: 'buy' }]);
    expect(result.weights['A']).toBeCloseTo(0.8, 4);
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
