import { describe, expect, test } from 'vitest';
import { createHistory, type BookedTrade } from '#domain/personal/account-history.js';
import { Account } from '#domain/personal/account-request.js';
import { dayFrom } from '#domain/time/days.js';

const account = Account.parse({
  account_id: 'A',
  cash: 1000,
  lots: [
    { identifier: 'X', shares: 10, cost: 50, acquired: '2020-01-02' },
    { identifier: 'X', shares: 10, cost: 120, acquired: '2021-03-01' },
    { identifier: 'X', shares: 10, cost: 90, acquired: '2021-06-01' },
  ],
});
const open = () => createHistory(account, { start: dayFrom('2021-06-15'), dividendRate: 0.15, dayOf: dayFrom });
const sale = (lot: number, shares: number, loss = 0): BookedTrade => ({
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
    history.trade(dayFrom('2021-06-15'), [sale(0, 10), sale(1, 5)], 0.001);
    expect(history.cash).toBeCloseTo(1000 + 1500 - 1.5, 9);
    // 500 long-term, 100 of losses short-term: 400 net at 20 %.
    expect(history.accrued()).toBeCloseTo(80, 9);
    expect(history.lots.map(({ shares, cost }) => [shares, cost])).toEqual([
      [5, 120],
      [10, 90],
    ]);
  });

  test('highest cost first: 10 short-term at 120 and 5 short-term at 90, whose loss is carried forward', () => {
    const history = open();
    history.trade(dayFrom('2021-06-15'), [sale(1, 10), sale(2, 5)], 0);
    expect(history.accrued()).toBe(0);
    history.payTaxes(dayFrom('2022-01-03'));
    expect(history.years).toEqual([{ year: 2021, short_gain: -150, long_gain: 0, dividends: 0, carried: 0, tax: 0 }]);
    expect(history.accountOn(account, dayFrom('2022-01-03')).tax.carry_forward).toBe(150);
    history.trade(dayFrom('2022-01-03'), [sale(0, 10)], 0);
    expect(history.accrued()).toBeCloseTo(0.2 * (500 - 150), 9);
  });

  test('a specific lot: 10 at 90, held since June', () => {
    const history = open();
    history.trade(dayFrom('2021-12-01'), [sale(2, 10)], 0);
    expect(history.accrued()).toBeCloseTo(0.37 * 100, 9);
    history.trade(dayFrom('2021-12-01'), [sale(1, 10)], 0);
    expect(history.accrued()).toBe(0);
  });

  test('a disallowed loss is added to the shares bought in the window, with the holding period', () => {
    const history = open();
    // 5 of the shares sold at 100 after 120: the loss of 100 goes to 5 of the 10 bought 14 days before.
    history.trade(dayFrom('2021-06-15'), [sale(1, 5, 100)], 0);
    expect(history.accrued()).toBe(0);
    const held = dayFrom('2021-06-15') - dayFrom('2021-03-01');
    expect(history.lots).toEqual([
      expect.objectContaining({ shares: 10, cost: 50 }),
      expect.objectContaining({ shares: 5, cost: 120 }),
      { identifier: 'X', shares: 5, cost: 110, acquired: dayFrom('2021-06-01') - held },
      { identifier: 'X', shares: 5, cost: 90, acquired: dayFrom('2021-06-01') },
    ]);
  });

  test('dividends are taxed with the year and paid in the next', () => {
    const history = open();
    history.act(dayFrom('2021-09-01'), 'X', { lots: history.lots, cash: 0, dividends: 200, gains: [] });
    expect(history.accrued()).toBeCloseTo(30, 12);
    history.payTaxes(dayFrom('2022-01-03'));
    expect(history.cash).toBeCloseTo(1000 + 200 - 30, 12);
    expect(history.accrued()).toBe(0);
  });
});
