import { z } from 'zod';
import { AsKnownOn } from '../schema/as-known-on.js';
import { BacktestFields } from '../documents/backtest-fields.js';
import { StrategyDocument } from '../documents/strategy-document.js';
import { LIMITS } from '../refusals/limits.js';
import { oneOfEach } from '../schema/one-of.js';
import { Id } from '../schema/shape.js';
import { SweepFolds } from './fold-terms.js';
import { RANKING_NAMES } from './rankings.js';

const Patch = z.record(z.string(), z.unknown());

/** How a strategy trades, as far as a sweep varies it. */
export const SweepStrategy = StrategyDocument.pick({ rebalance: true, drift_tolerance: true, exposure: true }).meta({
  id: 'SweepStrategy',
});

/** Terms of the backtests of a sweep: those of a single one but for an external benchmark. */
export const SweepTerms = BacktestFields.omit({ benchmark: true }).meta({ id: 'SweepTerms' });

/** What a sweep is asked for: a base, and how its variants differ from it. */
export const SweepRequest = z
  .strictObject({
    sweep_id: Id.nullable()
      .default(null)
      .meta({ description: 'Second half of the id of the job; made up by default.' }),
    as_known_on: AsKnownOn,
    index_id: Id.nullable().default(null).meta({ description: 'A stored index as the base.' }),
    document: z
      .record(z.string(), z.unknown())
      .nullable()
      .default(null)
      .meta({ description: 'Or an IndexDocument as the base.' }),
    request: SweepTerms.prefault({}).meta({ description: 'Terms of the backtests.' }),
    strategy: SweepStrategy.nullable()
      .default(null)
      .meta({ description: 'Terms of a strategy that follows the index; by default the index is simply held.' }),
    grid: z
      .record(z.string(), z.array(z.unknown()).min(1).max(LIMITS.MAX_SWEEP_VARIANTS))
      .nullable()
      .default(null)
      .meta({
        description:
          'Values by JSON pointer: every combination is a variant, the last pointer varying fastest. Pointers begin with /document, /request or /strategy.',
      }),
    patches: z
      .array(Patch)
      .min(1)
      .max(LIMITS.MAX_SWEEP_PATCHES)
      .nullable()
      .default(null)
      .meta({ description: 'Or the variants one by one, each as values by JSON pointer.' }),
    rank_by: z
      .enum(RANKING_NAMES)
      .default('sharpe_ratio')
      .meta({ description: 'Metric of the ranking; ties keep the order of the variants.' }),
    partitions: z.int().min(2).max(16).multipleOf(2).default(16).meta({
      description:
        'Blocks of time that the estimate of overfitting divides the returns into; every half of them selects once.',
    }),
    folds: SweepFolds.nullable().default(null).meta({
      description: 'How time is cut to test the choice among the variants on data it has not seen; null tests nothing.',
    }),
  })
  .superRefine(
    oneOfEach([
      ['index_id', 'document'],
      ['grid', 'patches'],
    ]),
  )
  .meta({
    id: 'SweepRequest',
    description: 'Exactly one of index_id and document, and exactly one of grid and patches.',
  });
export type SweepRequest = z.infer<typeof SweepRequest>;
