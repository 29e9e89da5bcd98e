import { z } from 'zod';
import { defineObject, Id } from '#domain/base/schema.js';
import { LIMITS } from '#domain/base/limits.js';
import { OVERFITTING_RATINGS } from '#domain/studies/overfitting.js';
import { FOLD_RANKINGS, RANKING_NAMES, SweepRequest } from '#domain/studies/sweep.js';
import { BacktestMetricsPayload } from './analytics/record.js';
import { ErrorDetailPayload } from './payloads.js';
import { createJobStatus } from './jobs.js';
import { DistributionPayload } from './simulations.js';
import { defineRoutes } from './route.js';
import { asKnownErrors } from './stores.js';

const defineProbability = (description: string) => z.number().min(0).max(1).meta({ description });

const SweepRowPayload = defineObject(() => ({
  rank: z.int().min(1).nullable().meta({ description: 'Rank of the variant; null for a variant that was refused.' }),
  variant: z.int().min(0).meta({ description: 'Position among the requested variants.' }),
  patch: z.record(z.string(), z.unknown()).meta({ description: 'Changes of the variant, by JSON pointer.' }),
  metrics: BacktestMetricsPayload.nullable().meta({
    description: 'Figures of the variant. They are identical, bit for bit, to the figures of a single run.',
  }),
  total_costs: z.number().nullable(),
  start: z.string().nullable(),
  end: z.string().nullable(),
  observations: z.int().nullable().meta({ description: 'Dates of the run.' }),
  deflated_sharpe_ratio: defineProbability(
    'Probability that the true Sharpe ratio exceeds the best Sharpe ratio expected among all trials if all true ratios were zero.',
  ).nullable(),
  error: ErrorDetailPayload.nullable().meta({
    description: 'Reason why the variant was refused, as for a single run.',
  }),
})).meta({ id: 'SweepRow' });

const SweepSelection = defineObject(() => ({
  trials: z.int().meta({
    description:
      'Number of variants that ran. Variants with identical levels are counted once. Trials are treated as independent, so the deflation is strict for similar variants.',
  }),
  sharpe_ratio: z.number().meta({
    description:
      'Sharpe ratio of the variant that is ranked first, per session. All ratios in this object are per session.',
  }),
  skewness: z.number(),
  kurtosis: z.number().meta({ description: 'Kurtosis of the returns; 3 for normal returns.' }),
  observations: z.int().meta({ description: 'Number of returns of the variant.' }),
  sharpe_variance: z.number().meta({ description: 'Variance of the Sharpe ratios of the trials.' }),
  expected_maximum_sharpe_ratio: z
    .number()
    .meta({ description: 'Expected Sharpe ratio of the best of this number of trials if all true ratios are zero.' }),
  deflated_sharpe_ratio: defineProbability(
    'Probability that the true Sharpe ratio exceeds the expected Sharpe ratio of the best trial (Bailey and López de Prado 2014).',
  ).nullable(),
})).meta({ id: 'SweepSelection' });

export const SweepOverfitting = defineObject(() => ({
  probability: defineProbability(
    'Fraction of the selections in which the selected variant is not better than the median out of sample.',
  ),
  chance_level: defineProbability(
    'Probability of a random choice: one half, and more for an odd number of trials, whose middle one is the median. Absent in sweeps of earlier versions.',
  ).optional(),
  rating: z.enum(OVERFITTING_RATINGS).optional().meta({
    description:
      '`overfit`: the probability is above the chance level. `near_chance`: it is at most one standard deviation below. Absent in sweeps of earlier versions.',
  }),
  probability_of_loss: defineProbability(
    'Fraction of the selections in which the selected variant has a negative Sharpe ratio out of sample.',
  ),
  median_logit: z.number().meta({
    description:
      'Median logit of the relative rank out of sample. Below 0, selected variants tend to rank below the median.',
  }),
  combinations: z
    .int()
    .meta({ description: 'Number of selections: each half of the blocks of time is compared with the other half.' }),
  partitions: z.int(),
  observations: z.int().meta({
    description:
      'Number of returns on common dates. The oldest returns are omitted so that the blocks have equal length.',
  }),
})).meta({
  id: 'SweepOverfitting',
  description:
    'Combinatorially symmetric cross-validation, as defined by Bailey, Borwein, López de Prado and Zhu (2016).',
});

/** Creates the schema for the metrics of a path. The value is one number, or a distribution over all paths. */
const createPathMetrics = <Value extends z.ZodType>(value: Value) => ({
  annualised_return: value.meta({
    description: 'Compound annual return, with 252 sessions per year, or 365 if the calendar trades every day.',
  }),
  max_drawdown: value.meta({ description: 'Largest drawdown, at most 0.' }),
  sharpe_ratio: value.meta({ description: 'Annualised Sharpe ratio with a risk-free rate of 0.' }),
  total_return: value.meta({ description: 'Total return over the test groups.' }),
  volatility: value.meta({ description: 'Annualised standard deviation, ddof 1.' }),
});

const SweepFoldChoice = defineObject(() => ({
  train: z.array(z.int()).meta({ description: 'Groups of the selection, by position.' }),
  test: z.array(z.int()).meta({ description: 'Groups of the test.' }),
  variant: z.int().meta({ description: 'Position of the selected variant.' }),
  in_sample: z.number().meta({ description: 'Metric of the variant on the groups of the selection.' }),
  out_of_sample: z.number().meta({ description: 'Metric of the variant on the groups of the test.' }),
  rank: z.int().min(1).meta({
    description: 'Rank of the variant among all trials on the test, 1 for the best. Equal trials have the better rank.',
  }),
})).meta({ id: 'SweepFoldChoice' });

export const SweepFoldsView = defineObject(() => ({
  method: z.enum(['combinatorial', 'walk_forward']).meta({ description: 'Division of time into groups.' }),
  select_by: z.enum(FOLD_RANKINGS).meta({ description: 'Metric of the selection.' }),
  groups: z
    .array(z.strictObject({ start: z.string(), end: z.string() }))
    .meta({ description: 'First and last date with a return, for each group.' }),
  observations: z.int().meta({
    description:
      'Number of returns of each variant. The oldest returns are omitted so that the groups have equal length.',
  }),
  left_before: z.int().meta({ description: 'Number of sessions of the sample excluded before a test.' }),
  left_after: z
    .int()
    .meta({ description: 'Number of sessions of the sample excluded after a test, including the embargo.' }),
  choices: z.array(SweepFoldChoice).meta({ description: 'One entry per split.' }),
  chosen: z
    .array(
      z.strictObject({
        variant: z.int(),
        splits: z.int().meta({ description: 'Number of splits that selected the variant.' }),
      }),
    )
    .meta({ description: 'Selected variants, beginning with the most frequent.' }),
  in_sample: DistributionPayload.meta({
    description: 'Metric of the selected variants on their samples, over the splits.',
  }),
  out_of_sample: DistributionPayload.meta({
    description: 'Metric of the selected variants on their tests, over the splits.',
  }),
  paths: z.array(z.strictObject(createPathMetrics(z.number()))).meta({
    description: 'Metrics of the joined out-of-sample returns. Each group is tested once.',
  }),
  over_paths: z
    .strictObject(createPathMetrics(DistributionPayload))
    .meta({ description: 'Distribution of each metric over the paths.' }),
  probability_of_loss: defineProbability('Fraction of the paths with a loss.'),
})).meta({
  id: 'SweepFoldsView',
  description:
    'Cross-validation of the selection, as described by López de Prado (2018), chapters 7 and 12. Percentiles are 5, 25, 50, 75 and 95%. The paths do not include the cost of changing from one variant to another.',
});

export const SweepMap = defineObject(() => ({
  aggregation: z.literal('first_by_rank').meta({
    description: 'A cell with several variants shows the variant with the best rank, for every metric.',
  }),
  sentence: z.string().meta({ description: 'Description of the rule.' }),
  parameters: z
    .array(
      z.strictObject({
        pointer: z.string().meta({ description: 'JSON pointer of the parameter, as in `patch`.' }),
        values: z.array(z.unknown()).meta({ description: 'Values of the parameter, in the order of the request.' }),
      }),
    )
    .meta({
      description:
        'Varied parameters with their values. If all but two parameters are fixed, a map has one variant per cell.',
    }),
})).meta({ id: 'SweepMap' });

const SweepFan = defineObject(() => ({
  index: z.array(z.string()).meta({ description: 'Dates, evenly spread over the common dates of the variants.' }),
  variants: z.int().min(1).meta({
    description: 'Number of variants used for the quantiles: all variants, or a thousand evenly spread ones.',
  }),
  quantiles: z
    .array(
      z.strictObject({
        share: z.number().meta({ description: 'Fraction of the variants at or below the level.' }),
        data: z.array(z.number()).meta({ description: 'Levels by date, 100 on the first date.' }),
      }),
    )
    .meta({ description: 'Quantiles of the levels on each date, from the lowest to the highest.' }),
  first: z.array(z.number()).nullable().meta({ description: 'Levels of the variant that is ranked first.' }),
  levels: z
    .array(
      z.strictObject({
        variant: z.int().min(0).meta({ description: 'Position of the variant.' }),
        data: z.array(z.number()).meta({ description: 'Levels by date, 100 on the first date.' }),
      }),
    )
    .optional()
    .meta({
      description: 'Levels of each variant; empty with more than 8 variants. Absent in sweeps of earlier versions.',
    }),
})).meta({ id: 'SweepFan' });

export const SweepView = defineObject(() => ({
  sweep_id: z.string(),
  index_id: z.string(),
  variants: z.int().min(1),
  refused: z.int().min(0),
  rank_by: z.enum(RANKING_NAMES),
  rows: z.array(SweepRowPayload).meta({
    description: `Rows by rank, with refused variants last: the first ${LIMITS.MAX_SWEEP_RESULT_ROWS}. GET /analytics/sweeps/{sweep_id}/rows returns all rows in blocks.`,
  }),
  selection: SweepSelection.nullable().meta({
    description: 'Selection bias of the best variant; null if every variant was refused.',
  }),
  overfitting: SweepOverfitting.nullable().meta({
    description:
      'Probability of overfitting. Null with fewer than two trials, or with fewer than two returns per block.',
  }),
  folds: SweepFoldsView.nullable().optional().meta({
    description:
      'Out-of-sample performance of the selection. Null without `folds`, or if there are too few returns; see `folds_shortage`. Absent in sweeps of earlier versions.',
  }),
  folds_shortage: z
    .strictObject({
      observations: z.int().meta({ description: 'Number of common returns of the variants.' }),
      needed: z.int().meta({ description: 'Number of returns that the folds need.' }),
    })
    .nullable()
    .optional()
    .meta({
      description:
        'Reason why the requested `folds` are null: there are too few returns. Null otherwise; absent in sweeps of earlier versions.',
    }),
  identical_variants: z
    .array(z.array(z.int().min(0)))
    .optional()
    .meta({
      description:
        'Lists of positions of variants with identical levels. Each list is counted as one trial. Absent in sweeps of earlier versions.',
    }),
  fan: SweepFan.nullable().optional().meta({
    description:
      'Levels of the variants over time. Null with fewer than two common dates; absent in sweeps of earlier versions.',
  }),
  map: SweepMap.optional().meta({
    description: 'Rule for maps of some of the parameters. Absent in sweeps of earlier versions.',
  }),
  verdict: z
    .array(z.string())
    .optional()
    .meta({ description: 'Conclusions from the figures, one sentence each. Absent in sweeps of earlier versions.' }),
  store_content_hash: z.string(),
  engine_version: z.string(),
})).meta({ id: 'SweepView' });
export type SweepView = z.infer<typeof SweepView>;

const SweepRows = defineObject(() => ({
  sweep_id: z.string(),
  count: z.int().min(0).meta({ description: 'Rows of all blocks: variants of the sweep.' }),
  block: z.int().min(0).meta({ description: 'Number of the block, from 0.' }),
  blocks: z.int().min(0).meta({ description: 'Number of blocks.' }),
  rows: z
    .array(SweepRowPayload)
    .max(LIMITS.MAX_BLOCK_ROWS)
    .meta({ description: 'Rows by rank, with refused variants last.' }),
})).meta({ id: 'SweepRows' });

const SweepJobStatus = createJobStatus('SweepJobStatus', 'sweep', SweepView);

export const sweepRoutes = defineRoutes('analytics', {
  startSweep: {
    method: 'POST',
    path: '/analytics/sweeps',
    call: 'sweeps.start',
    onStore: 'body',
    scope: 'run',
    summary: 'Runs many variants of an index and ranks them, as one job.',
    description:
      'Every variant is the base with values that are set by JSON pointer (RFC 6901). Up to 2,000 variants are validated individually before the job is queued. If there are more, each value of a grid is validated once, and an invalid combination has an `error` in its row. The result reports the selection bias of the best variant.',
    body: {
      schema: SweepRequest,
      example: {
        sweep_id: 'caps',
        index_id: 'LARGE-100',
        request: { start: '2023-01-03', transaction_cost_bps: 10 },
        grid: {
          '/document/pipeline/weighting/cap': [0.03, 0.05, 0.1],
          '/document/rebalance/frequency': ['monthly', 'quarterly'],
        },
        partitions: 8,
        folds: { method: 'combinatorial', groups: 8 },
      },
    },
    success: { status: 202, description: 'The job; see Location.', schema: SweepJobStatus },
    errors: ['INDEX_NOT_FOUND', 'LOOK_AHEAD', ...asKnownErrors, 'NO_DATA_SOURCE', 'JOB_RUNNING'],
  },
  getSweepRows: {
    method: 'GET',
    path: '/analytics/sweeps/{sweep_id}/rows',
    call: 'sweeps.rows',
    scope: 'read',
    withoutMarket: true,
    summary: 'Returns the rows of a sweep in blocks.',
    description: `The result of a sweep contains the first ${LIMITS.MAX_SWEEP_RESULT_ROWS} rows. Blocks of ${LIMITS.MAX_BLOCK_ROWS} rows contain all rows, in the order of the ranking.`,
    params: defineObject(() => ({ sweep_id: Id })),
    query: defineObject(() => ({
      block: z.int().min(0).default(0).meta({ description: 'Number of the block, from 0.' }),
    })),
    success: { status: 200, description: 'The block.', schema: SweepRows },
    errors: ['JOB_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
});
