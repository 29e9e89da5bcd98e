import { describe, expect, test } from 'vitest';
import { indexDecider } from '#domain/backtest/index-decider.js';
import { createComposer } from '#domain/books/create-composer.js';
import { IndexDocument } from '#domain/documents/index-document.js';
import { lastAtMost } from '#domain/numbers/search.js';
import { dayFrom } from '#domain/time/days.js';
import { buildMarket } from '../backtest/market-builder.js';
import { CALENDARS, weekdays } from './index-case.js';

const DAYS = weekdays(30);
/** Reference and effective session of the review. */
const [DECISION, EFFECTIVE] = [10, 15];

/** The composition of a parent as known on a session, by identifier; C is delisted on a session if one is given. */
function knownOn(session: number, { delisted, rebalance }: { delisted?: number; rebalance: object }) {
  const market = buildMarket({
    dates: DAYS,
    close: {
      A: DAYS.map(() => 100),
      B: DAYS.map((_, t) => (t < DECISION ? 50 : 80)),
      C: DAYS.map((_, t) => (delisted !== undefined && t >= delisted ? null : 100)),
    },
    actions: delisted === undefined ? [] : [{ name: 'C', type: 'DELISTING', value: 100, ex: DAYS[delisted]! }],
  });
  const parent = IndexDocument.parse({
    id: 'P',
    name: 'P',
    calendar: 'MAIN',
    base_date: DAYS[0],
    rebalance: { frequency: 'custom', dates: [DAYS[EFFECTIVE]], effective_lag: EFFECTIVE - DECISION, ...rebalance },
    pipeline: { weighting: { type: 'EqualWeight' } },
  });
  const until = dayFrom(DAYS.at(-1)!);
  const composer = createComposer({
    market,
    calendars: CALENDARS,
    documents: { P: parent },
    until,
    createDecider: indexDecider,
  });
  const sm = composer.market('P');
  const { columns, weights } = composer.decidedOn('P', lastAtMost(sm.sessions, dayFrom(DAYS[session]!)))!;
  return Object.fromEntries(Array.from(columns, (column, k) => [sm.identifiers[column], weights[k]]));
}

describe.each([
  ['shares', {}],
  ['weights', {}],
  ['shares', { pricing_date: { rule: 'sessions_before', sessions: 0 } }],
  ['weights', { phase: { sessions: 2 } }],
])('a parent with weights_as %j and %j', (weightsAs, more) => {
  const rebalance = { weights_as: weightsAs, ...more };

  test.each([DECISION, EFFECTIVE - 1])('is known on session %d without an exit that comes later', (session) => {
    const expected = knownOn(session, { rebalance });
    expect(Object.keys(expected)).toEqual(['A', 'B', 'C']);
    expect(knownOn(session, { rebalance, delisted: EFFECTIVE })).toEqual(expected);
  });

  test('holds the others once it has taken effect', () => {
    expect(Object.keys(knownOn(EFFECTIVE + 2, { rebalance, delisted: EFFECTIVE - 1 }))).toEqual(['A', 'B']);
  });
});
