import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { AsKnownOn } from '../schema/as-known-on.js';
import { BacktestFields } from '../documents/backtest-fields.js';
import { StrategyDocument } from '../documents/strategy-document.js';
import { LIMITS } from '../refusals/limits.js';
import { requireOneOfEach } from '../schema/one-of.js';
import { Id } from '../schema/shape.js';
import { SweepFolds } from './fold-terms.js';
import { RANKING_NAMES } from './rankings.js';

const Patch = z.record(z.string(), z.unknown());

/** Trading terms of a strategy that a sweep can vary. */
export const SweepStrategy = StrategyDocument.pick({ rebalance: true, drift_tolerance: true, exposure: true }).meta({
  id: 'SweepStrategy',
});

/** Terms of the backtests in a sweep: those of a single backtest without an external benchmark. */
export const SweepTerms = BacktestFields.omit({ benchmark: true }).meta({ id: 'SweepTerms' });

/** Request of a sweep: a base, and the changes of its variants. */
export const SweepRequest = defineObject(() => ({
  sweep_id: Id.nullable()
    .default(null)
    .meta({ description: 'Id of the sweep, which is part of the id of the job. Default: a generated id.' }),
  as_known_on: AsKnownOn,
  index_id: Id.nullable().default(null).meta({ description: 'Id of a stored index that is the base.' }),
  document: z
    .record(z.string(), z.unknown())
    .nullable()
    .default(null)
    .meta({ description: 'IndexDocument that is the base, instead of index_id.' }),
  request: SweepTerms.prefault({}).meta({ description: 'Settings of the backtests.' }),
  strategy: SweepStrategy.nullable()
    .default(null)
    .meta({ description: 'Settings of a strategy that follows the index. Default: the index is held.' }),
  grid: z.record(z.string(), z.array(z.unknown()).min(1).max(LIMITS.MAX_SWEEP_VARIANTS)).nullable().default(null).meta({
    description:
      'Values by JSON pointer. Every combination is a variant, and the last pointer varies fastest. Pointers begin with /document, /request or /strategy.',
  }),
  patches: z
    .array(Patch)
    .min(1)
    .max(LIMITS.MAX_SWEEP_PATCHES)
    .nullable()
    .default(null)
    .meta({ description: 'List of variants, each with values by JSON pointer, instead of grid.' }),
  rank_by: z
    .enum(RANKING_NAMES)
    .default('sharpe_ratio')
    .meta({ description: 'Metric of the ranking. Equal variants keep their order.' }),
  partitions: z.int().min(2).max(16).multipleOf(2).default(16).meta({
    description:
      'Number of blocks of time into which the estimate of overfitting divides the returns. Every half of the blocks selects one variant.',
  }),
  folds: SweepFolds.nullable().default(null).meta({
    description: 'Splits of time that test the selection out of sample; null for no test.',
  }),
}))
  .superRefine(
    requireOneOfEach([
      ['index_id', 'document'],
      ['grid', 'patches'],
    ]),
  )
  .meta({
    id: 'SweepRequest',
    description: 'Exactly one of index_id and document, and exactly one of grid and patches, are required.',
  });
export type SweepRequest = z.infer<typeof SweepRequest>;
