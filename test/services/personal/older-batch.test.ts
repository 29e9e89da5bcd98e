import { expect, test } from 'vitest';
import type { BatchPayload } from '#domain/outputs/jobs.js';
import type { PartLines } from '#domain/personal/batch.js';
import type { Attempt } from '#jobs/port/job-kind.js';
import { createBatchJob } from '#services/optimise/batches.js';
import type { Context } from '#services/shared/context.js';

const rejectUnused = () => Promise.reject(new Error('unused'));
const CONTEXT = {
  documents: { get: rejectUnused },
  artifacts: { damaged: rejectUnused, read: rejectUnused },
  markets: { settled: () => Promise.resolve() },
  dataVersions: { at: () => Promise.resolve({ served: { identity: 'M' } }) },
  workers: 1,
} as unknown as Context;

test('a batch queued with its accounts in the payload is computed in the same parts as one with a file', async () => {
  const accounts = Array.from({ length: 60 }, (_, i) => ({ account_id: `A${i}` }));
  const { decode, runParts } = createBatchJob(CONTEXT);
  const storedBatch = { batch_id: 'b', terms: {}, documents: {}, models: {}, accounts, engine_version: '0.4.0' };
  const payload = decode(JSON.parse(JSON.stringify(storedBatch))) as BatchPayload;
  const computedLines: PartLines[] = [];
  const attempt = {
    outputs: () => ({}),
    compute: (_: string, { lines }: { lines: PartLines[] }) => {
      computedLines.push(...lines);
      return Promise.resolve({ outcomes: 'file' });
    },
  } as unknown as Attempt;
  await runParts!(payload, [0, 2], attempt);
  expect(computedLines.map(({ position, line, text }) => [position, line, text.split('\n').length])).toEqual([
    [0, null, 25],
    [50, null, 10],
  ]);
  expect(JSON.parse(computedLines[1]!.text.split('\n')[9]!)).toEqual({ account_id: 'A59' });
});
