import { expect, test } from 'vitest';
import { Refusal } from '#domain/base/refusals.js';
import { createOutageLog } from '#jobs/job-system.js';

test('the beginning and the end of an outage are logged, and no other failure counts as an outage', () => {
  const lines: unknown[] = [];
  let nowMs = 0;
  const createRecord = (level: string) => (fields: object, message: string) =>
    void lines.push([level, fields, message]);
  const log = createOutageLog(
    { info: createRecord('info'), warn: createRecord('warn'), error: createRecord('error') },
    () => nowMs,
  );
  const goneRefusal = new Refusal('STORE_UNAVAILABLE', 'The database cannot be reached.');
  log.end();
  const defect = new Error('a defect');
  for (const thrown of [defect, goneRefusal, goneRefusal]) log.failed(thrown, { job_id: 'a' });
  nowMs = 30_000;
  log.end();
  log.end();
  expect(lines).toEqual([
    ['error', { job_id: 'a', err: defect }, 'a change of a job could not be written'],
    ['warn', { cause: goneRefusal.message }, 'running jobs cannot be written; they continue'],
    ['info', { seconds: 30 }, 'running jobs are written again'],
  ]);
});
