import { expect, test } from 'vitest';
import { listChangedFields, resolveChange, type Side } from '#console/words/changes.js';
import { formatPath, type JsonObject } from '#console/words/paths.js';

const createTopN = (count: number) => ({ type: 'TopN', id: 'top', params: { count } });
const history = { type: 'HistoryFilter', id: 'history' };
const base = { name: 'Core', base_value: 1000, tags: ['a'], pipeline: { selection: [createTopN(30)], cap: 0.1 } };

const findConflicts = (ownDocument: JsonObject, otherDocument: JsonObject) =>
  Object.fromEntries(
    listChangedFields({ base, mine: ownDocument, theirs: otherDocument }).map((field) => [
      formatPath(field.path),
      field,
    ]),
  );

test('a field is shown with its earlier value, the value of each editor, and the author of the change', () => {
  const ownDocument = { ...base, name: 'Mine', base_value: 500 };
  const otherDocument = { ...base, base_value: 700, tags: ['a', 'b'] };
  expect(findConflicts(ownDocument, otherDocument)).toMatchObject({
    name: { before: 'Core', mine: 'Mine', theirs: 'Core', by: 'you' },
    base_value: { before: 1000, mine: 500, theirs: 700, by: 'both' },
    tags: { before: ['a'], mine: ['a'], theirs: ['a', 'b'], by: 'them' },
  });
  const sameDocument = { ...base, name: 'Same' };
  expect(listChangedFields({ base, mine: sameDocument, theirs: sameDocument })).toEqual([]);
});

test('a list with other rows is one field, and none of its elements is a separate field', () => {
  const ownDocument = { ...base, pipeline: { ...base.pipeline, selection: [createTopN(20)] } };
  const otherDocument = { ...base, pipeline: { ...base.pipeline, selection: [history, createTopN(30)] } };
  expect(Object.keys(findConflicts(ownDocument, otherDocument))).toEqual(['pipeline.selection']);
  // The list has the same length but different rows.
  const other = { ...base, pipeline: { ...base.pipeline, selection: [history] } };
  expect(Object.keys(findConflicts(ownDocument, other))).toEqual(['pipeline.selection']);
  expect(Object.keys(findConflicts(ownDocument, base))).toEqual(['pipeline.selection[0].params.count']);
});

test('a field changed by one editor keeps the change; a field changed by both needs a choice', () => {
  const { tags: _, ...withoutTags } = base;
  const ownDocument: JsonObject = { ...withoutTags, name: 'Mine', base_value: 500 };
  const otherDocument = { ...base, base_value: 700, pipeline: { ...base.pipeline, cap: 0.05 } };
  const fields = listChangedFields({ base, mine: ownDocument, theirs: otherDocument });
  const resolveFor = (side: Side) => resolveChange(otherDocument, fields, new Map([['base_value', side]]));
  expect(resolveChange(otherDocument, fields, new Map())).toBeNull();
  const bothChanges = { name: 'Mine', pipeline: { ...base.pipeline, cap: 0.05 } };
  expect(resolveFor('mine')).toEqual({ ...bothChanges, base_value: 500 });
  expect(resolveFor('theirs')).toEqual({ ...bothChanges, base_value: 700 });
});
