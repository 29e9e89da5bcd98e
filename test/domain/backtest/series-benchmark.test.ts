import { expect, test } from 'vitest';
import { assertAboveZero, assertSeriesBenchmark } from '#domain/books/benchmark.js';
import type { MarketData, PriceSeries } from '#domain/market/market-data.js';

const createSeries = (currency: string | null, closes: readonly number[]): PriceSeries => ({
  identifier: 'E',
  name: null,
  currency,
  days: Int32Array.from(closes, (_, i) => 100 + i),
  closes: Float64Array.from(closes),
});

/**
 * Returns the refusal of a benchmark for a run that starts on day 102. The store has the given exchange rates from day
 * 101 to day 104. Day 103 is not a session.
 */
function catchRefusal(benchmark: PriceSeries, pairs: readonly string[] = []): unknown {
  const market = {
    identifiers: ['A', ...pairs],
    dates: Int32Array.of(101, 102, 103, 104),
    currency: null,
  } as unknown as MarketData; // only the members that the code under test reads
  const calendar = { isSession: (day: number) => day !== 103 };
  try {
    assertSeriesBenchmark(benchmark, { currency: 'USD' }, { market, calendar, range: { start: 102, end: 110 } });
  } catch (failure) {
    return (failure as { code: string }).code;
  }
  return undefined;
}

test('a series in a currency without any rate is refused, and one with a rate, crossed or inverse, is not', () => {
  expect(catchRefusal(createSeries('EUR', [1, 1, 1, 1, 1]))).toBe('FX_MISSING');
  expect(catchRefusal(createSeries('EUR', [1, 1, 1, 1, 1]), ['EURUSD'])).toBeUndefined();
  expect(catchRefusal(createSeries('EUR', [1, 1, 1, 1, 1]), ['USDEUR'])).toBeUndefined();
  expect(catchRefusal(createSeries('SEK', [1, 1, 1, 1, 1]), ['SEKEUR', 'EURUSD'])).toBeUndefined();
  expect(catchRefusal(createSeries(null, [1, 1, 1, 1, 1]))).toBeUndefined();
});

test('a value of 0 or less is refused on a session of the range alone', () => {
  expect(catchRefusal(createSeries('USD', [1, 1, 0, 1, 1]))).toBe('NUMERIC_FAILURE');
  expect(catchRefusal(createSeries('USD', [1, 1, 1, 1, -2]))).toBe('NUMERIC_FAILURE');
  expect(catchRefusal(createSeries('USD', [0, 0, 1, -1, 1, 0]))).toBeUndefined();
});

test('its refusal has series, value and day: the first that is one of a session within the range', () => {
  const rate = createSeries(null, [-1, 1, 0, -0.5, 1]);
  const calendar = { isSession: (day: number) => day !== 102 };
  expect(() => assertAboveZero(rate, calendar, { start: 101, end: 104 })).toThrow(
    'The benchmark E is -0.5 on 1970-04-14; a benchmark level must be greater than 0.',
  );
  expect(() => assertAboveZero(rate, calendar, { start: 101, end: 102 })).not.toThrow();
});
