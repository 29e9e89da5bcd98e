import { expect, test } from 'vitest';
import { parseValidDay } from '#domain/base/time.js';
import { readRateSeries, refuseRateNotAboveZero } from '#domain/market/rates.js';
import { alignMarket } from '#domain/market/session-market.js';
import { buildMarket, createWeekdayCalendars } from '../backtest/market-builder.js';

const dates = ['2024-01-02', '2024-01-03', '2024-01-04'];
const calendars = createWeekdayCalendars({ XTST: { from: '2024-01-01', to: '2024-01-31' } });
const alignRates = (close: Readonly<Record<string, readonly (number | null)[]>>) =>
  alignMarket({ market: buildMarket({ dates, close }), calendar: calendars.get('XTST')!, calendars });

test('a pair that the store lacks is crossed through dollars, each leg carried by itself', () => {
  const sm = alignRates({ A: [1, 1, 1], EURUSD: [1.1, null, 1.2], GBPUSD: [null, 1.25, 1.5] });
  const rates = readRateSeries(sm, 'EUR', 'GBP')!.slice(sm.sessions.indexOf(sm.market.dates[0]!));
  expect(rates[0]).toBeNaN();
  expect(rates[1]).toBeCloseTo(1.1 / 1.25, 14);
  expect(rates[2]).toBeCloseTo(1.2 / 1.5, 14);
});

test('a pair that the store holds is not crossed, and one that leads nowhere is none', () => {
  const sm = alignRates({ A: [1, 1, 1], EURUSD: [1, 1, 1], GBPUSD: [2, 2, 2], EURGBP: [0.7, 0.7, 0.7] });
  expect(readRateSeries(sm, 'EUR', 'GBP')!.at(-1)).toBe(0.7);
  expect(readRateSeries(sm, 'EUR', 'SEK')).toBeUndefined();
});

test.each([0, -1])('a rate of %d is none, and its refusal names series, day and value, direct or crossed', (value) => {
  const createSeries = (identifier: string, closes: readonly number[]) =>
    [
      identifier,
      {
        identifier,
        name: null,
        currency: null,
        days: Int32Array.from(dates, parseValidDay),
        closes: Float64Array.from(closes),
      },
    ] as const;
  const market = {
    ...buildMarket({ dates, close: { A: [1, 1, 1] } }),
    series: new Map([createSeries('EURUSD', [1.1, value, 1.2]), createSeries('GBPUSD', [1.25, 1.25, 1.25])]),
  };
  const sm = alignMarket({ market, calendar: calendars.get('XTST')!, calendars });
  const first = sm.sessions.indexOf(market.dates[0]!);
  for (const [from, to] of [
    ['EUR', 'USD'],
    ['USD', 'EUR'],
    ['EUR', 'GBP'],
  ] as const) {
    expect([...readRateSeries(sm, from, to)!].slice(first).map((rate) => rate > 0)).toEqual([true, false, true]);
    expect(refuseRateNotAboveZero(sm, { from, to, session: first })).toBeUndefined();
    expect(refuseRateNotAboveZero(sm, { from, to, session: first + 1 })).toMatchObject({
      code: 'NUMERIC_FAILURE',
      message: `The exchange rate EURUSD is ${value} on 2024-01-03; a rate must be greater than 0.`,
    });
  }
});
