import { z } from 'zod';
import { LIMITS } from '#domain/refusals/limits.js';
import { Id } from '#domain/schema/shape.js';
import { ErrorDetail } from '../common.js';
import { BacktestRequest } from './request.js';
import { BacktestJobStatus } from './run.js';

export const BacktestBatchRequest = BacktestRequest.extend({
  ids: z
    .array(Id)
    .min(1)
    .max(LIMITS.MAX_BATCH_IDS)
    .meta({
      description: `Indices and strategies, at most ${LIMITS.MAX_BATCH_IDS}; one that is named twice counts once.`,
    }),
}).meta({
  id: 'BacktestBatchRequest',
  description:
    'The terms hold for every id, as in a backtest of one; with `if_stale` those that are not given are those of the stored run of each.',
});
export type BacktestBatchRequest = z.infer<typeof BacktestBatchRequest>;

export const BACKTEST_BATCH_OUTCOMES = ['queued', 'current', 'refused'] as const;

export const BacktestBatchEntry = z
  .strictObject({
    index_id: z.string(),
    outcome: z.enum(BACKTEST_BATCH_OUTCOMES).meta({
      description:
        '`queued`: a job runs it. `current`, with `if_stale`: the stored run is what a run of the request would give. `refused`: see `error`.',
    }),
    job: BacktestJobStatus.nullable().meta({ description: 'Set exactly when queued.' }),
    error: ErrorDetail.nullable().meta({
      description: 'Set exactly when refused: the error of a backtest of the one.',
    }),
  })
  .meta({ id: 'BacktestBatchEntry' });

export const BacktestBatch = z
  .strictObject({
    backtests: z.array(BacktestBatchEntry).meta({ description: 'One for each id, in their order.' }),
    queued: z.int().min(0).meta({ description: 'Entries with a job.' }),
    current: z.int().min(0).meta({ description: 'Entries whose stored run is not stale.' }),
    refused: z.int().min(0).meta({ description: 'Entries with an error.' }),
  })
  .meta({ id: 'BacktestBatch' });
export type BacktestBatch = z.infer<typeof BacktestBatch>;
