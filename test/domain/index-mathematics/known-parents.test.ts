import { describe, expect, test } from 'vitest';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { createComposer } from '#domain/books/composer.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { findLastAtMost } from '#domain/base/numbers.js';
import { previewRules } from '#domain/decide/preview.js';
import { parseValidDay } from '#domain/base/time.js';
import { buildMarket } from '../backtest/market-builder.js';
import { CALENDARS, listWeekdays } from './index-case.js';
import { createDocument } from '../index-document.js';

const DAYS = listWeekdays(30);
/** Reference session and effective session of the review. */
const [DECISION, EFFECTIVE] = [10, 15];

interface ParentCase {
  readonly rebalance: object;
  /** Session on which C is delisted. */
  readonly delisted?: number;
  /** Additional members of both index documents. */
  readonly both?: object;
  /** Selection rules of the child index. The child is based on the parent and has the same schedule. */
  readonly selection?: readonly object[];
}

function createCaseComposer({ delisted, rebalance, both, selection = [] }: ParentCase) {
  const market = buildMarket({
    dates: DAYS,
    close: {
      A: DAYS.map(() => 100),
      B: DAYS.map((_, t) => (t < DECISION ? 50 : 80)),
      C: DAYS.map((_, t) => (delisted !== undefined && t >= delisted ? null : 100)),
    },
    actions: delisted === undefined ? [] : [{ name: 'C', type: 'DELISTING', value: 100, ex: DAYS[delisted]! }],
  });
  const parent = createDocument({
    id: 'P',
    base_date: DAYS[0],
    rebalance: { frequency: 'custom', dates: [DAYS[EFFECTIVE]], effective_lag: EFFECTIVE - DECISION, ...rebalance },
    ...both,
  });
  const child = IndexDocument.parse({
    ...parent,
    id: 'C',
    universe: { kind: 'index', id: 'P' },
    pipeline: { ...parent.pipeline, selection },
  });
  return createComposer({
    market,
    calendars: CALENDARS,
    documents: { P: parent, C: child },
    until: parseValidDay(DAYS.at(-1)!),
    createDecider: indexDecider,
  });
}

function createKnownComposer(session: number, input: ParentCase) {
  const composer = createCaseComposer(input);
  const sm = composer.market('P');
  const { columns, weights } = composer.decidedOn('P', findLastAtMost(sm.sessions, parseValidDay(DAYS[session]!)))!;
  return Object.fromEntries(Array.from(columns, (column, k) => [sm.identifiers[column], weights[k]]));
}

describe.each([
  ['shares', {}],
  ['weights', {}],
  ['shares', { pricing_date: { rule: 'sessions_before', sessions: 0 } }],
  ['weights', { phase: { sessions: 2 } }],
])('a parent with weights_as %j and %j', (weightsAs, members) => {
  const rebalance = { weights_as: weightsAs, ...members };

  test.each([DECISION, EFFECTIVE - 1])('is known on session %d without an exit that comes later', (session) => {
    const expected = createKnownComposer(session, { rebalance });
    expect(Object.keys(expected)).toEqual(['A', 'B', 'C']);
    expect(createKnownComposer(session, { rebalance, delisted: EFFECTIVE })).toEqual(expected);
  });

  test('holds the others once it has taken effect', () => {
    expect(Object.keys(createKnownComposer(EFFECTIVE + 2, { rebalance, delisted: EFFECTIVE - 1 }))).toEqual(['A', 'B']);
  });
});

describe('an index on the constituents of a parent with the same base date and notice', () => {
  const terms = { base_date: DAYS[EFFECTIVE] };
  const rebalance = { dates: [] };
  const listFirstComposition = (input: Omit<ParentCase, 'rebalance'>) => {
    const [composition] = createCaseComposer({ rebalance, both: terms, ...input }).compositions('C').list;
    const { columns, decision, session } = composition!;
    return [decision, session, Array.from(columns, (column) => 'ABC'[column]).join('')];
  };

  test('begins with those that the parent has decided by then', () => {
    expect(listFirstComposition({})).toEqual([DECISION, EFFECTIVE, 'ABC']);
    const mostExpensive = { id: 'top', type: 'TopN', params: { field: 'CLOSE', count: 2 } };
    expect(listFirstComposition({ selection: [mostExpensive] })).toEqual([DECISION, EFFECTIVE, 'AC']);
    expect(listFirstComposition({ delisted: EFFECTIVE - 2 })).toEqual([DECISION, EFFECTIVE, 'AB']);
  });

  test('follows those in force later', () => {
    const composer = createCaseComposer({
      rebalance: { dates: [DAYS[EFFECTIVE + 6]] },
      both: terms,
      delisted: EFFECTIVE + 3,
    });
    expect(composer.compositions('C').list.map(({ columns }) => columns.length)).toEqual([3, 2]);
  });
});

const SET_OF_PARENT = {
  kind: 'union',
  of: [
    { kind: 'index', id: 'P' },
    { kind: 'list', identifiers: ['A'] },
  ],
};

test.each([
  ['a set that contains a parent', SET_OF_PARENT, []],
  ['the parent alone', { kind: 'index', id: 'P' }, []],
  ['a filter by its members', { kind: 'all' }, [{ id: 'in', type: 'MembershipFilter', params: { index_id: 'P' } }]],
])('%s has the decided constituents, whether or not the data reach their effective close', (_, universe, selection) => {
  const market = buildMarket({
    dates: DAYS,
    close: {
      A: DAYS.map(() => 100),
      B: DAYS.map((_, t) => (t < DECISION ? 50 : 120)),
      C: DAYS.map(() => 90),
    },
  });
  const base = { name: 'X', calendar: 'MAIN', base_date: DAYS[0] };
  const parent = IndexDocument.parse({
    ...base,
    id: 'P',
    rebalance: { frequency: 'custom', dates: [DAYS[EFFECTIVE]], effective_lag: EFFECTIVE - DECISION },
    pipeline: {
      selection: [{ id: 'top', type: 'TopN', params: { field: 'CLOSE', count: 2 } }],
      weighting: { type: 'EqualWeight' },
    },
  });
  const child = IndexDocument.parse({
    ...base,
    id: 'C',
    rebalance: { frequency: 'custom', dates: [DAYS[12]] },
    universe,
    pipeline: { selection, weighting: { type: 'EqualWeight' } },
  });
  const listConstituents = (until: string) => {
    const composer = createComposer({
      market,
      calendars: CALENDARS,
      documents: { P: parent, C: child },
      until: parseValidDay(until),
      createDecider: indexDecider,
    });
    return composer
      .compositions('C')
      .list.map(({ columns }) => Array.from(columns, (column) => 'ABC'[column]).join(''));
  };
  expect(listConstituents(DAYS.at(-1)!)).toEqual(['AC', 'AB']);
  expect(listConstituents(DAYS[13]!)).toEqual(['AC', 'AB']);
});

test.each([
  [
    'weights',
    { weighting: { type: 'FixedWeight', params: { weights: { A: 0.7, B: 0.6, C: 0.3 } } } },
    { A: 0.7, C: 0.3 },
  ],
])(
  'the preview of a review of %s starts from the composition that is decided but pending',
  (scope, rules, expected) => {
    // A and B until session 15; C replaces B by a decision of session 10. The other review is decided on session 12.
    const market = buildMarket({
      dates: DAYS,
      close: { A: DAYS.map(() => 9), B: DAYS.map((_, t) => (t < DECISION ? 8 : 6)), C: DAYS.map(() => 7) },
    });
    const document = createDocument({
      base_date: DAYS[0],
      rebalance: { frequency: 'custom', dates: [DAYS[EFFECTIVE]], effective_lag: EFFECTIVE - DECISION },
      pipeline: {
        selection: [{ id: 'top', type: 'TopN', params: { field: 'CLOSE', count: 2 } }],
        weighting: { type: 'EqualWeight' },
      },
      reviews: [
        { id: 'other', scope, schedule: { frequency: 'custom', dates: [DAYS[17]], effective_lag: 5 }, ...rules },
      ],
    });
    const openComposer = (until: string) =>
      createComposer({
        market,
        calendars: CALENDARS,
        documents: { X: document },
        until: parseValidDay(until),
        createDecider: indexDecider,
      });
    const listWeights = (columns: Int32Array, weights: Float64Array) =>
      Object.fromEntries(Array.from(columns, (column, k) => ['ABC'[column]!, weights[k]!]));
    const { resolved } = previewRules(openComposer(DAYS[12]!), 'X', parseValidDay(DAYS[12]!));
    const { columns, weights } = resolved!.decision as never as { columns: Int32Array; weights: Float64Array };
    expect(listWeights(columns, weights)).toEqual(expected);
    const run = openComposer(DAYS.at(-1)!).compositions('X').list.at(-1)!;
    const decided = run.targets ?? run;
    expect(listWeights(decided.columns, decided.weights)).toEqual(expected);
  },
);
