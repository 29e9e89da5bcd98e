import { expect, test } from 'vitest';
import { IndexDocument } from '#domain/definition/index-document.js';
import { validateIndex } from '#domain/definition/index-validation.js';
import { createMethodology } from '#domain/definition/methodology.js';
import { rankWeight } from '#domain/definition/weighting-classes.js';
import { topN } from '#domain/definition/selection-rankings.js';
import { createTypeSpec } from '#domain/definition/catalogue.js';
import { alignDays, CALENDARS, createGeneratedMarket, selectByRule, weightBy } from './rule-market.js';

const WINDOW = { name: 'MOMENTUM', window: 126, lag: 21 };
const createBody = (params: object, weighting: object = { type: 'EqualWeight' }) => ({
  id: 'X',
  name: 'X',
  calendar: 'TEST',
  base_date: '2020-06-01',
  rebalance: { frequency: 'monthly' },
  pipeline: { selection: [{ id: 'winners', type: 'TopN', params: { count: 20, ...params } }], weighting },
});
const check = (params: object) =>
  validateIndex(createBody(params), { calendars: CALENDARS.list(), indexOf: () => undefined });

test('a ranking by a datapoint with its window equals the ranking by the equivalent expression', () => {
  const sm = alignDays(createGeneratedMarket({ names: 60, sessions: 280, seed: 3 }));
  const bestNames = selectByRule(sm, { type: 'TopN', params: { field: WINDOW, count: 15 } });
  const weights = weightBy(sm, { type: 'RankWeight', params: { field: WINDOW } }) as Record<string, number>;
  const byWeight = Object.entries(weights).toSorted(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  expect(bestNames).toEqual(
    byWeight
      .slice(0, 15)
      .map(([name]) => name)
      .toSorted(),
  );
  expect(bestNames).not.toEqual(selectByRule(sm, { type: 'TopN', params: { field: 'MOMENTUM', count: 15 } }));
  const year = { name: 'MOMENTUM', window: 252 };
  expect(selectByRule(sm, { type: 'TopN', params: { field: year, count: 15 } })).toEqual(
    selectByRule(sm, { type: 'TopN', params: { field: 'MOMENTUM', count: 15 } }),
  );
  for (const name of bestNames) {
    const filter = { field: WINDOW, minimum: -1, maximum: 1e6 };
    expect(selectByRule(sm, { type: 'RangeFilter', params: filter })).toContain(name);
  }
});

test('the methodology states window and lag, also where a name alone means a year', () => {
  const formatSentences = (params: object) => createMethodology(IndexDocument.parse(createBody(params))).join(' ');
  expect(formatSentences({ field: WINDOW })).toContain('largest MOMENTUM over 126 sessions, 21 sessions back');
  expect(formatSentences({ field: 'MOMENTUM' })).toContain('largest MOMENTUM over 252 sessions');
  expect(formatSentences({ field: 'CLOSE' })).toContain('largest CLOSE;');
});

test.each([
  [{ field: { name: 'MOMENTUM', aggregate: 'mean', window: 5 } }, 'NOT_IN_CHOICES', 'field.aggregate'],
  [{ field: { name: 'CLOSE', aggregate: 'mean' } }, 'REQUIRED', 'field.window'],
  [{ field: { name: 'CLOSE', window: 0 } }, 'OUT_OF_RANGE', 'field.window'],
  [{ field: { name: 'CLOSE', windows: 5 } }, 'UNKNOWN_FIELD', 'field.windows'],
  [{ field: { window: 5 } }, 'REQUIRED', 'field.name'],
  [{ field: 7 }, 'WRONG_TYPE', 'field'],
  [{ field: '' }, 'OUT_OF_RANGE', 'field'],
])('%j is refused: %s at %s', (params, code, path) => {
  expect(check(params).findings.map((finding) => [finding.code, finding.path])).toEqual([
    [code, `pipeline.selection[0].params.${path}`],
  ]);
});

test('forms offer a text field, and state where the object is described', () => {
  for (const entry of [topN, rankWeight])
    expect(createTypeSpec(entry).parameters[0]).toMatchObject({ name: 'field', type: 'string', ref: 'Datapoint' });
});
