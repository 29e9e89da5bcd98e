import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createExampleRequest, listSuccesses } from '#views/documentation/reference.js';
import { getApiDocument } from '../contract/api-document.js';
import { createConformity } from '../http/conformity.js';
import { OPERATIONS, STORY } from './example-story.js';
import type { StoryOutcomes } from './record-answers.js';

// The build runs all examples once, because it records their responses for the documentation.
const read = <T>(file: string) => JSON.parse(readFileSync(file, 'utf8')) as T;
const { examples, audit } = read<StoryOutcomes>('dist/.build/examples.json');
const answers = read<Readonly<Record<string, unknown>>>('dist/answers.json');

test.each(STORY)('the example of %s succeeds', (id) => {
  const { status, refusal = '', job } = examples[id]!;
  const declaredSuccesses = listSuccesses(OPERATIONS.get(id)!).at(-1)?.[0];
  expect(`${status} ${refusal}`.trim()).toBe(declaredSuccesses);
  if (id === 'runSql') expect((answers[id] as { readonly rows: number }).rows).toBeGreaterThan(0);
  if (job !== undefined) expect(job).toEqual({ status: 'succeeded', error: null });
});

test('the log of writes has the request of every write', () => {
  const kinds = new Set(audit.entries.map(({ action, kind }) => `${action} ${kind}`));
  expect([...kinds]).toEqual(
    expect.arrayContaining(['deleted risk-model', 'deleted render', 'activated store', 'updated run']),
  );
  // When an inactive store is read for the first time, its content is recorded. Several requests may share this read.
  const requestEntries = audit.entries.filter(({ action, kind }) => `${action} ${kind}` !== 'created data-version');
  expect(requestEntries.filter(({ request_id: id }) => id === '')).toEqual([]);
});

test('every body has an example, and so has every parameter that must be given', () => {
  const missingExamples = [...OPERATIONS.values()].flatMap((operation) => [
    ...(operation.requestBody !== undefined && createExampleRequest(operation).body === undefined
      ? [`${operation.operationId} body`]
      : []),
    ...operation.parameters
      .filter(({ required, example }) => required && example === undefined)
      .map(({ name }) => `${operation.operationId} ${name}`),
  ]);
  expect(missingExamples).toEqual([]);
});

test('every answer that the document shows satisfies the schema of its operation', () => {
  const findViolations = createConformity(getApiDocument());
  const violations = Object.entries(answers).flatMap(([id, body]) => {
    const operation = OPERATIONS.get(id);
    const status = Number(operation && listSuccesses(operation).at(-1)?.[0]);
    return findViolations(id, { status, type: 'application/json', body });
  });
  expect(violations).toEqual([]);
});
