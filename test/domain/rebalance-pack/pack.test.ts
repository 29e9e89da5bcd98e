import { expect, test } from 'vitest';
import {
  createPack,
  type KnownSecurity,
  readSecurityAsKnown,
  readSecurityBefore,
  RebalancePackRequest,
  reconcilePacks,
} from '#domain/studies/rebalance-pack.js';
import { createExchangeRates } from '#domain/market/rates.js';
import { createSecurityTerms } from '#domain/market/action-effects.js';
import { alignMarket } from '#domain/market/session-market.js';
import { buildMarket, createWeekdayCalendars } from '../backtest/market-builder.js';

const createName = (identifier: string, weight: number, price: number, adv: number | null = 1000): KnownSecurity => ({
  identifier,
  weight,
  price,
  adv,
});
const expectRefusalAt = (path: string) =>
  expect.objectContaining({ detail: { findings: [expect.objectContaining({ path })] } });
const request = (body: object) => RebalancePackRequest.parse(body);

const createPackByHand = () =>
  createPack(
    [createName('A', 0.5, 10), createName('B', 0.5, 20, 400), createName('C', 0, 5)],
    request({
      accounts: [
        {
          name: 'Fund',
          cash: 100,
          holdings: [
            { identifier: 'A', shares: 100 },
            { identifier: 'C', shares: 180 },
          ],
        },
      ],
      lot_sizes: { B: 5 },
      participation: 0.1,
      cost: { spread_bps: 20, impact_bps: 30 },
    }),
  );

test('securities named like members of every JavaScript object are bought like any other', () => {
  const names = ['__proto__', 'constructor', 'toString', 'N4'].map((identifier) => createName(identifier, 0.25, 10));
  const [account] = createPack(
    names,
    request({ aum: 4000, lot_sizes: { N4: 3 }, cost: { spread_bps: 0, impact_bps: 0 } }),
  ).accounts;
  expect(account!.trades.map(({ identifier, side, shares }) => [identifier, side, shares])).toEqual([
    ['__proto__', 'buy', 100],
    ['constructor', 'buy', 100],
    ['toString', 'buy', 100],
    ['N4', 'buy', 99],
  ]);
});

test('a pack by hand: an addition, a deletion and a change, at half the spread and the square root of the volume share', () => {
  const pack = createPackByHand();
  // The value is 100 + 1,000 + 900 = 2,000. A keeps 100 shares. 1,000 / 20 = 50 shares of B are bought. C is sold.
  const sale = 900 * (10 + 30 * Math.sqrt(180 / 1000)) * 1e-4;
  // The sale leaves 1,000 minus its cost. This pays for 45 shares of B with their cost, but not for 50.
  const purchase = 900 * (10 + 30 * Math.sqrt(45 / 400)) * 1e-4;
  const [fund] = pack.accounts;
  expect(fund).toMatchObject({ name: 'Fund', value: 2000, turnover: (900 + 900) / 2 / 2000 });
  expect(fund!.cost).toBeCloseTo(sale + purchase, 10);
  expect(fund!.cash_after).toBeCloseTo(100 + 900 - 900 - sale - purchase, 10);
  expect(fund!.trades).toMatchObject([
    {
      identifier: 'B',
      side: 'buy',
      shares: 45,
      reason: 'add',
      weight_before: 0,
      weight_target: 0.5,
      days_to_trade: 45 / 40,
    },
    {
      identifier: 'C',
      side: 'sell',
      shares: 180,
      reason: 'delete',
      weight_target: 0,
      weight_after: 0,
      days_to_trade: 1.8,
    },
  ]);
  const after = 2000 - sale - purchase;
  expect(fund!.trades[0]!.weight_after).toBeCloseTo(900 / after, 12);
  expect(fund!.drift_after).toBeCloseTo((Math.abs(900 / after - 0.5) + Math.abs(1000 / after - 0.5)) / 2, 12);
});

test('days, liquidation and capacity of the same pack, by hand', () => {
  const pack = createPackByHand();
  expect(pack.days_to_trade).toEqual({ p50: (1.8 + 1.125) / 2, p90: 1.125 + 0.9 * (1.8 - 1.125), max: 1.8 });
  // Within a day, 100 shares of A (1,000) and 100 of 180 shares of C (500) can be sold. The whole value is 1,900.
  // Within two days, all shares of C can be sold.
  expect(pack.liquidation.slice(0, 2)).toEqual([
    { days: 1, share: 1500 / 1900 },
    { days: 2, share: 1 },
  ]);
  // A: 0.1 * 1,000 * 10 / 0.5 = 2,000 a day; B: 0.1 * 400 * 20 / 0.5 = 1,600.
  expect(pack.capacity).toEqual([
    { days: 1, aum: 1600 },
    { days: 5, aum: 8000 },
    { days: 10, aum: 16_000 },
  ]);
  expect(pack.findings).toEqual([]);
});

test('AUM is a cash account; a security without volume has no days and no impact, and is reported', () => {
  const pack = createPack(
    [createName('A', 0.4, 10, null), createName('B', 0.6, 10)],
    request({ aum: 10_000, cost: { spread_bps: 0, impact_bps: 10 } }),
  );
  expect(pack.accounts).toMatchObject([{ name: 'AUM', value: 10_000 }]);
  expect(pack.accounts[0]!.trades[0]).toMatchObject({ identifier: 'A', cost: 0, days_to_trade: null });
  expect(pack.capacity.map(({ aum }) => aum)).toEqual([null, null, null]);
  expect(pack.liquidation).toEqual([]); // there are no holdings to liquidate
  expect(pack.findings).toMatchObject([{ code: 'UNKNOWN_FIELD_NAME', places: ['A'] }]);
});

test('without costs the resulting weights differ from the targets by at most half a lot, and by purchases that exceed cash', () => {
  const names = Array.from({ length: 50 }, (_, i) => createName(`N${i}`, (i + 1) / 1275, 10 + i));
  const { accounts } = createPack(names, request({ aum: 1e9, cost: { spread_bps: 0, impact_bps: 0 } }));
  for (const { weight_after, weight_target, price } of accounts[0]!.trades)
    expect(Math.abs(weight_after - weight_target)).toBeLessThanOrEqual((2 * price) / 1e9);
});

test('with costs each purchase is within a lot of the target weight of the value after costs', () => {
  const names = Array.from({ length: 50 }, (_, i) => createName(`N${i}`, (i + 1) / 1275, 10 + i, 5000 + 100 * i));
  for (const aum of [1e6, 1e9, 1e12]) {
    const lot_sizes = { N0: 1, N7: 100, N49: 50 };
    const { accounts, findings } = createPack(
      names,
      request({ aum, lot_sizes, cost: { spread_bps: 8, impact_bps: 1 } }),
    );
    const [account] = accounts;
    const net = aum - account!.cost;
    expect(account!.cash_after).toBeGreaterThanOrEqual(0);
    expect(findings).toEqual([]);
    for (const { identifier, weight_after, weight_target, price } of account!.trades) {
      const lot = lot_sizes[identifier as keyof typeof lot_sizes] ?? 1; // not every security has a lot size
      expect(Math.abs(weight_after - weight_target) * net).toBeLessThanOrEqual(1.001 * lot * price);
    }
  }
});

test('weights beyond the money of an account are reported, because its orders do not borrow', () => {
  const createOf = (a: number, b: number) =>
    createPack(
      [createName('A', a, 10), createName('B', b, 20)],
      request({ aum: 10_000, cost: { spread_bps: 0, impact_bps: 0 } }),
    );
  // Weights of 0.8 and 0.5 need 13,000; the account spends its 10,000, so half of the missing 0.3 is the distance.
  const { accounts, findings } = createOf(0.8, 0.5);
  expect(findings).toMatchObject([{ severity: 'warning', code: 'WEIGHTS_NOT_ONE', value: '1.3' }]);
  expect(accounts[0]!.cash_after).toBeCloseTo(0, 9);
  expect(accounts[0]!.drift_after).toBeCloseTo(0.15, 2);
  expect(createOf(0.5, 0.5).findings).toEqual([]);
  expect(createOf(1.3, -0.3).findings).toEqual([]);
});

test('a worthless account and two accounts with one name are refused', () => {
  const names = [createName('A', 1, 10)];
  const shortAccount = { name: 'F', cash: 50, holdings: [{ identifier: 'A', shares: -5 }] };
  expect(() => createPack(names, request({ accounts: [shortAccount] }))).toThrow(expectRefusalAt('accounts[0]'));
  expect(() => request({ accounts: [shortAccount, shortAccount] })).toThrow('the name of accounts[0]');
  expect(() => request({ aum: 1, accounts: [{ name: 'AUM', cash: 1 }] })).toThrow(
    'the name of the account that aum adds',
  );
});

test('holdings by value are the number of shares that the value buys; both or neither are refused', () => {
  const names = [createName('A', 0.5, 10), createName('B', 0.5, 20)];
  const findAccount = (holdings: object[]) => request({ accounts: [{ name: 'F', cash: 100, holdings }] });
  const byShares = createPack(
    names,
    findAccount([
      { identifier: 'A', shares: 40 },
      { identifier: 'B', shares: -2.5 },
    ]),
  );
  const byValue = createPack(
    names,
    findAccount([
      { identifier: 'A', value: 400 },
      { identifier: 'B', value: -50 },
    ]),
  );
  expect(byValue).toEqual(byShares);
  expect(byValue.accounts[0]!.value).toBe(100 + 400 - 50);
  for (const holding of [{ identifier: 'A' }, { identifier: 'A', shares: 1, value: 10 }])
    expect(() => findAccount([holding])).toThrow('or value is required');
});

test('the share of the daily volume is the order divided by the volume, and a whole day is 1', () => {
  const [fund] = createPackByHand().accounts;
  expect(fund!.trades.map(({ identifier, adv_share }) => [identifier, adv_share])).toEqual([
    ['B', 45 / 400],
    ['C', 180 / 1000],
  ]);
});

test('on the effective day the announced orders are shown with the current orders, by hand', () => {
  // A is split two for one between the announcement at 40 and the effective day at 25. A price of 25 corresponds to 50
  // before the split.
  const dates = ['2024-01-02', '2024-01-03', '2024-01-04'];
  const market = buildMarket({
    dates,
    close: { A: [40, 22, 25], B: [10, 10, 8] },
    fields: { VOLUME: { A: [1000, 2000, 2000], B: [500, 500, 500] } },
    actions: [{ name: 'A', type: 'SPLIT', value: 2, ex: dates[1]! }],
  });
  const calendars = createWeekdayCalendars({ MAIN: { from: dates[0]!, to: '2024-01-31' } });
  const sm = alignMarket({ market, calendar: calendars.get('MAIN')!, calendars });
  const growth = createSecurityTerms('price', 'USD');
  const knownTerms = { sm, rates: createExchangeRates(sm, 'USD'), growth, sessions: 1 };
  const now = [0, 1].map((column) => readSecurityAsKnown({ ...knownTerms, session: 2 }, column, 0.5));
  const securitiesBefore = now.map((one) => readSecurityBefore({ ...knownTerms, session: 0 }, one, 2));
  expect(securitiesBefore.map(({ price, adv }) => [price, adv])).toEqual([
    [20, 2000],
    [10, 500],
  ]);
  const body = request({
    accounts: [{ name: 'F', cash: 1000, holdings: [{ identifier: 'B', shares: 100 }] }],
    cost: { spread_bps: 0, impact_bps: 0 },
  });
  const accounts = reconcilePacks(
    { names: securitiesBefore, accounts: createPack(securitiesBefore, body).accounts },
    { names: now, accounts: createPack(now, body).accounts },
  );
  // At the announcement the value is 2,000: 50 shares of A at 20, and the 100 shares of B that are already held. On the
  // effective day it is 1,800: 36 of A at 25, and 900 / 8 = 112.5 of B, which is rounded to 112.
  expect(accounts).toEqual([
    {
      name: 'F',
      value_announced: 2000,
      orders: [
        { identifier: 'A', shares_announced: 50, shares: 36, change: -14, price_announced: 20, price: 25 },
        { identifier: 'B', shares_announced: 0, shares: 12, change: 12, price_announced: 10, price: 8 },
      ],
    },
  ]);
});
