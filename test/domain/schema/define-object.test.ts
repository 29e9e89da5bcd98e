import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineObject } from '#domain/base/schema.js';

/**
 * Maximum number of schemas that are built when a program imports the whole contract. It builds 3,800. If every field
 * were built, it would build 14,000.
 */
const SCHEMAS_MAX = 5_000;

function createSample() {
  let builtCount = 0;
  const schema = defineObject(() => {
    builtCount++;
    return { id: z.string().meta({ id: 'SampleId' }), count: z.int().min(1).default(1) };
  });
  return { schema, built: () => builtCount };
}

test('fields are built at the first use, once for all schemas that derive from it', () => {
  const { schema, built } = createSample();
  const namedSchema = schema.meta({ id: 'Sample' });
  const refinedSchema = schema.refine(({ id }) => id !== 'none', 'must not be none');
  expect(built()).toBe(0);
  expect(namedSchema.parse({ id: 'a' })).toEqual({ id: 'a', count: 1 });
  expect(refinedSchema.safeParse({ id: 'none' }).success).toBe(false);
  expect(schema.partial().parse({})).toEqual({ count: 1 });
  expect(Object.keys(schema.extend({ more: z.string() }).shape)).toEqual(['id', 'count', 'more']);
  expect(built()).toBe(1);
});

test('schemas, values and errors are those of a strict object', () => {
  const { schema } = createSample();
  const strictSchema = z.strictObject({ id: z.string().meta({ id: 'StrictId' }), count: z.int().min(1).default(1) });
  const formatText = (of: z.ZodType) => JSON.stringify(z.toJSONSchema(of)).replaceAll(/SampleId|StrictId/g, 'Id');
  expect(formatText(schema)).toBe(formatText(strictSchema));
  for (const value of [{ id: 'a', count: 2 }, { id: 1 }, { id: 'a', other: 2 }, [], null, undefined]) {
    const [actual, expected] = [schema.safeParse(value), strictSchema.safeParse(value)];
    expect(actual.data).toEqual(expected.data);
    expect(actual.error?.issues).toEqual(expected.error?.issues);
  }
});

test('an import of the contract builds few schemas', () => {
  const program = `import { z } from 'zod';
let built = 0;
z.config({ postProcessor: () => void built++ });
await import('#contract/api.js');
console.log(built);`;
  const builtOutput = execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' });
  expect(Number(builtOutput)).toBeLessThan(SCHEMAS_MAX);
});
