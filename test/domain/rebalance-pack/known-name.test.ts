import { expect, test } from 'vitest';
import { createExchangeRates } from '#domain/market/rates.js';
import { createGrowthTerms, createSecurityTerms } from '#domain/market/action-effects.js';
import { alignMarket } from '#domain/market/session-market.js';
import { locateHoldings, readSecurityAsKnown, RebalancePackRequest } from '#domain/studies/rebalance-pack.js';
import { buildMarket, createWeekdayCalendars } from '../backtest/market-builder.js';

const expectRefusalAt = (path: string) =>
  expect.objectContaining({ detail: { findings: [expect.objectContaining({ path })] } });
const request = (body: object) => RebalancePackRequest.parse(body);

test('a suspended security has the price at which the index holds it, after special dividends and rights issues', () => {
  const dates = ['2024-01-02', '2024-01-03', '2024-01-04'];
  const market = buildMarket({
    dates,
    close: { A: [100, null, null], B: [1, 1, 1] },
    actions: [
      { name: 'A', type: 'SPECIAL_DIVIDEND', value: 20, ex: dates[1]! },
      { name: 'A', type: 'RIGHTS_ISSUE', value: 1, subscription: 40, ex: dates[2]! },
    ],
  });
  const calendars = createWeekdayCalendars({ MAIN: { from: dates[0]!, to: '2024-01-31' } });
  const sm = alignMarket({ market, calendar: calendars.get('MAIN')!, calendars });
  const treatment = {
    dividends: 'price',
    withholding_tax: 0,
    reinvestment: 'index',
    special_dividends: 'adjust',
    splits: 'apply',
  } as const;
  const growth = createGrowthTerms(treatment, 'USD');
  const readPrice = (session: number) =>
    readSecurityAsKnown({ sm, rates: createExchangeRates(sm, 'USD'), growth, session, sessions: 1 }, 0, 1).price;
  expect([0, 1, 2].map(readPrice)).toEqual([100, 80, (80 + 40) / 2]);
});

test('the mean volume is in shares of the day: volumes before a split are restated to the later share basis', () => {
  const dates = ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05'];
  const market = buildMarket({
    dates,
    close: { A: [40, 42, 21, 7], B: [10, 10, 100, 100] },
    fields: { VOLUME: { A: [1000, 1300, 2000, 9000], B: [500, 700, 60, 80] } },
    actions: [
      { name: 'A', type: 'SPLIT', value: 2, ex: dates[2]! },
      { name: 'A', type: 'SPLIT', value: 3, ex: dates[3]! },
      { name: 'B', type: 'SPLIT', value: 0.1, ex: dates[2]! },
    ],
  });
  const calendars = createWeekdayCalendars({ MAIN: { from: dates[0]!, to: '2024-01-31' } });
  const sm = alignMarket({ market, calendar: calendars.get('MAIN')!, calendars });
  const readAdv = (session: number, sessions: number) =>
    [0, 1].map(
      (column) =>
        readSecurityAsKnown(
          { sm, rates: createExchangeRates(sm, 'USD'), growth: createSecurityTerms('price', 'USD'), session, sessions },
          column,
          0.5,
        ).adv,
    );
  expect(readAdv(1, 4)).toEqual([1150, 600]);
  expect(readAdv(2, 2)).toEqual([(2 * 1300 + 2000) / 2, (70 + 60) / 2]);
  const [a, b] = readAdv(3, 4);
  expect(a).toBeCloseTo((6 * 1000 + 6 * 1300 + 3 * 2000 + 9000) / 4, 9);
  expect(b).toBeCloseTo((50 + 70 + 60 + 80) / 4, 9);
});

test('securities that cannot be traded are excluded with the reason, and a lot of an unknown security is refused', () => {
  const dates = ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05'];
  const missingPrices = [5, 5, NaN, NaN];
  const market = buildMarket({
    dates,
    close: {
      A: [1, 1, 1, 1],
      GONE: missingPrices,
      OFFER: missingPrices,
      OLD: [7, NaN, NaN, NaN],
      LATE: [9, NaN, NaN, NaN],
      SHUT: missingPrices,
    },
    actions: [
      { name: 'GONE', type: 'ACQUISITION', value: 6, ex: dates[2]! },
      { name: 'OFFER', type: 'MERGER', value: 0.5, ex: dates[2]!, related: 'A' },
      { name: 'SHUT', type: 'DELISTING', value: 0, isUnpriced: true, ex: dates[2]! },
    ],
  });
  const calendars = createWeekdayCalendars({ MAIN: { from: dates[0]!, to: '2024-01-31' } });
  const sm = alignMarket({ market, calendar: calendars.get('MAIN')!, calendars });
  const holdings = ['A', 'GONE', 'OLD', 'OFFER', 'SHUT', 'LATE'].map((identifier) => ({ identifier, shares: 10 }));
  const base = { sm, session: 3, maxStaleSessions: 2, weights: new Map([[sm.columnOf('LATE'), 1]]) };
  const { accounts, columns, findings } = locateHoldings(
    base,
    request({ accounts: [{ name: 'F', cash: 1, holdings }] }),
  );
  // The index trades purchases that had to wait at its last close, as it does with other purchases.
  expect(accounts[0]!.holdings.map(({ identifier }) => identifier)).toEqual(['A', 'LATE']);
  expect([...columns].map((column) => sm.identifiers[column])).toEqual(['A', 'LATE']);
  expect(findings.map(({ code, value, path }) => [code, value, path])).toEqual([
    ['STALE_FILL', 'GONE', 'accounts[0].holdings[1].identifier'],
    ['STALE_FILL', 'OLD', 'accounts[0].holdings[2].identifier'],
    ['STALE_FILL', 'OFFER', 'accounts[0].holdings[3].identifier'],
    ['STALE_FILL', 'SHUT', 'accounts[0].holdings[4].identifier'],
  ]);
  expect(findings.map(({ message }) => message.split('not included. ')[1]!.split(' Add the cash')[0])).toEqual([
    'It has ended (ACQUISITION of 2024-01-04): paid 6 per share.',
    'Its last price bar is on 2024-01-02, more than 2 sessions ago.',
    'It has ended (MERGER of 2024-01-04): a share became 0.5 of A.',
    'It has ended (DELISTING of 2024-01-04): the data does not contain the payment.',
  ]);
  expect(() => locateHoldings(base, request({ aum: 1, lot_sizes: { a: 100 } }))).toThrow(
    expectRefusalAt('lot_sizes.a'),
  );
});

test('an account holds a security once, and each account may hold it', () => {
  const repeatedHoldings = ['A', 'B', 'A'].map((identifier) => ({ identifier, shares: 1 }));
  const { error } = RebalancePackRequest.safeParse({ accounts: [{ name: 'F', holdings: repeatedHoldings }] });
  expect(error!.issues).toMatchObject([{ path: ['accounts', 0, 'holdings', 2, 'identifier'] }]);
  expect(error!.issues[0]!.message).toContain('holdings[0]');
  const accounts = ['F', 'G'].map((name) => ({ name, holdings: repeatedHoldings.slice(0, 2) }));
  expect(RebalancePackRequest.safeParse({ accounts }).success).toBe(true);
});
