import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { Id } from '#domain/schema/shape.js';
import { ErrorDetail } from '../common.js';
import { BacktestRequest } from './request.js';
import { BacktestJobStatus } from './run.js';

export const BacktestBatchRequest = defineObject(() => ({
  ...BacktestRequest.shape,
  ids: z
    .array(Id)
    .min(1)
    .max(LIMITS.MAX_BATCH_IDS)
    .meta({
      description: `Indices and strategies, at most ${LIMITS.MAX_BATCH_IDS}; duplicates count once.`,
    }),
})).meta({
  id: 'BacktestBatchRequest',
  description:
    'The terms apply to every id, as in a single backtest. With `if_stale`, omitted terms are those of the stored run of each id.',
});
export type BacktestBatchRequest = z.infer<typeof BacktestBatchRequest>;

export const BACKTEST_BATCH_OUTCOMES = ['queued', 'current', 'refused'] as const;

export const BacktestBatchEntry = defineObject(() => ({
  index_id: z.string(),
  outcome: z.enum(BACKTEST_BATCH_OUTCOMES).meta({
    description:
      '`queued`: a job runs it. `current` (with `if_stale`): the stored run equals a new run of the request. `refused`: see `error`.',
  }),
  job: BacktestJobStatus.nullable().meta({ description: 'Set only if queued.' }),
  error: ErrorDetail.nullable().meta({
    description: 'Set only if refused: the error of a backtest of this id.',
  }),
})).meta({ id: 'BacktestBatchEntry' });

export const BacktestBatch = defineObject(() => ({
  backtests: z.array(BacktestBatchEntry).meta({ description: 'One entry for each id, in the order of the request.' }),
  queued: z.int().min(0).meta({ description: 'Entries with a job.' }),
  current: z.int().min(0).meta({ description: 'Entries whose stored run is not stale.' }),
  refused: z.int().min(0).meta({ description: 'Entries with an error.' }),
})).meta({ id: 'BacktestBatch' });
export type BacktestBatch = z.infer<typeof BacktestBatch>;
