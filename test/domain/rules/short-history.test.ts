import { describe, expect, test } from 'vitest';
import { createComposer } from '#domain/books/composer.js';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { formatDay } from '#domain/base/time.js';
import { createLatestRequest } from '#domain/datapoints/fields.js';
import { createIndexCrossSections } from '#domain/decide/rule-decider.js';
import { explainConstituent } from '#domain/decide/explanation.js';
import { alignDays, CALENDARS, createRuleDocument, createTableMarket } from './rule-market.js';

/**
 * Position of the first price of the last of four securities. All four have prices on 60 weekdays from 1 January 2020
 * on, except that the last begins on the tenth weekday.
 */
const LATE_COLUMN = 9;
const CLOSE = Array.from({ length: 60 }, (_, t) =>
  [0, 1, 2, 3].map((n) => (n === 3 && t < LATE_COLUMN ? null : 100 + n + Math.sin(t * (n + 1)))),
);
const market = createTableMarket({ identifiers: ['A', 'B', 'C', 'LATE'], fields: { CLOSE } });
const FIELD = { name: 'MOMENTUM', window: 20, lag: 3 };
const TEXT = 'MOMENTUM over 20 sessions, 3 sessions back';
const RANKED_RULES = {
  selection: [{ id: 'top', type: 'TopN', params: { count: 2, field: FIELD } }],
  weighting: { type: 'EqualWeight' },
};
/** A return requires a previous price. The statistic requires half of 20 returns. All have a lag of three sessions. */
const describeKnown = (begin: number) => formatDay(market.dates[begin + 1 + (10 - 1) + 3]!);

const asOf = market.dates.at(-1)!;
const createComposerFor = (pipeline: unknown, base = 0) =>
  createComposer({
    market,
    calendars: CALENDARS,
    documents: { TEST: createRuleDocument(pipeline, { base_date: formatDay(market.dates[base]!) }) },
    until: asOf,
    createDecider: indexDecider,
  });

describe('a history that is too short for a datapoint', () => {
  test('of every security at the first rebalance is reported by name, with the window and the session that ends it', () => {
    const explanation = explainConstituent(createComposerFor(RANKED_RULES), 'TEST', { column: 0, asOf });
    expect(explanation).toMatchObject({ weight: null, held: null, excludedBy: 'top', inUniverse: true, asOf });
    expect([explanation.rebalance, explanation.decision]).toEqual([market.dates[0], market.dates[0]]);
    expect(explanation.datapoints).toMatchObject([{ field: TEXT, value: null, read: { knownFrom: describeKnown(0) } }]);
  });

  test('of one security is reported, even if others were selected', () => {
    const explanation = explainConstituent(createComposerFor(RANKED_RULES, 15), 'TEST', { column: 3, asOf });
    expect(explanation).toMatchObject({ weight: null, excludedBy: 'top' });
    expect(explanation.datapoints).toMatchObject([
      { field: TEXT, value: null, read: { knownFrom: describeKnown(LATE_COLUMN) } },
    ]);
  });

  test.each([
    ['a rule', RANKED_RULES, 'No security is left after the rule "top": none of the 3 securities has'],
    [
      'a weighting',
      { weighting: { type: 'FieldWeight', params: { field: FIELD } } },
      'None of the 3 selected securities',
    ],
  ])('is reported by the run that %s leaves without a security', (_, pipeline, message) => {
    const run = () => createComposerFor(pipeline).compositions('TEST');
    expect(run).toThrow(message);
    expect(run).toThrow(`${TEXT}. It can be known from ${describeKnown(0)} on`);
  });

  test('is reported with the number of securities that each rule leaves on the reference date', () => {
    const largest = { id: 'largest', type: 'TopN', params: { count: 2, field: { name: 'CLOSE' } } };
    const rules = { ...RANKED_RULES, selection: [largest, ...RANKED_RULES.selection] };
    const steps = [
      { position: 0, remaining: 3, rule_id: null, rule_type: null },
      { position: 1, remaining: 2, rule_id: 'largest', rule_type: 'TopN' },
      { position: 2, remaining: 0, rule_id: 'top', rule_type: 'TopN' },
    ];
    expect(() => createComposerFor(rules).compositions('TEST')).toThrow(
      expect.objectContaining({
        code: 'EMPTY_INDEX',
        detail: expect.objectContaining({ as_of: formatDay(market.dates[0]!), steps }),
      }),
    );
  });

  test.each([
    ['MOMENTUM', { window: 40, lag: 5 }],
    ['VOLATILITY', { window: 30 }],
    ['BETA', { window: 41, lag: 1 }],
    ['CLOSE', { window: 21, aggregate: 'mean' }],
    ['RETURN', { lag: 3 }],
    ['PRICE_RETURN', { lag: 3 }],
    ['CLOSE', { lag: 30 }],
  ] as const)('ends for %s %o on the reported session, and not before', (name, request) => {
    const { pipeline, currency } = createRuleDocument(RANKED_RULES);
    const sections = createIndexCrossSections({ market: alignDays(market), treatment: pipeline.treatment, currency });
    const [field, columns] = [createLatestRequest(name, request), Int32Array.of(0, 1, 2)];
    const report = sections.at(0, columns).read(field, 0).knownFrom;
    const row = market.dates.findIndex((day) => formatDay(day) === report);
    const readValueAt = (session: number) => sections.at(session, columns).numbers(field, columns)[0];
    expect([readValueAt(row - 1), Number.isFinite(readValueAt(row))]).toEqual([NaN, true]);
    expect(sections.at(row, columns).read(field, 0).knownFrom).toBeNull();
  });
});
