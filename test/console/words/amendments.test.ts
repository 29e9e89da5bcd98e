import { describe, expect, test } from 'vitest';
import {
  addAmendment,
  AMENDABLE_MEMBERS,
  computeDefinitionsOn,
  createMergePatch,
  FIXED_TREATMENT,
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
