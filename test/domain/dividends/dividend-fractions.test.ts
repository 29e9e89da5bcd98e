import { expect, test } from 'vitest';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { listAnnouncedDividends, listPaidDividends } from '#domain/books/announced-dividends.js';
import { createGrowthTerms } from '#domain/market/action-effects.js';
import { alignMarket } from '#domain/market/session-market.js';
import { buildMarket, createWeekdayCalendars } from '../backtest/market-builder.js';

const calendars = createWeekdayCalendars({ XTST: { from: '2023-12-01', to: '2024-12-31' } });
const market = buildMarket({
  dates: ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05'],
  close: { A: [100, 102, 51, 50], E: [20, 20, null, 25], EURUSD: [1, 1.1, 1.2, 1.25] },
  reference: { A: { CURRENCY: 'USD' }, E: { CURRENCY: 'EUR' }, EURUSD: { CURRENCY: null } },
  actions: [
    { name: 'A', type: 'SPLIT', value: 2, ex: '2024-01-04' },
    { name: 'A', type: 'DIVIDEND', value: 1, ex: '2024-01-04' },
    { name: 'A', type: 'SPECIAL_DIVIDEND', value: 5, ex: '2024-01-05' },
    { name: 'E', type: 'DIVIDEND', value: 3, ex: '2024-01-05' },
    { name: 'E', type: 'DIVIDEND', value: 9, ex: '2024-01-03', cancelled: true },
    { name: 'A', type: 'SPLIT', value: 4, ex: '2024-01-20' },
    { name: 'A', type: 'DIVIDEND', value: 2, ex: '2024-02-01' },
    { name: 'E', type: 'DIVIDEND', value: 1, ex: '2024-02-02' },
  ],
});
const alignDays = (marketData = market) =>
  alignMarket({ market: marketData, calendar: calendars.get('XTST')!, calendars });
const treatment = {
  dividends: 'price',
  withholding_tax: 0,
  reinvestment: 'index',
  special_dividends: 'adjust',
  splits: 'apply',
} as const;
const terms = { growth: createGrowthTerms(treatment, 'USD'), splits: 'apply', withholding: 0 } as const;

test('a dividend of a suspended security is against its price after a special dividend, as in the level', () => {
  // The price of 100 is 80 after the special dividend, and 40 after the split.
  const sm = alignDays(
    buildMarket({
      dates: ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05'],
      close: { A: [100, null, null, null], B: [1, 1, 1, 1] },
      actions: [
        { name: 'A', type: 'SPECIAL_DIVIDEND', value: 20, ex: '2024-01-03' },
        { name: 'A', type: 'DIVIDEND', value: 4, ex: '2024-01-04' },
        { name: 'A', type: 'SPLIT', value: 2, ex: '2024-01-05' },
        { name: 'A', type: 'DIVIDEND', value: 4, ex: '2024-02-01' },
      ],
    }),
  );
  expect(listPaidDividends(sm, terms)[0]!.fraction).toBeCloseTo(4 / 80, 15);
  expect(listAnnouncedDividends(sm, sm.sessions.length - 1, terms)[0]!.fraction).toBeCloseTo(4 / 40, 15);
});

test('a dividend is against the price before it, on the shares of its ex-date, in the currency of the index', () => {
  const rows = listPaidDividends(alignDays(), terms);
  expect(rows.map(({ identifier, day }) => [identifier, formatDay(day)])).toEqual([
    ['A', '2024-01-04'],
    ['E', '2024-01-05'],
  ]);
  // Two new shares for one at 102. The last price of E is 20 euros. The exchange rate is 1.2 on the previous day and
  // 1.25 on the ex-date.
  expect(rows[0]!.fraction).toBeCloseTo(2 / 102, 15);
  expect(rows[1]!.fraction).toBeCloseTo((3 * 1.25) / (20 * 1.2), 15);
});

test('dividends to come are at the last price and rate, on the shares that splits make', () => {
  const sm = alignDays();
  const last = sm.sessions.length - 1;
  const rows = listAnnouncedDividends(sm, last, terms);
  expect(rows.map(({ identifier, exDay }) => [identifier, formatDay(exDay)])).toEqual([
    ['A', '2024-02-01'],
    ['E', '2024-02-02'],
  ]);
  expect(rows[0]!.fraction).toBeCloseTo((2 * 4) / 50, 15);
  expect(rows[1]!.fraction).toBeCloseTo(1 / 25, 15);
});

test('a later announcement is unknown, and known a day nearer the ex-date', () => {
  const announcedMarket = {
    ...market,
    actions: market.actions.map((one) => ({ ...one, announcedDay: parseValidDay('2024-01-05') })),
  };
  const sm = alignDays(announcedMarket);
  const last = sm.sessions.length - 1;
  expect(listAnnouncedDividends(sm, last - 1, terms)).toEqual([]);
  expect(listAnnouncedDividends(sm, last, terms)).toHaveLength(2);
});
