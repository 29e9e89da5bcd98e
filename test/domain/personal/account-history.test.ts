import { describe, expect, test } from 'vitest';
import { createHistory, type BookedTrade } from '#domain/personal/account-history.js';
import { Account } from '#domain/personal/account-request.js';
import { applyToRecent } from '#domain/personal/lot-actions.js';
import type { CorporateAction } from '#domain/market/market-data.js';
import { parseValidDay } from '#domain/time/days.js';

const account = Account.parse({
  account_id: 'A',
  cash: 1000,
  lots: [
    { identifier: 'X', shares: 10, cost: 50, acquired: '2020-01-02' },
    { identifier: 'X', shares: 10, cost: 120, acquired: '2021-03-01' },
    { identifier: 'X', shares: 10, cost: 90, acquired: '2021-06-01' },
  ],
});
const open = () =>
  createHistory(account, { start: parseValidDay('2021-06-15'), dividendRate: 0.15, dayOf: parseValidDay });
const createSale = (lot: number, shares: number, loss = 0): BookedTrade => ({
  identifier: 'X',
  side: 'sell',
  shares,
  price: 100,
  lot,
  disallowed_loss: loss,
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
    expect(history.years).toEqual([{ year: 2021, short_gain: -150, long_gain: 0, dividends: 0, carried: 0, tax: 0 }]);
    expect(history.accountOn(account, parseValidDay('2022-01-03')).tax.carry_forward).toBe(150);
    history.trade(parseValidDay('2022-01-03'), [createSale(0, 10)], 0);
    expect(history.accrued()).toBeCloseTo(0.2 * (500 - 150), 9);
  });

  test('with separate netting long-term gains use up no short-term losses carried forward', () => {
    const separateAccount = Account.parse({ ...account, tax: { netting: 'separate' } });
    const history = createHistory(separateAccount, {
      start: parseValidDay('2021-06-15'),
      dividendRate: 0,
      dayOf: parseValidDay,
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

  test('a split in the window changes the shares that replace those sold at a loss', () => {
    const history = open();
    history.trade(parseValidDay('2021-06-15'), [{ identifier: 'X', side: 'buy', shares: 4, price: 100 }], 0);
    const split = { identifier: 'X', type: 'SPLIT', value: 2, related: null } as never as CorporateAction; // only the members that the code under test reads
    history.actOnTrades((recent) => applyToRecent(recent, split, 'none'));
    const { recent } = history.accountOn(account, parseValidDay('2021-06-20'));
    expect(recent).toEqual([{ identifier: 'X', date: '2021-06-15', shares: 8, price: 50 }]);
    const merger = { ...split, type: 'MERGER', value: 0.5, related: 'Y' } as never as CorporateAction;
    expect(applyToRecent(recent, merger, 'none')).toEqual([
      { identifier: 'Y', date: '2021-06-15', shares: 4, price: 100 },
    ]);
    expect(applyToRecent(recent, split, 'splits')).toBe(recent);
  });

  test('a specific lot: 10 at 90, held since June', () => {
    const history = open();
    history.trade(parseValidDay('2021-12-01'), [createSale(2, 10)], 0);
    expect(history.accrued()).toBeCloseTo(0.37 * 100, 9);
    history.trade(parseValidDay('2021-12-01'), [createSale(1, 10)], 0);
    expect(history.accrued()).toBe(0);
  });

  test('a disallowed loss is added to the shares bought in the window, with the holding period', () => {
    const history = open();
    // 5 of the shares that were bought at 120 are sold at 100. Their loss of 100 is added to 5 of the 10 shares that
    // were bought 14 days before.
    history.trade(parseValidDay('2021-06-15'), [createSale(1, 5, 100)], 0);
    expect(history.accrued()).toBe(0);
    const heldDays = parseValidDay('2021-06-15') - parseValidDay('2021-03-01');
    expect(history.lots).toEqual([
      expect.objectContaining({ shares: 10, cost: 50 }),
      expect.objectContaining({ shares: 5, cost: 120 }),
      { identifier: 'X', shares: 5, cost: 110, acquired: parseValidDay('2021-06-01') - heldDays },
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
    expect(history.years.map(({ year, dividends }) => [year, dividends])).toEqual([[2021, 0]]);
    expect(history.accrued()).toBeCloseTo(30, 12);
  });

  test('shares bought before the window do not replace sold shares', () => {
    const history = open();
    const buy = (shares: number): BookedTrade => ({ identifier: 'X', side: 'buy', shares, price: 100 });
    history.trade(parseValidDay('2021-07-01'), [buy(4)], 0);
    history.trade(parseValidDay('2021-09-01'), [buy(4)], 0);
    history.trade(parseValidDay('2021-09-15'), [createSale(1, 4, 80)], 0);
    const boughtTrades = history
      .accountOn(account, parseValidDay('2021-09-20'))
      .recent.filter(({ shares }) => shares > 0);
    expect(boughtTrades).toEqual([]); // the shares bought in September have replaced the four sold at a loss
  });
});
