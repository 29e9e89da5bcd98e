import { z } from 'zod';
import { LIMITS } from '#domain/base/limits.js';
import { AsKnownOnText, defineObject, Id, IsoDate } from '#domain/base/schema.js';
import { FULL_RUN_REASON_NAMES } from '#domain/definition/runs.js';
import { EXPORT_FORMATS, EXPORT_NAMES, EXPORTS, type ExportTable } from '#domain/outputs/exports.js';
import { BacktestMetricsPayload } from './analytics/record.js';
import { createJobStatus } from './jobs.js';
import { ErrorDetailPayload, skippedFields } from './payloads.js';
import { defineRoutes, FILE_MEDIA } from './route.js';
import { RunKey, runParameter, runState } from './run.js';
import { AppendedBarsPayload, DataCell, rowCounts } from './stores.js';
import { DocumentChangePayload } from './versions.js';

const RunDifferenceRequest = defineObject(() => ({
  from: RunKey.meta({ description: 'Id of the earlier run.' }),
  to: RunKey.meta({ description: 'Id of the later run.' }),
})).meta({ id: 'RunsDifferenceRequest' });

const RUN_CAUSES = ['definition', 'request', 'data', 'engine'] as const;

export const RunsDifference = defineObject(() => ({
  same_levels: z.boolean().meta({ description: 'True if both runs have identical dates and levels, bit for bit.' }),
  first_difference: z
    .string()
    .nullable()
    .meta({ description: 'First date on which the levels differ, or on which only one of the runs has a level.' }),
  largest: z
    .strictObject({
      date: z.string(),
      from: z.number().meta({ description: 'Level of the earlier run, 100 at its start.' }),
      to: z.number().meta({ description: 'Level of the later run, 100 at its start.' }),
    })
    .nullable()
    .meta({
      description:
        'Common date with the largest relative difference. Null if there is none, for example if only days were appended.',
    }),
  definition: z.array(DocumentChangePayload).meta({
    description: 'Changes of the index or strategy. Changes of documents that it uses are under `/documents/{id}`.',
  }),
  request: z.array(DocumentChangePayload).meta({ description: 'Changes of the request, with its defaults.' }),
  data: z.strictObject({
    cells: z.int().nullable().meta({
      description:
        'Number of values that differ. Null for two stores, and if an earlier version of the data is no longer available.',
    }),
    first: z.array(DataCell).meta({ description: 'The first of these values.' }),
    rows: z.strictObject(rowCounts).nullable().meta({
      description: 'Number of rows that differ or that only one of the two versions contains; null if `cells` is null.',
    }),
    appended: AppendedBarsPayload,
    stores: z
      .strictObject({
        from: z.string().nullable().meta({ description: 'Data store of the earlier run.' }),
        to: z.string().nullable().meta({ description: 'Data store of the later run.' }),
      })
      .meta({
        description: 'Data stores of the two runs; null for a run of an earlier version that does not store them.',
      }),
    reason: z.string().nullable().meta({ description: 'Reason why `cells` is null; otherwise null.' }),
  }),
  engine: z
    .strictObject({
      from: z.string().meta({ description: 'Version of the engine of the earlier run.' }),
      to: z.string().meta({ description: 'Version of the engine of the later run.' }),
    })
    .meta({ description: 'Engine versions of the two runs.' }),
  effects: z
    .array(
      z.strictObject({
        cause: z.enum(RUN_CAUSES).meta({ description: 'Inputs that were replaced, in this order.' }),
        total_return: z.number().meta({ description: 'Effect of the replaced input on the total return.' }),
      }),
    )
    .nullable()
    .meta({
      description:
        'Effects, which add up to total_return exactly. Null if a replay is impossible: see `effects_reason`.',
    }),
  effects_reason: z.string().nullable().meta({
    description:
      'Reason why `effects` is null: the replay was refused, or needs data that is not served or no longer available. Otherwise null.',
  }),
  total_return: z.number().meta({
    description:
      'Total return of the later run less the total return of the earlier run, to 15 digits of the larger one.',
  }),
})).meta({ id: 'RunsDifference' });
export type RunsDifference = z.infer<typeof RunsDifference>;

const RunDifferenceJobStatus = createJobStatus('RunsDifferenceJobStatus', 'diff', RunsDifference);

export const runDifferenceRoutes = defineRoutes('analytics', {
  diffRuns: {
    method: 'POST',
    path: '/analytics/{index_id}/runs/diff',
    scope: 'run',
    summary: 'Explains the differences between two stored runs, as a job.',
    description:
      'The result lists differences of the definition, the request, the data and the engine, and the first date with different levels. The effect of each cause on the total return is measured by replays in which the causes are replaced one after the other.',
    params: defineObject(() => ({ index_id: Id })),
    body: { schema: RunDifferenceRequest, example: { from: '0123456789abcdef', to: 'fedcba9876543210' } },
    success: { status: 202, description: 'The job; see Location.', schema: RunDifferenceJobStatus },
    errors: [
      'INDEX_NOT_FOUND',
      'RUN_NOT_FOUND',
      'DOCUMENT_UNREADABLE',
      'NO_DATA_SOURCE',
      'STORE_MISMATCH',
      'JOB_RUNNING',
    ],
  },
});

/** Figures of a whole run. */
export type RunMetrics = z.infer<typeof BacktestMetricsPayload>;

const StoredRunPayload = defineObject(() => ({
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
  metrics: BacktestMetricsPayload.nullable().meta({
    description: 'Figures of the run; null if its files cannot be read.',
  }),
  published: z.boolean().meta({ description: 'True if closes of the run were published. Such a run is always kept.' }),
})).meta({ id: 'StoredRun' });

export const StoredRuns = defineObject(() => ({
  runs: z.array(StoredRunPayload).meta({ description: 'Newest first.' }),
  total: z.int().min(0).meta({ description: 'Total number of stored runs, including runs that are not listed.' }),
  has_published: z.boolean().optional().meta({
    description: 'True if closes of the index were ever published, including closes of runs that are no longer stored.',
  }),
  ...skippedFields,
})).meta({ id: 'StoredRuns' });
export type StoredRuns = z.infer<typeof StoredRuns>;

export const runRoutes = defineRoutes('analytics', {
  listRuns: {
    method: 'GET',
    path: '/analytics/{index_id}/runs',
    call: 'storedRuns.list',
    scope: 'read',
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

export const ExportView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  table: z.enum(EXPORT_NAMES).meta({ description: 'The requested table.' }),
  columns: z.array(z.string()).meta({ description: 'Names of the columns.' }),
  data: z
    .array(z.array(z.union([z.string(), z.number()]).nullable()))
    .meta({ description: 'Rows with one value per column; dates are YYYY-MM-DD.' }),
})).meta({ id: 'ExportView' });
export type ExportView = z.infer<typeof ExportView>;

const tables = Object.entries<ExportTable>(EXPORTS).map(
  ([name, { help, columns }]) => `- \`${name}\`: ${help} Columns: ${Object.keys(columns).join(', ')}.`,
);
const formats = Object.entries(EXPORT_FORMATS).map(
  ([name, { media, help }]) => `- \`${name}\` (\`${media}\`): ${help}`,
);

export const exportRoutes = defineRoutes('analytics', {
  exportRun: {
    method: 'GET',
    path: '/analytics/{index_id}/exports/{table}',
    scope: 'read',
    summary: 'Returns a table of a run as a file, with its whole history.',
    description: `Tables:\n\n${tables.join('\n')}\n\nFormats, by \`format\` or else by \`Accept\`:\n\n${formats.join('\n')}\n\nWith \`as_known_on\`, the export uses the newest stored run on that version of the data. Rows are streamed. The header \`X-Run-Stale\` lists the causes of a stale run (\`definition\`, \`data\`, \`engine\`). It is absent if the run is current.`,
    params: defineObject(() => ({
      index_id: Id,
      table: z.enum(EXPORT_NAMES).meta({ description: 'The table.' }),
    })),
    query: defineObject(() => ({
      ...runParameter,
      as_known_on: AsKnownOnText,
      start: IsoDate.optional().meta({ description: 'First date. Default: the first date of the run.' }),
      end: IsoDate.optional().meta({ description: 'Last date. Default: the last date of the run.' }),
      date: IsoDate.optional().meta({
        description:
          'Session of `closing`, `opening` and `proforma`: the last session on or before this day. Default: the last session of the run.',
      }),
      by: z.string().min(1).max(64).optional().meta({
        description:
          'Reference column of the groups of `exposures` (default: SECTOR) or of the issuers of `limits` and `breaches` (ISSUER), or IDENTIFIER.',
      }),
    })),
    success: {
      status: 200,
      description: 'The rows.',
      schema: ExportView,
      media: FILE_MEDIA,
    },
    errors: [
      'INDEX_NOT_FOUND',
      'RUN_NOT_FOUND',
      'DOCUMENT_UNREADABLE',
      'NO_DATA_KNOWN',
      'NO_DATA_SOURCE',
      'STORE_MISMATCH',
      'VERSION_NOT_FOUND',
      'VALIDATION_FAILED',
      'INVALID_RANGE',
      'NO_DATA_AT_DATE',
      'NO_DATA_IN_RANGE',
      'RANGE_TOO_SHORT',
      'TOTAL_LOSS',
      'NUMERIC_FAILURE',
    ],
  },
});

const ShownValue = z.union([z.number(), z.string()]).nullable();

const RunDifferenceRow = defineObject(() => ({
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
  first_difference: RunDifferenceRow.nullable().meta({
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

const ReplayJobStatus = createJobStatus('ReplayJobStatus', 'replay', ReplayView);

export const replayRoutes = defineRoutes('analytics', {
  replayRun: {
    method: 'POST',
    path: '/analytics/{index_id}/replay',
    scope: 'run',
    summary: 'Repeats a stored run as a job, and reports whether the results are equal.',
    description:
      'Definition and request are those of the stored run, even if the definition has changed. The data are those of the served store. Nothing is replaced.',
    params: defineObject(() => ({ index_id: Id })),
    query: z.strictObject(runParameter),
    body: { schema: z.strictObject({}), optional: true, example: {} },
    success: { status: 202, description: 'The job; see Location.', schema: ReplayJobStatus },
    errors: ['INDEX_NOT_FOUND', 'RUN_NOT_FOUND', 'DOCUMENT_UNREADABLE', 'NO_DATA_SOURCE', 'JOB_RUNNING'],
  },
});

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

const RERUN_OUTCOMES = ['stored', 'current', 'refused'] as const;

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
  error: ErrorDetailPayload.nullable().meta({
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

const RerunRows = defineObject(() => ({
  rerun_id: z.string(),
  count: z.int().min(0).meta({ description: 'Rows of all blocks.' }),
  block: z.int().min(0).meta({ description: 'Number of the block, from 0.' }),
  blocks: z.int().min(0).meta({ description: 'Number of blocks.' }),
  rows: z.array(RerunRow).max(LIMITS.MAX_BLOCK_ROWS).meta({ description: 'Rows in the order of the ids.' }),
})).meta({ id: 'RerunRows' });

const RerunJobStatus = createJobStatus('RerunJobStatus', 'rerun', RerunView);

export const rerunRoutes = defineRoutes('analytics', {
  startRerun: {
    method: 'POST',
    path: '/analytics/reruns',
    call: 'reruns.start',
    scope: 'run',
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
    call: 'reruns.rows',
    scope: 'read',
    withoutMarket: true,
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
