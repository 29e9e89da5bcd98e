import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createParameterSpecs } from '#domain/definition/catalogue.js';

describe('createParameterSpecs', () => {
  const params = z.strictObject({
    count: z.int().min(1).meta({ label: 'Names', help: 'How many to keep.', unit: 'names' }),
    limit: z.number().nullable().default(null).meta({ unit: 'fraction' }),
    reference: z.enum(['index', 'previous']).default('index'),
    ascending: z.boolean().default(false),
    field: z.string().default('MARKET_CAP'),
    expression: z.unknown().meta({ ref: 'ExpressionNode' }),
    groups: z.array(z.string()).optional(),
    months: z
      .array(z.int())
      .nullable()
      .default(null)
      .meta({ when: [{ reference: ['previous'] }] }),
    caps: z.array(z.strictObject({ field: z.string(), cap: z.number().meta({ unit: 'fraction' }) })).default([]),
    rates: z.strictObject({ domestic: z.string() }),
    weights: z.record(z.string(), z.number()),
    basis: z.union([z.literal(360), z.literal(365)]).default(360),
  });
  const specs = Object.fromEntries(createParameterSpecs(params).map((spec) => [spec.name, spec]));

  test('a required parameter has no default', () => {
    expect(specs.count).toStrictEqual({
      name: 'count',
      label: 'Names',
      type: 'integer',
      required: true,
      order: 0,
      choices: null,
      help: 'How many to keep. Unit: names.',
      ref: null,
      format: null,
      when: null,
      fields: null,
    });
  });

  test('a nullable number keeps its type and its null default', () => {
    expect(specs.limit).toMatchObject({
      type: 'number',
      required: false,
      default: null,
      help: 'Unit: fraction.',
      label: 'Limit',
      order: 1,
    });
  });

  test('an object, and each entry of a list of objects, has members described as parameters are', () => {
    expect(specs.caps).toMatchObject({ type: 'json', format: 'rows', fields: [{ name: 'field' }, { name: 'cap' }] });
    expect(specs.caps!.fields![1]).toMatchObject({ type: 'number', required: true, help: 'Unit: fraction.' });
    expect(specs.rates).toMatchObject({ type: 'json', format: 'object', fields: [{ name: 'domestic' }] });
    expect(specs.weights).toMatchObject({ type: 'json', format: 'numbers', fields: null });
  });

  test('a union of numbers is a whole number with choices', () => {
    expect(specs.basis).toMatchObject({ type: 'integer', choices: ['360', '365'], default: 360 });
  });

  test('an enumeration is a string with choices', () => {
    expect(specs.reference).toMatchObject({ type: 'string', choices: ['index', 'previous'], default: 'index' });
  });

  test('booleans, strings and structured values keep their display types', () => {
    expect(specs.ascending).toMatchObject({ type: 'boolean', default: false });
    expect(specs.field).toMatchObject({ type: 'string', default: 'MARKET_CAP' });
    expect(specs.expression).toMatchObject({ type: 'json', required: true, ref: 'ExpressionNode' });
    expect(specs.groups).toMatchObject({ type: 'json', required: false, default: null, format: 'texts', when: null });
    expect(specs.months).toMatchObject({ type: 'json', format: 'integers', when: [{ reference: ['previous'] }] });
  });
});
