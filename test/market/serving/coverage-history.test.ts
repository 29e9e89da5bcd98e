import * as fc from '../../draws.js';
import { expect, test } from 'vitest';
import { countCoverage, GAPS_MAX, SESSIONS_MAX } from '#market/serve/coverage.js';

/** Creates a market from one text per security: `x` is a price, and any other character is a missing price. */
function createMarket(securities: readonly string[]) {
  const sessions = securities[0]?.length ?? 0;
  const closes = new Float64Array(sessions * securities.length);
  securities.forEach((text, i) =>
    [...text].forEach((mark, t) => (closes[t * securities.length + i] = mark === 'x' ? 10 : Number.NaN)),
  );
  return {
    dates: Int32Array.from({ length: sessions }, (_, t) => 19_000 + t),
    identifiers: securities.map((_, i) => `S${String(i).padStart(5, '0')}`),
    fields: new Map([['CLOSE', closes]]),
  };
}

test('a security has a gap between its first and its last price, and none before a listing or after a delisting', () => {
  const { gaps, incomplete } = countCoverage(createMarket(['x.x..xx', '..xxx..', '.......', 'xx.xxxx']));
  expect(gaps).toEqual([
    { identifier: 'S00000', start: 0, end: 6, missing: 3, longest: 2, first: 1, last: 4, sessions: [1, 3, 4] },
    { identifier: 'S00003', start: 0, end: 6, missing: 1, longest: 1, first: 2, last: 2, sessions: [2] },
  ]);
  expect(incomplete).toBe(2);
});

test('the missing prices of all securities are the difference of the expected and the present prices', () => {
  const markets = fc
    .integer({ min: 1, max: 12 })
    .chain((length) => fc.array(fc.string({ unit: fc.constantFrom('x', '.'), minLength: length, maxLength: length })));
  fc.assert(
    fc.property(markets, (securities) => {
      const { priced, expected, gaps } = countCoverage(createMarket(securities));
      const bySession = Array.from(expected, (count, t) => count - priced[t]!);
      const listed = bySession.map((_, t) => gaps.filter(({ sessions }) => sessions.includes(t)).length);
      expect(listed).toEqual(bySession);
    }),
  );
});

test('long lists end at their limits, which the counts exceed', () => {
  const long = `x${'.'.repeat(SESSIONS_MAX + 5)}x`;
  const { gaps, incomplete } = countCoverage(createMarket(Array.from({ length: GAPS_MAX + 1 }, () => long)));
  expect([gaps.length, incomplete]).toEqual([GAPS_MAX, GAPS_MAX + 1]);
  expect(gaps[0]).toMatchObject({ missing: SESSIONS_MAX + 5, longest: SESSIONS_MAX + 5, first: 1 });
  expect(gaps[0]!.sessions).toEqual(Array.from({ length: SESSIONS_MAX }, (_, k) => k + 6));
});
