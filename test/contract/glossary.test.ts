import { expect, test } from 'vitest';
import { GLOSSARY } from '#contract/openapi.js';
import { getApiDocument } from './api-document.js';

const { schemas } = getApiDocument().components;

interface Field {
  readonly schema: string;
  readonly name: string;
  readonly description: unknown;
  readonly isConstant: boolean;
}

/** Returns every field of a schema, including fields of inline objects. */
function listFields(value: unknown, schema: string): Field[] {
  if (Array.isArray(value)) return value.flatMap((item) => listFields(item, schema));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => [
    ...(key === 'properties'
      ? Object.entries(member as Record<string, Record<string, unknown>>).map(([name, field]) => ({
          schema,
          name,
          description: field['description'],
          isConstant: 'const' in field,
        }))
      : []),
    ...listFields(member, schema),
  ]);
}

const fields = Object.entries(schemas).flatMap(([name, schema]) => listFields(schema, name));

test('every field of every schema has a description', () => {
  const silentFields = fields.filter(
    ({ description, isConstant }) => !isConstant && (typeof description !== 'string' || description === ''),
  );
  expect(silentFields.map(({ schema, name }) => `${schema}.${name}`)).toEqual([]);
});

test('every word of the glossary is used', () => {
  const descriptions = new Set(fields.map(({ description }) => description));
  expect(
    Object.entries(GLOSSARY)
      .filter(([, meaning]) => !descriptions.has(meaning))
      .map(([word]) => word),
  ).toEqual([]);
});

test('a meaning is a sentence', () => {
  expect(
    Object.entries(GLOSSARY)
      .filter(([, meaning]) => !/[.!?}]$/.test(meaning))
      .map(([word]) => word),
  ).toEqual([]);
});
