import { expect, test } from 'vitest';
import { rateSeries } from '#domain/market/exchange-rates.js';
import { alignMarket } from '#domain/market/session-market.js';
import { buildMarket, weekdayCalendars } from '../backtest/market-builder.js';

const dates = ['2024-01-02', '2024-01-03', '2024-01-04'];
const calendars = weekdayCalendars({ XTST: { from: '2024-01-01', to: '2024-01-31' } });
const alignedWith = (close: Readonly<Record<string, readonly (number | null)[]>>) =>
  alignMarket({ market: buildMarket({ dates, close }), calendar: calendars.get('XTST')!, calendars });

test('a pair that the store lacks is crossed through dollars, each leg carried by itself', () => {
  const sm = alignedWith({ A: [1, 1, 1], EURUSD: [1.1, null, 1.2], GBPUSD: [null, 1.25, 1.5] });
  const rates = rateSeries(sm, 'EUR', 'GBP')!.slice(sm.sessions.indexOf(sm.market.dates[0]!));
  expect(rates[0]).toBeNaN();
  expect(rates[1]).toBeCloseTo(1.1 / 1.25, 14);
  expect(rates[2]).toBeCloseTo(1.2 / 1.5, 14);
});

test('a pair that the store holds is not crossed, and one that leads nowhere is none', () => {
  const sm = alignedWith({ A: [1, 1, 1], EURUSD: [1, 1, 1], GBPUSD: [2, 2, 2], EURGBP: [0.7, 0.7, 0.7] });
  expect(rateSeries(sm, 'EUR', 'GBP')!.at(-1)).toBe(0.7);
  expect(rateSeries(sm, 'EUR', 'SEK')).toBeUndefined();
});
