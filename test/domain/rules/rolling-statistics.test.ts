import { expect, test } from 'vitest';
import { TreatmentSpec } from '#domain/documents/index-document.js';
import { alignMarket, type SessionMarket } from '#domain/market/session-market.js';
import { latest } from '#domain/rules/datapoints/field-request.js';
import { crossSectionsOf } from '#domain/rules/decide.js';
import { generateMarket } from '#market/synthetic/generate-market.js';
import { CALENDARS, WEEKDAYS } from './rule-market.js';

const SESSIONS = 120;
const NAMES = 12;
const EVERY_NAME = Int32Array.from({ length: NAMES }, (_, i) => i);

/** Names with gaps, names that come and names that go. */
function randomMarket(seed: number, missingRate: number): SessionMarket {
  const market = generateMarket(
    {
      seed,
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
      missing_rate: missingRate,
    },
    () => {},
  );
  return alignMarket({
    market: { ...market, datasetId: 'm', contentHash: 'h', adjustment: 'none' },
    calendar: WEEKDAYS,
    calendars: CALENDARS,
  });
}
const sm = randomMarket(9, 0.03);

/** Names held, which change now and then; the same array as long as they do not. */
const held = [0, 1, 2].map((k) => EVERY_NAME.filter((i) => i % 3 !== k));
/** A universe of one name has no return where that one lacks a bar. */
const alone = EVERY_NAME.subarray(4, 5);
const heldOn = (session: number): Int32Array => held[Math.floor(session / 17) % held.length]!;
const universeOn = (session: number): Int32Array => (session % 40 < 8 ? alone : heldOn(session));
const FIELDS = ['BETA', 'VOLATILITY', 'MOMENTUM'].flatMap((name) => [5, 21].map((window) => latest(name, { window })));

interface Asked {
  readonly market?: SessionMarket;
  /** Names whose windows roll on; null where each is worked out by itself. */
  readonly followed: Int32Array | null;
}

function valuesOn(sessions: readonly number[], { market = sm, followed }: Asked): number[][][] {
  const terms = { market, treatment: TreatmentSpec.parse({}), currency: 'USD' };
  const sections = crossSectionsOf(followed === null ? terms : { ...terms, followed });
  return sessions.map((session) => {
    const section = sections.at(session, universeOn(session));
    return FIELDS.map((field) => [...section.numbers(field, heldOn(session))]);
  });
}

const ALL = Array.from({ length: SESSIONS }, (_, session) => session);

test.each([
  [9, 0.03],
  [4, 0],
  [5, 0.15],
  [6, 0.3],
])('statistics of windows that roll on are those of each window by itself, up to rounding: market %i', (seed, rate) => {
  const market = randomMarket(seed, rate);
  const [rolled, apart] = [EVERY_NAME, null].map((followed) => valuesOn(ALL, { market, followed }));
  let known = 0;
  rolled!.forEach((fields, session) =>
    fields.forEach((values, f) =>
      values.forEach((value, i) => {
        const expected = apart![session]![f]![i]!;
        if (Number.isNaN(expected) && Number.isNaN(value)) return;
        known++;
        const isClose = Math.abs(value - expected) < 1e-11 * Math.max(1, Math.abs(expected));
        if (!isClose) expect({ session, f, i, value }).toEqual({ session, f, i, value: expected });
      }),
    ),
  );
  expect(known).toBeGreaterThan(1000);
});

test('a window that rolls on has the same bits whichever sessions were asked about before it', () => {
  const whole = valuesOn(ALL, { followed: EVERY_NAME });
  for (const sessions of [ALL.filter((session) => session % 7 === 3), [40, 41, 41, 90, 50, 51, 52]])
    expect(valuesOn(sessions, { followed: EVERY_NAME })).toEqual(sessions.map((session) => whole[session]));
});

test('the bits of a name do not depend on the others that are followed; names beside them are worked out by themselves', () => {
  const few = EVERY_NAME.filter((i) => i !== 7);
  const [whole, some, apart] = [EVERY_NAME, few, null].map((followed) => valuesOn(ALL, { followed }));
  for (const session of ALL) {
    const isFollowed = [heldOn(session), universeOn(session)].every((names) => !names.includes(7));
    if (isFollowed) expect(some![session]).toEqual(whole![session]);
    else if (heldOn(session).includes(7)) expect(some![session]).toEqual(apart![session]);
  }
});
