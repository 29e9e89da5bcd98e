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
      description: `Indices and strategies, at most ${LIMITS.MAX_BATCH_IDS}. Duplicates are counted once.`,
    }),
})).meta({
  id: 'BacktestBatchRequest',
  description:
    'The settings apply to every id, as in a single backtest. With `if_stale`, omitted settings have the values of the stored run of each id.',
});
export type BacktestBatchRequest = z.infer<typeof BacktestBatchRequest>;

export const BACKTEST_BATCH_OUTCOMES = ['queued', 'current', 'refused'] as const;

export const BacktestBatchEntry = defineObject(() => ({
  index_id: z.string(),
  outcome: z.enum(BACKTEST_BATCH_OUTCOMES).meta({
    description:
      '`queued`: a job runs the backtest. `current` (with `if_stale`): the stored run equals a new run of the request. `refused`: see `error`.',
  }),
  job: BacktestJobStatus.nullable().meta({ description: 'Job of the entry; only if it is queued.' }),
  error: ErrorDetail.nullable().meta({
    description: 'Error of the backtest of this id; only if it is refused.',
  }),
})).meta({ id: 'BacktestBatchEntry' });

export const BacktestBatch = defineObject(() => ({
  backtests: z.array(BacktestBatchEntry).meta({ description: 'One entry for each id, in the order of the request.' }),
  queued: z.int().min(0).meta({ description: 'Number of entries with a job.' }),
  current: z.int().min(0).meta({ description: 'Number of entries with a stored run that is current.' }),
  refused: z.int().min(0).meta({ description: 'Number of entries with an error.' }),
})).meta({ id: 'BacktestBatch' });
export type BacktestBatch = z.infer<typeof BacktestBatch>;
