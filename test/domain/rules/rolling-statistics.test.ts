import { expect, test } from 'vitest';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { TreatmentSpec } from '#domain/definition/index-document.js';
import { alignMarket, type SessionMarket } from '#domain/market/session-market.js';
import { createLatestRequest } from '#domain/datapoints/fields.js';
import { createIndexCrossSections } from '#domain/decide/rule-decider.js';
import { alignDays, CALENDARS, createTableMarket, WEEKDAYS } from './rule-market.js';
import { generateTestMarket } from '../../synthetic-market.js';

const SESSIONS = 120;
const NAMES = 12;
const EVERY_NAME = Int32Array.from({ length: NAMES }, (_, i) => i);

/** Returns a market with gaps, late listings and early ends. */
function createRandomMarket(seed: number, missingRate: number, sessions = SESSIONS): SessionMarket {
  const market = generateTestMarket({
    seed,
    assets: NAMES,
    sessions: WEEKDAYS.sessions.slice(0, sessions),
    exchange: WEEKDAYS.code,
    specific_volatility: 0.3,
    dividend_yield: 0.03,
    splits_per_year: 1,
    delistings_per_year: 1,
    listings_per_year: 1,
    missing_rate: missingRate,
  });
  return alignMarket({
    market: { ...market, datasetId: 'm', contentHash: 'h', adjustment: 'none' },
    calendar: WEEKDAYS,
    calendars: CALENDARS,
  });
}
const sm = createRandomMarket(9, 0.03);

/** Sets of constituents, which change occasionally. While they do not change, the same array is passed. */
const heldSets = [0, 1, 2].map((k) => EVERY_NAME.filter((i) => i % 3 !== k));
/** Universe of one security. It has no mean return while the security has no price. */
const singleColumn = EVERY_NAME.subarray(4, 5);
const readHeldOn = (session: number): Int32Array => heldSets[Math.floor(session / 17) % heldSets.length]!;
const listUniverseOn = (session: number): Int32Array => (session % 40 < 8 ? singleColumn : readHeldOn(session));
const FIELDS = ['BETA', 'VOLATILITY', 'MOMENTUM'].flatMap((name) =>
  [5, 21].map((window) => createLatestRequest(name, { window })),
);

interface WindowOptions {
  readonly market?: SessionMarket;
  /** Securities for which windows are updated step by step. If it is null, every window is computed separately. */
  readonly followed: Int32Array | null;
}

function computeValuesOn(sessions: readonly number[], { market = sm, followed }: WindowOptions): number[][][] {
  const terms = { market, treatment: TreatmentSpec.parse({}), currency: 'USD' };
  const sections = createIndexCrossSections(followed === null ? terms : { ...terms, followed });
  return sessions.map((session) => {
    const section = sections.at(session, listUniverseOn(session));
    return FIELDS.map((field) => [...section.numbers(field, readHeldOn(session))]);
  });
}

const ALL_SESSIONS = Array.from({ length: SESSIONS }, (_, session) => session);

test.each([
  [9, 0.03],
  [4, 0],
  [5, 0.15],
  [6, 0.3],
])(
  'statistics of rolling windows equal those of each window computed separately, up to rounding: market %i',
  (seed, rate) => {
    const market = createRandomMarket(seed, rate);
    const [rolledValues, separateValues] = [EVERY_NAME, null].map((followed) =>
      computeValuesOn(ALL_SESSIONS, { market, followed }),
    );
    let comparedCount = 0;
    rolledValues!.forEach((fields, session) =>
      fields.forEach((values, f) =>
        values.forEach((value, i) => {
          const expected = separateValues![session]![f]![i]!;
          if (Number.isNaN(expected) && Number.isNaN(value)) return;
          comparedCount++;
          const isClose = Math.abs(value - expected) < 1e-11 * Math.max(1, Math.abs(expected));
          if (!isClose) expect({ session, f, i, value }).toEqual({ session, f, i, value: expected });
        }),
      ),
    );
    expect(comparedCount).toBeGreaterThan(1000);
  },
);

test('a rolling window is bit-identical whichever sessions were read before', () => {
  const wholeValues = computeValuesOn(ALL_SESSIONS, { followed: EVERY_NAME });
  for (const sessions of [ALL_SESSIONS.filter((session) => session % 7 === 3), [40, 41, 41, 90, 50, 51, 52]])
    expect(computeValuesOn(sessions, { followed: EVERY_NAME })).toEqual(
      sessions.map((session) => wholeValues[session]),
    );
});

test('the bits of a security do not depend on the other followed securities; securities without neighbours are computed alone', () => {
  const fewColumns = EVERY_NAME.filter((i) => i !== 7);
  const [wholeValues, partValues, separateValues] = [EVERY_NAME, fewColumns, null].map((followed) =>
    computeValuesOn(ALL_SESSIONS, { followed }),
  );
  for (const session of ALL_SESSIONS) {
    const isFollowed = [readHeldOn(session), listUniverseOn(session)].every((names) => !names.includes(7));
    if (isFollowed) expect(partValues![session]).toEqual(wholeValues![session]);
    else if (readHeldOn(session).includes(7)) expect(partValues![session]).toEqual(separateValues![session]);
  }
});

test('latest values read session by session equal those of separate sessions, and of sessions out of order', () => {
  const market = createRandomMarket(12, 0.05, 700);
  const terms = { market, treatment: TreatmentSpec.parse({}), currency: 'USD' };
  const sections = createIndexCrossSections(terms);
  expect(sections.latest('BETA')).toBeNull();
  for (const field of ['CLOSE', 'MARKET_CAP', 'FREE_FLOAT_MARKET_CAP', 'DIVIDEND_YIELD', 'RETURN', 'SALES']) {
    const read = sections.latest(field)!;
    const ascendingSessions = Array.from({ length: 40 }, (_, k) => 17 * k);
    for (const session of [...ascendingSessions, 650, 20, 21, 400]) {
      const columns = readHeldOn(session);
      const out = new Float64Array(columns.length);
      read(session, columns, out);
      expect([...out]).toEqual([
        ...createIndexCrossSections(terms).at(session, columns).numbers(createLatestRequest(field), columns),
      ]);
    }
  }
});

test('a dividend of 29 February counts until 28 February of the next year, at the shares of each day', () => {
  const closes = WEEKDAYS.sessions.filter(
    (day) => day >= parseValidDay('2016-01-04') && day <= parseValidDay('2017-03-31'),
  );
  const market = alignDays(
    createTableMarket({
      identifiers: ['A'],
      start: '2016-01-04',
      fields: { CLOSE: Array.from(closes, () => [100]) },
      actions: [
        { identifier: 'A', type: 'DIVIDEND', exDay: parseValidDay('2016-02-29'), value: 3 },
        { identifier: 'A', type: 'DIVIDEND', exDay: parseValidDay('2016-09-01'), value: 1 },
        { identifier: 'A', type: 'SPLIT', exDay: parseValidDay('2016-12-01'), value: 2 },
      ],
    }),
  );
  const read = createIndexCrossSections({ market, treatment: TreatmentSpec.parse({}), currency: 'USD' }).latest(
    'DIVIDEND_YIELD',
  )!;
  const column = Int32Array.of(0);
  const out = new Float64Array(1);
  const changes = [...market.sessions.keys()].flatMap((session) => {
    const before = out[0];
    read(session, column, out);
    return session > 0 && out[0] === before ? [] : [`${formatDay(market.sessions[session]!)} ${out[0]!}`];
  });
  expect(changes).toEqual([
    '2016-01-04 0',
    '2016-02-29 0.03',
    '2016-09-01 0.04',
    '2016-12-01 0.02',
    '2017-03-01 0.005',
  ]);
});
