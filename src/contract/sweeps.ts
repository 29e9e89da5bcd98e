import { z } from 'zod';
import { LIMITS } from '#domain/refusals/limits.js';
import { FOLD_RANKINGS, RANKING_NAMES } from '#domain/sweeps/rankings.js';
import { SweepRequest } from '#domain/sweeps/sweep-request.js';
import { Id } from '#domain/schema/shape.js';
import { BacktestMetrics } from './analytics/metrics.js';
import { ErrorDetail } from './common.js';
import { jobStatus } from './jobs.js';
import { Distribution } from './simulations.js';
import { routes } from './route.js';
import { asKnownErrors } from './stores/data-versions.js';

const probability = (description: string) => z.number().min(0).max(1).meta({ description });

export const SweepRow = z
  .strictObject({
    rank: z.int().min(1).nullable().meta({ description: 'Null for a variant that was refused.' }),
    variant: z.int().min(0).meta({ description: 'Position among the variants as they were asked for.' }),
    patch: z.record(z.string(), z.unknown()).meta({ description: 'What the variant changes, by JSON pointer.' }),
    metrics: BacktestMetrics.nullable().meta({ description: 'Those of a single run of the variant, bit for bit.' }),
    total_costs: z.number().nullable(),
    start: z.string().nullable(),
    end: z.string().nullable(),
    observations: z.int().nullable().meta({ description: 'Dates of the run.' }),
    deflated_sharpe_ratio: probability(
      'Probability that the true Sharpe ratio exceeds what the best of all trials would show if all true ones were zero.',
    ).nullable(),
    error: ErrorDetail.nullable().meta({ description: 'Why the variant was refused, as its single run would be.' }),
  })
  .meta({ id: 'SweepRow' });

export const SweepSelection = z
  .strictObject({
    trials: z.int().meta({
      description:
        'Variants that ran: those whose levels are equal bit for bit count once. Trials count as independent, which makes the deflation strict where they are alike.',
    }),
    sharpe_ratio: z.number().meta({ description: 'Of the variant ranked first; of a session, as all ratios here.' }),
    skewness: z.number(),
    kurtosis: z.number().meta({ description: '3 for normal returns.' }),
    observations: z.int().meta({ description: 'Its returns.' }),
    sharpe_variance: z.number().meta({ description: 'Variance of the Sharpe ratios of the trials.' }),
    expected_maximum_sharpe_ratio: z
      .number()
      .meta({ description: 'Expected Sharpe ratio of the best of this many trials if every true ratio is zero.' }),
    deflated_sharpe_ratio: probability(
      'Bailey and López de Prado (2014): probability that the true Sharpe ratio exceeds it.',
    ).nullable(),
  })
  .meta({ id: 'SweepSelection' });

export const SweepOverfitting = z
  .strictObject({
    probability: probability(
      'Share of the selections by Sharpe ratio whose choice is no better than the median out of sample.',
    ),
    probability_of_loss: probability('Share whose choice has a negative Sharpe ratio out of sample.'),
    median_logit: z.number().meta({
      description: 'Median logit of the relative rank out of sample; below 0 when choices tend to disappoint.',
    }),
    combinations: z
      .int()
      .meta({ description: 'Selections: every half of the blocks of time, against the other half.' }),
    partitions: z.int(),
    observations: z.int().meta({
      description: 'Returns on dates that all variants have; the oldest are left out so that the blocks are equal.',
    }),
  })
  .meta({
    id: 'SweepOverfitting',
    description: 'Combinatorially symmetric cross-validation of Bailey, Borwein, López de Prado and Zhu (2016).',
  });

/** Metrics of a path, or their distribution over the paths. */
const pathMetrics = <Value extends z.ZodType>(value: Value) => ({
  annualised_return: value.meta({
    description: 'Compounded, annualised by the sessions of a year: 252, or 365 where the calendar trades every day.',
  }),
  max_drawdown: value.meta({ description: 'At most 0.' }),
  sharpe_ratio: value.meta({ description: 'Annualised, risk-free rate 0.' }),
  total_return: value.meta({ description: 'Over the groups that are tested.' }),
  volatility: value.meta({ description: 'Annualised, ddof 1.' }),
});

export const SweepFoldChoice = z
  .strictObject({
    train: z.array(z.int()).meta({ description: 'Groups that chose, by position.' }),
    test: z.array(z.int()).meta({ description: 'Groups that tested.' }),
    variant: z.int().meta({ description: 'The variant chosen, by position.' }),
    in_sample: z.number().meta({ description: 'Its metric on the groups that chose.' }),
    out_of_sample: z.number().meta({ description: 'The same on those that tested.' }),
    rank: z.int().min(1).meta({
      description: 'Of the variant among all trials on the test, 1 for the best; trials alike share the better rank.',
    }),
  })
  .meta({ id: 'SweepFoldChoice' });

export const SweepFoldsView = z
  .strictObject({
    method: z.enum(['combinatorial', 'walk_forward']).meta({ description: 'How time was cut.' }),
    select_by: z.enum(FOLD_RANKINGS).meta({ description: 'Metric that chose.' }),
    groups: z
      .array(z.strictObject({ start: z.string(), end: z.string() }))
      .meta({ description: 'First and last date with a return, by group.' }),
    observations: z.int().meta({
      description: 'Returns of a variant that take part; the oldest are left out so that the groups are equal.',
    }),
    left_before: z.int().meta({ description: 'Sessions of the sample left out before a test.' }),
    left_after: z
      .int()
      .meta({ description: 'Sessions of the sample left out after a test: the embargo is among them.' }),
    choices: z.array(SweepFoldChoice).meta({ description: 'One a split.' }),
    chosen: z
      .array(z.strictObject({ variant: z.int(), splits: z.int().meta({ description: 'Splits that chose it.' }) }))
      .meta({ description: 'Variants that some split chose, those chosen most often first.' }),
    in_sample: Distribution.meta({ description: 'Metric of what was chosen, over the splits, on their samples.' }),
    out_of_sample: Distribution.meta({ description: 'The same on their tests.' }),
    paths: z.array(z.strictObject(pathMetrics(z.number()))).meta({
      description: 'Metrics of the returns out of sample joined over time, each group tested once.',
    }),
    over_paths: z.strictObject(pathMetrics(Distribution)).meta({ description: 'Each metric over the paths.' }),
    probability_of_loss: probability('Share of the paths that lose.'),
  })
  .meta({
    id: 'SweepFoldsView',
    description:
      'Cross-validation of the choice, López de Prado (2018), chapters 7 and 12. Percentiles are those of 5, 25, 50, 75 and 95 %. The cost of a change from one variant to another is not in the paths.',
  });

export const SweepMap = z
  .strictObject({
    aggregation: z.literal('first_by_rank').meta({
      description: 'A cell that several variants share shows the one that ranks first, whatever the metric shown.',
    }),
    sentence: z.string().meta({ description: 'The same in words.' }),
    parameters: z
      .array(
        z.strictObject({
          pointer: z.string().meta({ description: 'JSON pointer of the parameter, as in `patch`.' }),
          values: z.array(z.unknown()).meta({ description: 'Its values, in the order in which they were asked for.' }),
        }),
      )
      .meta({
        description:
          'Parameters that are varied, with their values: a map with all but two fixed has one variant a cell.',
      }),
  })
  .meta({ id: 'SweepMap' });

export const SweepFan = z
  .strictObject({
    index: z.array(z.string()).meta({ description: 'Dates, evenly spread over the common dates of the variants.' }),
    variants: z.int().min(1).meta({ description: 'Variants behind the quantiles: all, or a thousand evenly spread.' }),
    quantiles: z
      .array(
        z.strictObject({
          share: z.number().meta({ description: 'Share of the variants at or below it.' }),
          data: z.array(z.number()).meta({ description: 'Levels by date, 100 at the first.' }),
        }),
      )
      .meta({ description: 'Quantiles of the levels on each date, from the lowest to the highest.' }),
    first: z.array(z.number()).nullable().meta({ description: 'Levels of the variant ranked first.' }),
  })
  .meta({ id: 'SweepFan' });

export const SweepView = z
  .strictObject({
    sweep_id: z.string(),
    index_id: z.string(),
    variants: z.int().min(1),
    refused: z.int().min(0),
    rank_by: z.enum(RANKING_NAMES),
    rows: z.array(SweepRow).meta({
      description: `By rank, those that were refused last: the first ${LIMITS.MAX_SWEEP_RESULT_ROWS}. All are read in blocks by GET /analytics/sweeps/{sweep_id}/rows.`,
    }),
    selection: SweepSelection.nullable().meta({ description: 'Null when every variant was refused.' }),
    overfitting: SweepOverfitting.nullable().meta({
      description: 'Null with fewer than two trials, or fewer than two returns a block.',
    }),
    folds: SweepFoldsView.nullable().optional().meta({
      description:
        'What choosing the best is worth out of sample. Null unless the request has `folds`, and where the variants have too few returns, as the verdict then says; absent in sweeps of earlier versions.',
    }),
    identical_variants: z
      .array(z.array(z.int().min(0)))
      .optional()
      .meta({
        description:
          'Positions of variants whose levels are equal bit for bit, a list for each that several have; each list counts as one trial. Absent in sweeps of earlier versions.',
      }),
    fan: SweepFan.nullable().optional().meta({
      description:
        'Levels of the variants through time. Null with fewer than two common dates; absent in sweeps of earlier versions.',
    }),
    map: SweepMap.optional().meta({
      description: 'How a map over some of the parameters is to be read. Absent in sweeps of earlier versions.',
    }),
    verdict: z
      .array(z.string())
      .optional()
      .meta({ description: 'Conclusions from the figures, one sentence each. Absent in sweeps of earlier versions.' }),
    store_content_hash: z.string(),
    engine_version: z.string(),
  })
  .meta({ id: 'SweepView' });
export type SweepView = z.infer<typeof SweepView>;

export const SweepRows = z
  .strictObject({
    sweep_id: z.string(),
    count: z.int().min(0).meta({ description: 'Rows of all blocks: variants of the sweep.' }),
    block: z.int().min(0).meta({ description: 'Which block, counted from 0.' }),
    blocks: z.int().min(0).meta({ description: 'Number of blocks.' }),
    rows: z.array(SweepRow).max(LIMITS.MAX_BLOCK_ROWS).meta({ description: 'By rank, those that were refused last.' }),
  })
  .meta({ id: 'SweepRows' });

export const SweepJobStatus = jobStatus('SweepJobStatus', 'sweep', SweepView);

export const sweepRoutes = routes({
  startSweep: {
    method: 'POST',
    path: '/analytics/sweeps',
    onStore: 'body',
    scope: 'run',
    tag: 'analytics',
    summary: 'Run many variants of an index and rank them, as one job.',
    description:
      'Every variant is the base with values set by JSON pointer (RFC 6901). Up to 2,000 variants are checked before the job is queued, as if each had been sent by itself; of more, each value of a grid is checked once, and a combination that is not valid has an `error` in its row. Choosing the best of many makes its figures look better than they are: the result says by how much.',
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
    scope: 'read',
    withoutMarket: true,
    tag: 'analytics',
    summary: 'Rows of a sweep in blocks.',
    description: `The result of a sweep has the first ${LIMITS.MAX_SWEEP_RESULT_ROWS} rows; blocks of ${LIMITS.MAX_BLOCK_ROWS} have all of them, in the order of the ranking.`,
    params: z.strictObject({ sweep_id: Id }),
    query: z.strictObject({
      block: z.int().min(0).default(0).meta({ description: 'Which block, counted from 0.' }),
    }),
    success: { status: 200, description: 'The block.', schema: SweepRows },
    errors: ['JOB_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
});
