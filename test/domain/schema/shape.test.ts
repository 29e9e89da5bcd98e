import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { findConstraintClass } from '#domain/definition/constraints.js';
import { findObjectiveClass } from '#domain/definition/objectives.js';
import { checkShape } from '#domain/base/schema.js';

const findMessage = (schema: z.ZodType, value: unknown) =>
  checkShape(schema, value).findings.map(({ message }) => message);

describe('a finding about a size states the received and the required number', () => {
  const list = z.strictObject({ shares: z.array(z.number()).min(2).max(3) });

  test.each([
    [[], 'shares has 0 entries; at least 2 are needed.'],
    [[1], 'shares has 1 entry; at least 2 are needed.'],
    [[1, 2, 3, 4], 'shares has 4 entries; at most 3 are accepted.'],
  ])('of a list: %j', (shares, message) => expect(findMessage(list, { shares })).toEqual([message]));

  test.each([
    ['', 'name has 0 characters; at least 2 are needed.'],
    ['x', 'name has 1 character; at least 2 are needed.'],
    ['long', 'name has 4 characters; at most 3 are accepted.'],
  ])('of a text: %j', (name, message) =>
    expect(findMessage(z.strictObject({ name: z.string().min(2).max(3) }), { name })).toEqual([message]),
  );

  test.each([
    [0, 'level is 0; more than 0 is needed.'],
    [101, 'level is 101; at most 100 is accepted.'],
  ])('of a number: %d', (level, message) =>
    expect(findMessage(z.strictObject({ level: z.number().gt(0).max(100) }), { level })).toEqual([message]),
  );
});

describe('an unknown field is reported with the nearest known one', () => {
  const nestedSchema = z.strictObject({
    universe: z.union([
      z.strictObject({ kind: z.literal('list'), identifiers: z.array(z.string()) }),
      z.strictObject({ kind: z.literal('named'), id: z.string() }),
    ]),
    rows: z.array(z.strictObject({ window: z.int().optional() })).optional(),
  });
  const LIST = { kind: 'list', identifiers: [] };

  test.each([
    [{ universe: LIST, rowss: [] }, 'Unknown field rowss. Did you mean rows?'],
    [{ universe: { ...LIST, identifier: 1 } }, 'Unknown field identifier. Did you mean identifiers?'],
    [{ universe: LIST, rows: [{ windw: 1 }] }, 'Unknown field windw. Did you mean window?'],
    [{ universe: LIST, colour: 1 }, 'Unknown field colour.'],
    [{ universe: { ...LIST, rows: [] } }, 'The field rows belongs next to universe, not inside it.'],
    [{ universe: { ...LIST, rows: [] }, rows: [] }, 'Unknown field rows.'],
  ])('%j', (value, message) => expect(findMessage(nestedSchema, value)).toEqual([message]));
});

test('one error is one finding: a value out of range is not reported again as a contradiction', () => {
  const { params: count } = findConstraintClass('Cardinality')!;
  expect(findMessage(count, { maximum: 0 })).toEqual(['maximum is 0; at least 1 is needed.']);
  expect(checkShape(count, { minimum: 9, maximum: 8 }).findings).toMatchObject([{ code: 'EMPTY_RANGE' }]);
  const { params: parity } = findObjectiveClass('risk_parity')!;
  expect(findMessage(parity, { budgets: { A: -0.5, B: 1 } })).toEqual(['budgets.A is -0.5; more than 0 is needed.']);
});
