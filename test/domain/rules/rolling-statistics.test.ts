import { expect, test } from 'vitest';
import { TreatmentSpec } from '#domain/documents/index-document.js';
import { alignMarket } from '#domain/market/session-market.js';
import { latest } from '#domain/rules/datapoints/field-request.js';
import { crossSectionsOf } from '#domain/rules/decide.js';
import { generateMarket } from '#market/synthetic/generate-market.js';
import { CALENDARS, WEEKDAYS } from './rule-market.js';

const SESSIONS = 120;
const NAMES = 12;
/** Names with gaps, names that come and names that go. */
const market = generateMarket(
  {
    seed: 9,
    assets: NAMES,
    sessions: WEEKDAYS.sessions.slice(0, SESSIONS),
    exchange: WEEKDAYS.code,
    currency: 'USD',
    sectors: 2,
    market_return: 0.07,
    market_volatility: 0.16,
    specific_volatility: 0.3,
    dividend_yield: 0.03,
    splits_per_year: 1,
    delistings_per_year: 1,
    listings_per_year: 1,
    missing_rate: 0.03,
  },
  () => {},
);
const sm = alignMarket({
  market: { ...market, datasetId: 'm', contentHash: 'h', adjustment: 'none' },
  calendar: WEEKDAYS,
  calendars: CALENDARS,
});
const sectionsOf = (isRolling: boolean) =>
  crossSectionsOf({ market: sm, treatment: TreatmentSpec.parse({}), currency: 'USD', isRolling });

/** Names held, which change now and then; the same array as long as they do not. */
const held = [0, 1, 2].map((k) => Int32Array.from({ length: NAMES }, (_, i) => i).filter((i) => i % 3 !== k));
const heldOn = (session: number): Int32Array => held[Math.floor(session / 17) % held.length]!;
const FIELDS = ['BETA', 'VOLATILITY', 'MOMENTUM'].flatMap((name) => [5, 21].map((window) => latest(name, { window })));

function valuesOn(sessions: readonly number[], isRolling: boolean): number[][][] {
  const sections = sectionsOf(isRolling);
  return sessions.map((session) => {
    const section = sections.at(session, heldOn(session));
    return FIELDS.map((field) => [...section.numbers(field, heldOn(session))]);
  });
}

const ALL = Array.from({ length: SESSIONS }, (_, session) => session);

test('statistics of windows that roll on are those of each window by itself, up to rounding', () => {
  const [rolled, alone] = [valuesOn(ALL, true), valuesOn(ALL, false)];
  let known = 0;
  rolled.forEach((fields, session) =>
    fields.forEach((values, f) =>
      values.forEach((value, i) => {
        const expected = alone[session]![f]![i]!;
        expect([session, f, i, Number.isNaN(value)]).toEqual([session, f, i, Number.isNaN(expected)]);
        if (Number.isNaN(expected)) return;
        known++;
        expect(Math.abs(value - expected)).toBeLessThan(1e-11 * Math.max(1, Math.abs(expected)));
      }),
    ),
  );
  expect(known).toBeGreaterThan(3000);
});

test('a window that rolls on has the same bits whichever sessions were asked about before it', () => {
  const whole = valuesOn(ALL, true);
  for (const sessions of [ALL.filter((session) => session % 7 === 3), [40, 41, 90, 50, 51, 52]])
    expect(valuesOn(sessions, true)).toEqual(sessions.map((session) => whole[session]));
});
