import { describe, expect, test } from 'vitest';
import {
  addAmendment,
  AMENDABLE_MEMBERS,
  computeDefinitionsOn,
  createMergePatch,
  FIXED_TREATMENT,
  moveReviews,
  sortChanges,
} from '#console/words/changes.js';
import type { JsonObject } from '#console/words/paths.js';
import { AMENDABLE_MEMBERS as ALLOWED, FIXED_TREATMENT as FIXED } from '#domain/definition/index-document.js';
import { mergePatch } from '#domain/definition/amendments.js';
import { fc } from '../../fast-check.js';

const count = (value: number) => [{ id: 'top', type: 'TopN', params: { count: value } }];
const documentBefore = {
  id: 'CORE',
  name: 'Core',
  base_value: 1000,
  rebalance: { frequency: 'monthly' },
  pipeline: { selection: count(50), treatment: { dividends: 'total' }, weighting: { type: 'EqualWeight' } },
};
const editBody = (change: object): JsonObject => ({ ...documentBefore, ...change });

describe('changes of a definition with published closes', () => {
  test('are accepted as amendments in the cases that the service lists', () => {
    expect([AMENDABLE_MEMBERS, FIXED_TREATMENT]).toEqual([ALLOWED, FIXED]);
  });

  test('are classified: a title affects no close, a base value and dividends have no date', () => {
    const after = editBody({
      name: 'Other',
      base_value: 100,
      rebalance: { frequency: 'quarterly' },
      pipeline: { ...documentBefore.pipeline, treatment: { dividends: 'price' } },
    });
    const { amendable, fixed } = sortChanges(documentBefore, after, '2024-01-31');
    expect(amendable.map(({ path }) => path)).toEqual([['rebalance', 'frequency']]);
    expect(fixed.map(({ path }) => path)).toEqual([['base_value'], ['pipeline', 'treatment', 'dividends']]);
  });

  test('to amendments affect no close if they are added after the last one', () => {
    const createLaterAmendment = (date: string) => editBody({ amendments: [{ effective_from: date, changes: {} }] });
    const computeSizes = (document: JsonObject) => sortChanges(documentBefore, document, '2024-01-31').fixed.length;
    expect([
      computeSizes(createLaterAmendment('2024-02-01')),
      computeSizes(createLaterAmendment('2024-01-31')),
    ]).toEqual([0, 1]);
  });

  test('become an amendment after the earlier ones, with the title and without the other fields', () => {
    const storedBody = editBody({
      amendments: [{ effective_from: '2024-03-01', changes: { rebalance: { frequency: 'daily' } } }],
    });
    const after = { ...storedBody, name: 'Other', rebalance: { frequency: 'monthly', anchor: 'first_day' } };
    const change = { before: storedBody, after, amendable: sortChanges(storedBody, after, '2024-01-31').amendable };
    expect(computeDefinitionsOn('2024-06-01', change).amended['rebalance']).toEqual({
      frequency: 'daily',
      anchor: 'first_day',
    });
    expect(addAmendment('2024-06-01', { reason: 'Review' }, change)).toEqual({
      ...storedBody,
      name: 'Other',
      amendments: [
        { effective_from: '2024-03-01', changes: { rebalance: { frequency: 'daily' } } },
        { effective_from: '2024-06-01', reason: 'Review', changes: { rebalance: { anchor: 'first_day' } } },
      ],
    });
  });

  test('of rows that an earlier amendment replaced contain the whole list', () => {
    const storedBody = editBody({
      amendments: [{ effective_from: '2024-03-01', changes: { pipeline: { selection: [] } } }],
    });
    const after = { ...storedBody, pipeline: { ...documentBefore.pipeline, selection: count(40) } };
    const change = { before: storedBody, after, amendable: sortChanges(storedBody, after, '2024-01-31').amendable };
    expect(computeDefinitionsOn('2024-06-01', change).amended['pipeline']).toMatchObject({ selection: count(40) });
    expect(computeDefinitionsOn('2024-02-01', change).amended['pipeline']).toMatchObject({ selection: count(40) });
  });

  test('a merge patch converts one object into the other', () => {
    const value = fc.letrec((tie) => ({
      any: fc.oneof({ depthSize: 'small' }, fc.integer(), fc.string(), fc.array(fc.integer()), tie('object')),
      object: fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('any')),
    })).object as fc.Arbitrary<JsonObject>;
    fc.assert(
      fc.property(value, value, (from, to) => {
        expect(mergePatch(from, createMergePatch(from, to))).toEqual(to);
      }),
    );
  });
});

describe('moved reviews', () => {
  const quarterly = { frequency: 'quarterly', anchor: 'third_friday', effective_lag: 2, dates: [] };
  const before = { ...documentBefore, base_date: '2024-01-02', rebalance: quarterly };
  const dates = ['2024-03-15', '2024-06-21', '2024-09-20', '2024-12-20'];
  const date = (list: readonly string[], change: object = {}): JsonObject => ({
    ...before,
    rebalance: { ...quarterly, frequency: 'custom', dates: [...list] },
    ...change,
  });
  const listChanges = (document: JsonObject | null) =>
    (document!['amendments'] as readonly JsonObject[]).map(({ effective_from: from, changes }) => [from, changes]);

  test('become amendments that return to the schedule', () => {
    const after = date(['2024-03-14', '2024-06-21', '2024-12-20']);
    const moves = [
      { date: '2024-09-20', manner: 'ignored' },
      { date: '2024-03-15', manner: 'early' },
    ] as const;
    const moved = moveReviews(before, after, moves);
    expect(moved).toMatchObject({ rebalance: quarterly });
    const restored = { rebalance: { frequency: 'quarterly', anchor: 'third_friday', dates: [] } };
    // A review that is left out is a list of dates of which none is in its time.
    expect(listChanges(moved)).toEqual([
      ['2024-03-07', { rebalance: { frequency: 'custom', anchor: null, dates: ['2024-03-14'] } }],
      ['2024-03-22', restored],
      ['2024-09-13', { rebalance: { frequency: 'custom', anchor: null, dates: ['2024-12-20'] } }],
      ['2024-09-27', restored],
    ]);
  });

  test('join an amendment of the same date, and begin after the review before', () => {
    const weekly = { ...before, rebalance: { frequency: 'weekly', weekday: 4 } };
    const known = { effective_from: '2024-03-09', changes: { universe: { kind: 'all' } } };
    const after = date(['2024-03-01', '2024-03-08', '2024-03-18', '2024-03-22'], { amendments: [known] });
    expect(listChanges(moveReviews(weekly, after, [{ date: '2024-03-15', manner: 'late' }]))).toEqual([
      [
        '2024-03-09',
        { universe: { kind: 'all' }, rebalance: { frequency: 'custom', weekday: null, dates: ['2024-03-18'] } },
      ],
      ['2024-03-22', { rebalance: { frequency: 'weekly', weekday: 4, dates: null } }],
    ]);
  });

  test('stay dates where the schedule is amended, is a list of dates, or has no room between two of them', () => {
    const move = [{ date: '2024-06-21', manner: 'ignored' }] as const;
    const left = dates.toSpliced(1, 1);
    const amendment = { effective_from: '2024-05-02', changes: { rebalance: { frequency: 'monthly' } } };
    expect(moveReviews(before, date(left), move)).not.toBeNull();
    expect(moveReviews(before, date(left, { amendments: [amendment] }), move)).toBeNull();
    expect(moveReviews(date(dates), date(left), move)).toBeNull();
    const moves = ['2024-03-15', '2024-03-22'].map((one) => ({ date: one, manner: 'ignored' as const }));
    expect(moveReviews(before, date(['2024-03-08', '2024-03-29']), moves)).toBeNull();
  });
});
