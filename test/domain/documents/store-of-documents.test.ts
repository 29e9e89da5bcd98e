import { expect, test } from 'vitest';
import { createStoreFinder } from '#domain/definition/references.js';
import { IndexDocument } from '#domain/definition/index-document.js';

const createIndex = (id: string, fields: object) =>
  IndexDocument.parse({ id, name: id, calendar: 'XNYS', base_date: '2024-01-02', ...fields });
const weighting = { type: 'EqualWeight' };
const createDerived = (id: string, source: string) =>
  createIndex(id, { derivation: { source_index_id: source, objective: 'min_tracking_error', constraints: [] } });

test('an index belongs to its store, or to the store of the indices to which it refers', () => {
  const documents = [
    createIndex('OWN', { store_id: 'eu', pipeline: { weighting } }),
    createIndex('FREE', { pipeline: { weighting } }),
    createDerived('CHILD', 'OWN'),
    createDerived('GRANDCHILD', 'CHILD'),
    createDerived('OF-FREE', 'FREE'),
    createIndex('WITHIN', { universe: { kind: 'index', id: 'CHILD' }, pipeline: { weighting } }),
    createDerived('OF-NONE', 'MISSING'),
  ];
  const findStoreOf = createStoreFinder(new Map(documents.map((document) => [document.id, document])));
  expect(documents.map(({ id }) => `${id} ${findStoreOf(id)}`)).toEqual([
    'OWN eu',
    'FREE null',
    'CHILD eu',
    'GRANDCHILD eu',
    'OF-FREE null',
    'WITHIN eu',
    'OF-NONE null',
  ]);
});

test('a circle of references ends', () => {
  const circle = [createDerived('A', 'B'), createDerived('B', 'A')];
  const findStoreOf = createStoreFinder(new Map(circle.map((document) => [document.id, document])));
  expect(findStoreOf('A')).toBeNull();
});
