import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { FULL_RUN_REASON_NAMES } from '#domain/documents/full-run-reasons.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { Id } from '#domain/schema/shape.js';
import { ErrorDetail } from './common.js';
import { createJobStatus } from './jobs.js';
import { defineRoutes } from './route.js';

export const RerunRequest = defineObject(() => ({
  rerun_id: Id.nullable().default(null).meta({ description: 'Id of the rerun. Default: a generated id.' }),
  ids: z
    .array(Id)
    .min(1)
    .max(LIMITS.MAX_RERUN_IDS)
    .nullable()
    .default(null)
    .meta({
      description: `Indices and strategies, at most ${LIMITS.MAX_RERUN_IDS}. Duplicates are counted once. Null: all indices and strategies with a stored run.`,
    }),
})).meta({ id: 'RerunRequest' });
export type RerunRequest = z.infer<typeof RerunRequest>;

export const RERUN_OUTCOMES = ['stored', 'current', 'refused'] as const;

export const RerunRow = defineObject(() => ({
  index_id: z.string(),
  outcome: z.enum(RERUN_OUTCOMES).meta({
    description:
      '`stored`: the index was run again. `current`: its stored run is not stale. `refused`: see `error`; its stored run is kept.',
  }),
  run_id: z.string().nullable().meta({ description: 'Id of its run; null if it was refused.' }),
  previous_run_id: z
    .string()
    .nullable()
    .meta({ description: 'Stored run that was stale; null if it was not run again.' }),
  end: z.string().nullable().meta({ description: 'Last date of its run; null if it was refused.' }),
  extended_from: z.string().nullable().meta({
    description: 'Last date that was reused from the stale run; null if everything was computed.',
  }),
  full_run_reason: z.enum(FULL_RUN_REASON_NAMES).nullable().meta({
    description:
      'Reason why the stale run was not extended; null if it was extended, or if the index was not run again.',
  }),
  error: ErrorDetail.nullable().meta({
    description: 'Error of the backtest; only if it was refused.',
  }),
})).meta({ id: 'RerunRow' });
export type RerunRow = z.infer<typeof RerunRow>;

export const RerunView = defineObject(() => ({
  rerun_id: z.string(),
  indices: z.int().min(0).meta({ description: 'Number of checked indices and strategies.' }),
  stored: z.int().min(0).meta({ description: 'Number of ids with a new run.' }),
  current: z.int().min(0).meta({ description: 'Number of ids with a stored run that is not stale.' }),
  refused: z.int().min(0).meta({ description: 'Number of ids that cannot be run.' }),
  rows: z.array(RerunRow).meta({
    description: `Rows in the order of the ids: the first ${LIMITS.MAX_SWEEP_RESULT_ROWS}. GET /analytics/reruns/{rerun_id}/rows returns all rows in blocks.`,
  }),
  engine_version: z.string(),
})).meta({ id: 'RerunView' });
export type RerunView = z.infer<typeof RerunView>;

export const RerunRows = defineObject(() => ({
  rerun_id: z.string(),
  count: z.int().min(0).meta({ description: 'Rows of all blocks.' }),
  block: z.int().min(0).meta({ description: 'Number of the block, from 0.' }),
  blocks: z.int().min(0).meta({ description: 'Number of blocks.' }),
  rows: z.array(RerunRow).max(LIMITS.MAX_BLOCK_ROWS).meta({ description: 'Rows in the order of the ids.' }),
})).meta({ id: 'RerunRows' });

export const RerunJobStatus = createJobStatus('RerunJobStatus', 'rerun', RerunView);

export const rerunRoutes = defineRoutes({
  startRerun: {
    method: 'POST',
    path: '/analytics/reruns',
    scope: 'run',
    tag: 'analytics',
    summary: 'Runs all indices and strategies with a stale run again, as one job.',
    description:
      'Each id is run with the settings of its stored run, and with the data that is served at that time. The job uses all machines. All new runs are stored together when the job ends. If another request stores a run in the meantime, that run remains the newest run. If an index cannot be run, its stored run is kept, and its row has an `error`.',
    body: { schema: RerunRequest, example: { rerun_id: 'after-refresh' } },
    success: { status: 202, description: 'The job; see Location.', schema: RerunJobStatus },
    errors: ['NO_DATA_SOURCE', 'JOB_RUNNING'],
  },
  getRerunRows: {
    method: 'GET',
    path: '/analytics/reruns/{rerun_id}/rows',
    scope: 'read',
    withoutMarket: true,
    tag: 'analytics',
    summary: 'Returns the rows of a rerun in blocks.',
    description: `The result of a rerun contains the first ${LIMITS.MAX_SWEEP_RESULT_ROWS} rows. Blocks of ${LIMITS.MAX_BLOCK_ROWS} rows contain all rows.`,
    params: defineObject(() => ({ rerun_id: Id })),
    query: defineObject(() => ({
      block: z.int().min(0).default(0).meta({ description: 'Number of the block, from 0.' }),
    })),
    success: { status: 200, description: 'The block.', schema: RerunRows },
    errors: ['JOB_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
});
