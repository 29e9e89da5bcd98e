import { z } from 'zod';
import { Id } from '#domain/schema/shape.js';
import { jobStatus } from '../jobs.js';
import { routes } from '../route.js';
import { RunKey } from '../run-state.js';
import { AppendedBars, DataCell, rowCounts } from '../stores/data-versions.js';
import { DocumentChange } from '../versions.js';

export const RunDifferenceRequest = z
  .strictObject({
    from: RunKey.meta({ description: 'Id of the earlier run.' }),
    to: RunKey.meta({ description: 'Id of the later run.' }),
  })
  .meta({ id: 'RunsDifferenceRequest' });

export const RUN_CAUSES = ['definition', 'request', 'data', 'engine'] as const;

export const RunsDifference = z
  .strictObject({
    same_levels: z.boolean().meta({ description: 'Whether both have the same dates and levels, to the bit.' }),
    first_difference: z
      .string()
      .nullable()
      .meta({ description: 'First date that only one has, or on which the levels differ.' }),
    largest: z
      .strictObject({
        date: z.string(),
        from: z.number().meta({ description: 'Level of the earlier run, 100 at its start.' }),
        to: z.number().meta({ description: 'Level of the later run, 100 at its start.' }),
      })
      .nullable()
      .meta({
        description:
          'Common date with the largest relative difference; null where there is none, as where only days were appended.',
      }),
    definition: z.array(DocumentChange).meta({
      description: 'Of the index or strategy itself; of documents that it reaches under `/documents/{id}`.',
    }),
    request: z.array(DocumentChange).meta({ description: 'Of the request, with its defaults.' }),
    data: z.strictObject({
      cells: z.int().nullable().meta({
        description:
          'Values that differ, 0 of the same content; null of two stores, and where a content cannot be had again.',
      }),
      first: z.array(DataCell).meta({ description: 'The first of them.' }),
      rows: z
        .strictObject(rowCounts)
        .nullable()
        .meta({ description: 'Rows that only one content has, or has otherwise; null as `cells`.' }),
      appended: AppendedBars,
      stores: z
        .strictObject({
          from: z.string().nullable().meta({ description: 'Data store of the earlier run.' }),
          to: z.string().nullable().meta({ description: 'Data store of the later run.' }),
        })
        .meta({ description: 'Stores that the runs were made on; null of a run stored before they were named.' }),
      reason: z.string().nullable().meta({ description: 'Why `cells` is null; null where it is given.' }),
    }),
    engine: z
      .strictObject({
        from: z.string().meta({ description: 'Version of the engine of the earlier run.' }),
        to: z.string().meta({ description: 'Version of the engine of the later run.' }),
      })
      .meta({ description: 'Engines of both.' }),
    effects: z
      .array(
        z.strictObject({
          cause: z.enum(RUN_CAUSES).meta({ description: 'What was exchanged, in this order.' }),
          total_return: z.number().meta({ description: 'What the exchange adds to the total return.' }),
        }),
      )
      .nullable()
      .meta({
        description: 'They sum to total_return exactly; null where a replay cannot be made, as `effects_reason` says.',
      }),
    effects_reason: z.string().nullable().meta({
      description:
        'Why effects are null: a replay needs the content of a store that is not served, or that cannot be had again, or was refused; null where they are given.',
    }),
    total_return: z.number().meta({
      description: 'Total return of the later run less that of the earlier, to 15 digits of the larger one.',
    }),
  })
  .meta({ id: 'RunsDifference' });
export type RunsDifference = z.infer<typeof RunsDifference>;

export const RunDifferenceJobStatus = jobStatus('RunsDifferenceJobStatus', 'diff', RunsDifference);

export const runDifferenceRoutes = routes({
  diffRuns: {
    method: 'POST',
    path: '/analytics/{index_id}/runs/diff',
    scope: 'run',
    tag: 'analytics',
    summary: 'Why two stored runs differ, as a job.',
    description:
      'Fields of the definition, the request, values of the data and the engine; from which date the levels differ; and how much of the final difference each cause has, by runs in which the causes are exchanged one after the other.',
    params: z.strictObject({ index_id: Id }),
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
