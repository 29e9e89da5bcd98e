import { z } from 'zod';
import { Id } from '#domain/schema/shape.js';
import { jobStatus } from './jobs.js';
import { routes } from './route.js';
import { whichRun } from './run-state.js';

const shown = z.union([z.number(), z.string()]).nullable();

export const RunDifference = z
  .strictObject({
    part: z.string().meta({
      description:
        'What differs: a series, the weights, the names, a field of the record (record.portfolio.cash), or result and overview.',
    }),
    date: z.string().nullable().meta({ description: 'Earliest date on which it does; null for what has none.' }),
    name: z.string().nullable().meta({ description: 'First name on that date, for what has one value a name.' }),
    stored: shown,
    replayed: shown,
  })
  .meta({ id: 'RunDifference' });

export const ReplayView = z
  .strictObject({
    index_id: z.string(),
    equal: z
      .boolean()
      .meta({ description: 'Whether everything that is stored of the run came out again, bit for bit.' }),
    first_difference: RunDifference.nullable().meta({
      description: 'Where the two part first; null when they are equal.',
    }),
    inputs_equal: z.boolean().meta({ description: 'Whether both runs have the same run_hash.' }),
    stored_run_hash: z.string(),
    replayed_run_hash: z.string(),
    stored_engine_version: z.string(),
    replayed_engine_version: z.string(),
    stored_content_hash: z.string().meta({ description: 'Hash of the store the run was made on.' }),
    replayed_content_hash: z.string().meta({ description: 'Hash of the store that is served now.' }),
    definition_changed: z.boolean().meta({
      description: 'Whether what is stored under the id would be run differently today; the replay runs what was run.',
    }),
    run_at: z.string().nullable().meta({ description: 'Capture time of the stored run.' }),
  })
  .meta({ id: 'ReplayView' });
export type ReplayView = z.infer<typeof ReplayView>;

export const ReplayJobStatus = jobStatus('ReplayJobStatus', 'replay', ReplayView);

export const replayRoutes = routes({
  replayRun: {
    method: 'POST',
    path: '/analytics/{index_id}/replay',
    scope: 'run',
    tag: 'analytics',
    summary: 'Run a stored run again, as a job, and say whether it comes out equal.',
    description:
      'The definition and the request are those of the stored run, whatever is stored under the id by now; the market is the one being served. Nothing is replaced.',
    params: z.strictObject({ index_id: Id }),
    query: z.strictObject(whichRun),
    body: { schema: z.strictObject({}), optional: true, example: {} },
    success: { status: 202, description: 'The job; see Location.', schema: ReplayJobStatus },
    errors: ['INDEX_NOT_FOUND', 'RUN_NOT_FOUND', 'DOCUMENT_UNREADABLE', 'NO_DATA_SOURCE', 'JOB_RUNNING'],
  },
});
