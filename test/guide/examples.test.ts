import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createExampleRequest, listSuccesses } from '#views/documentation/reference.js';
import type { AuditLog } from '#contract/governance.js';
import type { z } from 'zod';
import { createConformity } from '../http/conformity.js';
import type { LiveService } from '../real/live.js';
import { createExampleRunner, OPERATIONS, STORY, openStoryService, type ExampleRunner } from './example-story.js';

let service: LiveService;
let runner: ExampleRunner;
beforeAll(async () => {
  service = await openStoryService();
  runner = createExampleRunner(service);
});
afterAll(() => service.close());

test.each(STORY)('the example of %s succeeds', async (id) => {
  const { answer, job } = await runner.run(id);
  const declaredSuccesses = listSuccesses(OPERATIONS.get(id)!).at(-1)?.[0];
  expect(`${answer.status} ${answer.status < 300 ? '' : JSON.stringify(answer.body)}`.trim()).toBe(declaredSuccesses);
  if (id === 'runSql') expect((answer.body as { readonly rows: number }).rows).toBeGreaterThan(0);
  if (job !== undefined) expect([job.status, job.error]).toEqual(['succeeded', null]);
});

test('the log of writes has the request of every write', async () => {
  const { entries } = await service.ok<z.infer<typeof AuditLog>>('GET', '/audit');
  const kinds = new Set(entries.map(({ action, kind }) => `${action} ${kind}`));
  expect([...kinds]).toEqual(
    expect.arrayContaining(['deleted risk-model', 'deleted render', 'activated store', 'updated run']),
  );
  // When an inactive store is read for the first time, its content is recorded. Several requests may share this read.
  const requestEntries = entries.filter(({ action, kind }) => `${action} ${kind}` !== 'created data-version');
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
  const answers = JSON.parse(readFileSync('data/answers.json', 'utf8')) as Record<string, unknown>;
  const findViolations = createConformity(service.document);
  const violations = Object.entries(answers).flatMap(([id, body]) => {
    const operation = OPERATIONS.get(id);
    const status = Number(operation && listSuccesses(operation).at(-1)?.[0]);
    return findViolations(id, { status, type: 'application/json', body });
  });
  expect(violations, 'npm run generate').toEqual([]);
});
