import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { Id } from '#domain/schema/shape.js';
import { createJobStatus } from '../jobs.js';
import { defineRoutes } from '../route.js';
import { RunKey } from '../run-state.js';
import { AppendedBars, DataCell, rowCounts } from '../stores/data-versions.js';
import { DocumentChange } from '../versions.js';

export const RunDifferenceRequest = defineObject(() => ({
  from: RunKey.meta({ description: 'Id of the earlier run.' }),
  to: RunKey.meta({ description: 'Id of the later run.' }),
})).meta({ id: 'RunsDifferenceRequest' });

export const RUN_CAUSES = ['definition', 'request', 'data', 'engine'] as const;

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
  definition: z.array(DocumentChange).meta({
    description: 'Changes of the index or strategy. Changes of documents that it uses are under `/documents/{id}`.',
  }),
  request: z.array(DocumentChange).meta({ description: 'Changes of the request, with its defaults.' }),
  data: z.strictObject({
    cells: z.int().nullable().meta({
      description:
        'Number of values that differ. Null for two stores, and if an earlier version of the data is no longer available.',
    }),
    first: z.array(DataCell).meta({ description: 'The first of these values.' }),
    rows: z.strictObject(rowCounts).nullable().meta({
      description: 'Number of rows that differ or that only one of the two versions contains; null if `cells` is null.',
    }),
    appended: AppendedBars,
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

export const RunDifferenceJobStatus = createJobStatus('RunsDifferenceJobStatus', 'diff', RunsDifference);

export const runDifferenceRoutes = defineRoutes({
  diffRuns: {
    method: 'POST',
    path: '/analytics/{index_id}/runs/diff',
    scope: 'run',
    tag: 'analytics',
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
