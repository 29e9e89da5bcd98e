import { expect, test } from 'vitest';
import type { MarketData } from '#domain/market/market-data.js';
import { buildMarket } from '../backtest/market-builder.js';
import { run } from '../backtest/random-run.js';
import { createOverlayIndex, addRates } from './overlay-case.js';
import { createDocument } from '../index-document.js';

/** Last session of a month, on which forwards expire, and the session before it. */
const DATES = ['2024-01-30', '2024-01-31'];

/**
 * Returns a market with a foreign index and an exchange rate. The index grows by a factor. The rate moves from one
 * value to another.
 */
function createMarket(growth: number, rates: readonly [number, number], pair: string): MarketData {
  const plainMarket = addRates(buildMarket({ dates: DATES, close: { A: [100, 100 * growth] } }));
  const series = new Map(plainMarket.series);
  const days = Int32Array.from(plainMarket.dates);
  const datedSeries = { name: null, currency: null, days };
  series.set(pair, { ...datedSeries, identifier: pair, closes: Float64Array.from(rates) });
  series.set('ZERO', { ...datedSeries, identifier: 'ZERO', closes: new Float64Array(days.length) });
  return { ...plainMarket, series };
}

function computeEndLevel(market: MarketData, overlay: Readonly<Record<string, unknown>>, currency: string): number {
  const base = { base_date: DATES[0]! };
  const underlying = createDocument({
    ...base,
    currency,
    rebalance: { frequency: 'none' },
    pipeline: { weighting: { type: 'EqualWeight' } },
  });
  const document = createOverlayIndex(overlay, { ...base, base_value: 100_000, currency: 'USD' });
  return run(market, document, { documents: { X: underlying } }).index.book.value.at(-1)!;
}

/**
 * S&P Dow Jones Indices, Practice Essentials, Mechanics of Currency Hedged Indices, exhibit 1. USD 100,000 in Japan is
 * hedged at 100 yen per dollar. It remains USD 100,000 whether the yen strengthens to 95 or weakens to 105. Without a
 * hedge, the 10 million yen are worth their value in dollars.
 */
test.each([95, 105])('100,000 dollars in yen, by S&P: hedged, their value stays, at %d yen per dollar', (yen) => {
  const market = createMarket(1, [1 / 100, 1 / yen], 'JPYUSD');
  const rates = { domestic: 'ZERO', foreign: 'ZERO' };
  expect(computeEndLevel(market, { type: 'currency_hedged', to: 'USD', rates }, 'JPY')).toBeCloseTo(1e5, 6);
  const unhedgedLevel = computeEndLevel(market, { type: 'currency', to: 'USD' }, 'JPY');
  expect(unhedgedLevel).toBeCloseTo(10_000_000 / yen, 6);
});

/**
 * MSCI, MSCI Hedged Indexes, currency hedging in practice. A gain of 23.21 % in euros is a loss of 1.85 % in dollars,
 * while the euro falls from $1.38 to $1.10. The exchange rates are printed to a cent, so the loss is known only to
 * within 0.8 %.
 */
test('shares that gain 23.21 % in euros lose in dollars, by MSCI', () => {
  const market = createMarket(1.2321, [1.38, 1.1], 'EURUSD');
  const level = computeEndLevel(market, { type: 'currency', to: 'USD' }, 'EUR');
  expect(Math.abs(level / 100_000 - 1 + 0.0185)).toBeLessThan(0.008);
});
