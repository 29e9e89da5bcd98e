import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { Id } from '#domain/schema/shape.js';
import { createJobStatus } from './jobs.js';
import { defineRoutes } from './route.js';
import { runQuery } from './run-state.js';

const ShownValue = z.union([z.number(), z.string()]).nullable();

export const RunDifference = defineObject(() => ({
  part: z.string().meta({
    description:
      'Part that differs: a series, the weights, the securities, a field of the record (record.portfolio.cash), or result and overview.',
  }),
  date: z.string().nullable().meta({ description: 'First date of the difference; null if the part has no dates.' }),
  name: z
    .string()
    .nullable()
    .meta({ description: 'First security on that date, for parts with one value per security.' }),
  stored: ShownValue,
  replayed: ShownValue,
})).meta({ id: 'RunDifference' });

export const ReplayView = defineObject(() => ({
  index_id: z.string(),
  equal: z.boolean().meta({ description: 'True if all stored data of the run was reproduced bit for bit.' }),
  first_difference: RunDifference.nullable().meta({
    description: 'First difference; null if the results are equal.',
  }),
  inputs_equal: z.boolean().meta({ description: 'True if both runs have the same run_hash.' }),
  stored_run_hash: z.string(),
  replayed_run_hash: z.string(),
  stored_engine_version: z.string(),
  replayed_engine_version: z.string(),
  stored_content_hash: z.string().meta({ description: 'Content hash of the store of the run.' }),
  replayed_content_hash: z.string().meta({ description: 'Content hash of the served store.' }),
  definition_changed: z.boolean().meta({
    description: 'True if the stored definition has changed since the run. The replay uses the definition of the run.',
  }),
  run_at: z.string().nullable().meta({ description: 'Time of the stored run.' }),
})).meta({ id: 'ReplayView' });
export type ReplayView = z.infer<typeof ReplayView>;

export const ReplayJobStatus = createJobStatus('ReplayJobStatus', 'replay', ReplayView);

export const replayRoutes = defineRoutes({
  replayRun: {
    method: 'POST',
    path: '/analytics/{index_id}/replay',
    scope: 'run',
    tag: 'analytics',
    summary: 'Repeats a stored run as a job, and reports whether the results are equal.',
    description:
      'Definition and request are those of the stored run, even if the definition has changed. The data are those of the served store. Nothing is replaced.',
    params: defineObject(() => ({ index_id: Id })),
    query: z.strictObject(runQuery),
    body: { schema: z.strictObject({}), optional: true, example: {} },
    success: { status: 202, description: 'The job; see Location.', schema: ReplayJobStatus },
    errors: ['INDEX_NOT_FOUND', 'RUN_NOT_FOUND', 'DOCUMENT_UNREADABLE', 'NO_DATA_SOURCE', 'JOB_RUNNING'],
  },
});
