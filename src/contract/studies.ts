import { z } from 'zod';
import { defineObject, Id } from '#domain/base/schema.js';
import { LIMITS } from '#domain/base/limits.js';
import { ErrorDetailPayload } from './payloads.js';
import { createJobStatus } from './jobs.js';
import { OptimisationRunRequest } from './optimise.js';
import { defineRoutes } from './route.js';

const StudyRunsRequest = defineObject(() => ({
  study_id: Id.nullable().default(null).meta({ description: 'Id of the study. Default: a generated id.' }),
  runs: z
    .array(OptimisationRunRequest)
    .min(1)
    .max(LIMITS.MAX_STUDY_RUNS)
    .meta({
      description: `Optimisations, at most ${LIMITS.MAX_STUDY_RUNS}. Each has the form of POST /optimise/runs.`,
    }),
})).meta({ id: 'StudyRequest' });

export const STUDY_OUTCOMES = ['solved', 'refused'] as const;

/** Figures of an optimisation, as in its result. */
const figures = {
  rebalance_date: z.string(),
  converged: z.boolean().meta({ description: 'True if the solver reached its tolerances.' }),
  heuristic: z.boolean().meta({ description: 'True if the selection of securities is not proven optimal.' }),
  holdings: z.int().meta({ description: 'Number of positive weights.' }),
  objective_value: z.number().meta({ description: 'Objective in its measure, including costs.' }),
  gap: z.number().nullable().meta({ description: 'Distance between the value and its bound, relative to the value.' }),
  expected_return: z.number().nullable(),
  volatility: z.number(),
  tracking_error: z.number(),
  turnover: z.number(),
  costs: z.number().nullable(),
};

const StudyFigures = z
  .strictObject(figures)
  .meta({ id: 'StudyFigures', description: 'Figures of an optimisation, as in its result.' });
export type StudyFigures = z.infer<typeof StudyFigures>;

export const StudyRow = defineObject(() => ({
  position: z.int().min(0).meta({ description: 'Position in the request, from 0.' }),
  index_id: z.string(),
  constraint_set_id: z.string(),
  outcome: z.enum(STUDY_OUTCOMES).meta({ description: '`solved`: see `run_id`. `refused`: see `error`.' }),
  run_id: z.string().nullable().meta({
    description: 'Id of the result, for GET /optimise/runs/{run_id}. Null if the optimisation was refused.',
  }),
  figures: StudyFigures.nullable().meta({ description: 'Figures of the optimisation; null if it was refused.' }),
  error: ErrorDetailPayload.nullable().meta({ description: 'Error of the optimisation; only if it was refused.' }),
})).meta({ id: 'StudyRow' });
export type StudyRow = z.infer<typeof StudyRow>;

const StudyView = defineObject(() => ({
  study_id: z.string(),
  runs: z.int().min(0).meta({ description: 'Number of optimisations.' }),
  solved: z.int().min(0).meta({ description: 'Number of optimisations with a result.' }),
  refused: z.int().min(0).meta({ description: 'Number of optimisations with an error.' }),
  rows: z.array(StudyRow).meta({
    description: `Rows in the order of the request: the first ${LIMITS.MAX_SWEEP_RESULT_ROWS}. GET /optimise/studies/{study_id}/rows returns all rows in blocks.`,
  }),
  engine_version: z.string(),
})).meta({ id: 'StudyView' });

const StudyRows = defineObject(() => ({
  study_id: z.string(),
  count: z.int().min(0).meta({ description: 'Rows of all blocks.' }),
  block: z.int().min(0).meta({ description: 'Number of the block, from 0.' }),
  blocks: z.int().min(0).meta({ description: 'Number of blocks.' }),
  rows: z.array(StudyRow).max(LIMITS.MAX_BLOCK_ROWS).meta({ description: 'Entries, in the order of the request.' }),
})).meta({ id: 'StudyRows' });

const StudyJobStatus = createJobStatus('StudyJobStatus', 'study', StudyView);

export const studyRoutes = defineRoutes('optimise', {
  startStudy: {
    method: 'POST',
    path: '/optimise/studies',
    onStore: 'query',
    scope: 'run',
    summary: 'Runs many optimisations as one job on all nodes.',
    description:
      'The whole study is refused, with the path of the run, if a single run would be refused immediately. An optimisation without a solution has an `error` in its row. All results are stored together when the job ends. The run at position n (from 0) has the id {study_id}-{n + 1}.',
    body: {
      schema: StudyRunsRequest,
      document: true,
      bytesMax: LIMITS.MAX_STUDY_BYTES,
      valuesMax: LIMITS.MAX_STUDY_VALUES,
      lines: 'runs',
      example: {
        study_id: 'aversions',
        runs: [2, 4, 8].map((aversion) => ({
          index_id: 'LARGE-100',
          constraint_set_id: 'core',
          objective: { type: 'max_utility', risk_aversion: aversion },
          expected_returns: { type: 'capm', risk_aversion: 2.5 },
        })),
      },
    },
    success: { status: 202, description: 'The job; see Location.', schema: StudyJobStatus },
    errors: [
      'INDEX_NOT_FOUND',
      'CONSTRAINT_SET_NOT_FOUND',
      'RISK_MODEL_NOT_FOUND',
      'DOCUMENT_UNREADABLE',
      'INVALID_RANGE',
      'NO_DATA_IN_RANGE',
      'NO_DATA_SOURCE',
      'JOB_RUNNING',
    ],
  },
  getStudyRows: {
    method: 'GET',
    path: '/optimise/studies/{study_id}/rows',
    call: 'studies.rows',
    scope: 'read',
    withoutMarket: true,
    summary: 'Returns the rows of a study in blocks.',
    description: `The result of a study contains the first ${LIMITS.MAX_SWEEP_RESULT_ROWS} rows. Blocks of ${LIMITS.MAX_BLOCK_ROWS} rows contain all rows.`,
    params: defineObject(() => ({ study_id: Id })),
    query: defineObject(() => ({
      block: z.int().min(0).default(0).meta({ description: 'Number of the block, from 0.' }),
    })),
    success: { status: 200, description: 'The block.', schema: StudyRows },
    errors: ['JOB_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
});
