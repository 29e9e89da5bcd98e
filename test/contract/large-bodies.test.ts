import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { API } from '#contract/api.js';
import { type Body, checkBody } from '#contract/route.js';

const check = (body: Body, value: unknown) =>
  checkBody(body, { text: JSON.stringify(value), overflows: false, values: 2000 }, true);

const listFindings = (body: Body, value: unknown): unknown => {
  const checkedBody = check(body, value);
  return 'refusal' in checkedBody ? checkedBody.refusal.detail?.['findings'] : [];
};

describe('a large document', () => {
  const folder = new URL('../../../data/methodologies/', import.meta.url);
  const documents = readdirSync(folder).flatMap((file) => {
    const template = JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as { documents?: readonly object[] };
    return (template.documents ?? []).map((document) => [file, document] as const);
  });

  test.each(documents)(
    'of the methodology %s has no error in its shape, also with expressions as text',
    (_, document) => {
      expect(listFindings(API.createIndex.body, document)).toEqual([]);
    },
  );

  const [, valid] = documents.find(([, document]) => JSON.stringify(document).includes('CONTROVERSY_SCORE >='))!;
  test('is refused with the errors in its shape, without its expressions', () => {
    expect(listFindings(API.createIndex.body, { ...valid, name: 1 })).toMatchObject([
      { code: 'WRONG_TYPE', path: 'name' },
    ]);
  });

  test('may have 100 unknown fields, which its service drops, and no more', () => {
    const createUnknown = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`unknown_${i}`, i]));
    expect(listFindings(API.createIndex.body, { ...valid, ...createUnknown(100) })).toEqual([]);
    expect(listFindings(API.createIndex.body, { ...valid, ...createUnknown(101) })).toHaveLength(100);
  });
});
