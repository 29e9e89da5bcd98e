import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { parameterSpecs } from '#domain/catalogue/type-spec.js';

describe('parameterSpecs', () => {
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
  });
  const specs = Object.fromEntries(parameterSpecs(params).map((spec) => [spec.name, spec]));

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
