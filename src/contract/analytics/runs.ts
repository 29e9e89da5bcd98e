import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { Id } from '#domain/schema/shape.js';
import { skippedFields } from '../common.js';
import { defineRoutes } from '../route.js';
import { RunKey } from '../run-state.js';
import { BacktestMetrics } from './metrics.js';

/** Figures of a whole run. */
export type RunMetrics = z.infer<typeof BacktestMetrics>;

export const StoredRun = defineObject(() => ({
  run_id: RunKey.meta({ description: 'Id of the run, accepted by every view of a run.' }),
  run_at: z.string().nullable(),
  run_hash: z.string().meta({ description: 'SHA-256 of all inputs of the run.' }),
  start: z.string(),
  end: z.string(),
  index_version: z
    .int()
    .nullable()
    .meta({ description: 'Version of the index or strategy; null for runs of earlier versions.' }),
  store_id: z.string().nullable(),
  store_version: z.int().nullable().meta({ description: 'Version of the data; null if unknown.' }),
  store_content_hash: z.string(),
  engine_version: z.string(),
  request: z.unknown().meta({ description: 'The request, with its defaults.' }),
  metrics: BacktestMetrics.nullable().meta({ description: 'Figures of the run; null if its files cannot be read.' }),
  published: z.boolean().meta({ description: 'True if closes of the run were published. Such a run is always kept.' }),
})).meta({ id: 'StoredRun' });

export const StoredRuns = defineObject(() => ({
  runs: z.array(StoredRun).meta({ description: 'Newest first.' }),
  total: z.int().min(0).meta({ description: 'Total number of stored runs, including runs that are not listed.' }),
  has_published: z.boolean().optional().meta({
    description: 'True if closes of the index were ever published, including closes of runs that are no longer stored.',
  }),
  ...skippedFields,
})).meta({ id: 'StoredRuns' });
export type StoredRuns = z.infer<typeof StoredRuns>;

export const runRoutes = defineRoutes({
  listRuns: {
    method: 'GET',
    path: '/analytics/{index_id}/runs',
    scope: 'read',
    tag: 'analytics',
    summary: 'Lists the stored runs of an index or strategy, newest first.',
    description:
      'The service keeps the last 20 runs (`--runs-kept`) and all runs with published closes. Every view of a run accepts `run_id`.',
    params: defineObject(() => ({ index_id: Id })),
    query: defineObject(() => ({
      limit: z.int().min(1).max(1000).optional().meta({ description: 'Maximum number of rows. Default: all.' }),
      before: RunKey.optional().meta({ description: 'Only rows that follow the row of this run.' }),
    })),
    success: { status: 200, description: 'The runs.', schema: StoredRuns },
    errors: ['INDEX_NOT_FOUND', 'RUN_NOT_FOUND'],
  },
});
