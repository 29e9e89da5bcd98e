import { describe, expect, test } from 'vitest';
import { applyToRecent, type BookedTrade, createHistory } from '#domain/personal/account-backtest.js';
import { Account } from '#domain/personal/account.js';
import type { CorporateAction } from '#domain/market/market-data.js';
import { parseValidDay } from '#domain/base/time.js';

const account = Account.parse({
  account_id: 'A',
  cash: 1000,
  lots: [
    { identifier: 'X', shares: 10, cost: 50, acquired: '2020-01-02' },
    { identifier: 'X', shares: 10, cost: 120, acquired: '2021-03-01' },
    { identifier: 'X', shares: 10, cost: 90, acquired: '2021-05-03' },
  ],
});
const open = (opened = account) => createHistory(opened, { start: parseValidDay('2021-06-15'), dividendRate: 0.15 });
const createSale = (lot: number, shares: number): BookedTrade => ({
  identifier: 'X',
  side: 'sell',
  shares,
  price: 100,
  lot,
});

describe('the history of an account', () => {
  test('first in, first out: 10 long-term at 50 and 5 short-term at 120', () => {
    const history = open();
    history.trade(parseValidDay('2021-06-15'), [createSale(0, 10), createSale(1, 5)], 0.001);
    expect(history.cash).toBeCloseTo(1000 + 1500 - 1.5, 9);
    // Long-term gains of 500 and short-term losses of 100 leave 400. They are taxed at 20 %.
    expect(history.accrued()).toBeCloseTo(80, 9);
    expect(history.lots.map(({ shares, cost }) => [shares, cost])).toEqual([
      [5, 120],
      [10, 90],
    ]);
  });

  test('highest cost first: 10 short-term at 120 and 5 short-term at 90, whose loss is carried forward', () => {
    const history = open();
    history.trade(parseValidDay('2021-06-15'), [createSale(1, 10), createSale(2, 5)], 0);
    expect(history.accrued()).toBe(0);
    history.payTaxes(parseValidDay('2022-01-03'));
    const none = { short_gain: 0, long_gain: 0, dividends: 0, tax: 0 };
    expect(history.years).toEqual([
      { ...none, year: 2021, short_gain: -150, carried: 0, is_paid: true },
      { ...none, year: 2022, carried: 150, is_paid: false },
    ]);
    expect(history.accountOn(account, parseValidDay('2022-01-03')).tax.carry_forward).toBe(150);
    history.trade(parseValidDay('2022-01-03'), [createSale(0, 10)], 0);
    expect(history.accrued()).toBeCloseTo(0.2 * (500 - 150), 9);
  });

  test('with separate netting long-term gains use up no short-term losses carried forward', () => {
    const separateAccount = Account.parse({ ...account, tax: { netting: 'separate' } });
    const history = createHistory(separateAccount, {
      start: parseValidDay('2021-06-15'),
      dividendRate: 0,
    });
    history.trade(parseValidDay('2021-06-15'), [createSale(0, 10), createSale(1, 5)], 0); // a long-term gain of 500 and a short-term loss of 100
    expect(history.accrued()).toBeCloseTo(0.2 * 500, 9);
    history.payTaxes(parseValidDay('2022-01-03'));
    expect(history.accountOn(separateAccount, parseValidDay('2022-01-03')).tax.carry_forward).toBe(100);
  });

  test('a net loss is carried forward with its term: a long-term one offsets long-term gains first', () => {
    const history = open();
    history.trade(parseValidDay('2022-04-01'), [createSale(1, 10)], 0); // a long-term loss of 200
    history.payTaxes(parseValidDay('2023-01-03'));
    const { carry_forward, realised } = history.accountOn(account, parseValidDay('2023-01-03')).tax;
    expect([carry_forward, realised]).toEqual([0, { short: 0, long: -200 }]);
    history.trade(parseValidDay('2023-01-03'), [createSale(0, 10)], 0); // a long-term gain of 500
    expect(history.accrued()).toBeCloseTo(0.2 * (500 - 200), 9);
  });

  test('a split in the window changes the shares outside the lots that replace those sold at a loss', () => {
    const history = open({ ...account, recent: [{ identifier: 'X', date: '2021-06-10', shares: 4, price: 100 }] });
    const split = { identifier: 'X', type: 'SPLIT', value: 2, related: null } as never as CorporateAction; // only the members that the code under test reads
    history.actOnTrades((recent) => applyToRecent(recent, split, 'none'));
    const { recent } = history.accountOn(account, parseValidDay('2021-06-20'));
    expect(recent).toEqual([{ identifier: 'X', date: '2021-06-10', shares: 8, price: 50 }]);
    const merger = { ...split, type: 'MERGER', value: 0.5, related: 'Y' } as never as CorporateAction;
    expect(applyToRecent(recent, merger, 'none')).toEqual([
      { identifier: 'Y', date: '2021-06-10', shares: 4, price: 100 },
    ]);
    expect(applyToRecent(recent, split, 'splits')).toBe(recent);
    // 5 shares lose 20 each. The 8 shares outside the lots replace all of them, and 3 are left to replace others.
    history.trade(parseValidDay('2021-06-15'), [createSale(1, 5)], 0);
    expect(history.years[0]!.short_gain).toBe(0);
    expect(history.accountOn(account, parseValidDay('2021-06-20')).recent).toMatchObject([
      { shares: 3 },
      { shares: -5 },
    ]);
  });

  test('a specific lot: 10 at 90, held since May', () => {
    const history = open();
    history.trade(parseValidDay('2021-12-01'), [createSale(2, 10)], 0);
    expect(history.accrued()).toBeCloseTo(0.37 * 100, 9);
    history.trade(parseValidDay('2021-12-01'), [createSale(1, 10)], 0);
    expect(history.accrued()).toBe(0);
  });

  test('a disallowed loss is added to the shares bought in the window, with the holding period', () => {
    const [first, second, third] = account.lots;
    const history = open({ ...account, lots: [first!, second!, { ...third!, acquired: '2021-06-01' }] });
    // 5 of the shares that were bought at 120 are sold at 100. Their loss of 100 is added to 5 of the 10 shares that
    // were bought 14 days before.
    history.trade(parseValidDay('2021-06-15'), [createSale(1, 5)], 0);
    expect(history.accrued()).toBe(0);
    const heldDays = parseValidDay('2021-06-15') - parseValidDay('2021-03-01');
    expect(history.lots).toEqual([
      expect.objectContaining({ shares: 10, cost: 50 }),
      expect.objectContaining({ shares: 5, cost: 120 }),
      {
        identifier: 'X',
        shares: 5,
        cost: 110,
        acquired: parseValidDay('2021-06-01') - heldDays,
        bought: parseValidDay('2021-06-01'),
      },
      { identifier: 'X', shares: 5, cost: 90, acquired: parseValidDay('2021-06-01') },
    ]);
  });

  test('dividends are taxed with their year and paid in the next year', () => {
    const history = open();
    history.act(parseValidDay('2021-09-01'), 'X', { lots: history.lots, cash: 0, dividends: 200, gains: [] });
    expect(history.accrued()).toBeCloseTo(30, 12);
    history.payTaxes(parseValidDay('2022-01-03'));
    expect(history.cash).toBeCloseTo(1000 + 200 - 30, 12);
    expect(history.accrued()).toBe(0);
  });

  test('a dividend on the first session of a year belongs to that year', () => {
    const history = open();
    history.act(parseValidDay('2022-01-03'), 'X', { lots: history.lots, cash: 0, dividends: 200, gains: [] });
    history.payTaxes(parseValidDay('2022-01-03'));
    expect(history.years.map(({ year, dividends, is_paid }) => [year, dividends, is_paid])).toEqual([
      [2021, 0, true],
      [2022, 200, false],
    ]);
    expect(history.accrued()).toBeCloseTo(30, 12);
  });

  test('shares bought before the window do not replace sold shares, and others replace shares once', () => {
    const history = open();
    const buy = (shares: number): BookedTrade => ({ identifier: 'X', side: 'buy', shares, price: 100 });
    history.trade(parseValidDay('2021-07-01'), [buy(4)], 0);
    history.trade(parseValidDay('2021-09-01'), [buy(4)], 0);
    history.trade(parseValidDay('2021-09-15'), [createSale(1, 4)], 0);
    history.trade(parseValidDay('2021-09-16'), [createSale(1, 3)], 0);
    // The shares bought in September replace the 4 sold first at a loss of 20 each, and none of the others.
    expect(history.entries.filter(({ kind }) => kind === 'sell').map(({ lot }) => lot)).toEqual([
      { acquired: '2021-03-01', cost: 120, gain: 0, disallowed_loss: 80, term: 'short' },
      { acquired: '2021-03-01', cost: 120, gain: -60, disallowed_loss: 0, term: 'short' },
    ]);
    expect(history.lots.map(({ shares, cost }) => [shares, cost])).toEqual([
      [10, 50],
      [3, 120],
      [10, 90],
      [4, 100],
      [4, 120],
    ]);
  });
});
