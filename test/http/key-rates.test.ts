import { expect, test } from 'vitest';
import { createKeyRates } from '#http/key-rates.js';

test('a key has a burst, then its rate, and no key uses up what is another’s', () => {
  let now = 1000;
  const rates = createKeyRates({ monotonicMs: () => now, perSecond: 10, burst: 5 });
  const taken = (key: string): number => {
    for (let count = 0; ; count++) {
      try {
        rates.take(key);
      } catch (refusal) {
        expect(refusal).toMatchObject({ code: 'RATE_LIMITED', detail: { requests_per_second: 10, burst: 5 } });
        return count;
      }
    }
  };
  expect([taken('a'), taken('a'), taken('b')]).toEqual([5, 0, 5]);
  now += 200;
  expect([taken('a'), taken('a')]).toEqual([2, 0]);
  now += 3_600_000;
  expect(taken('a')).toBe(5);
});
