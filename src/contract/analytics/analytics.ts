import { z } from 'zod';
import { LIMITS } from '#domain/base/limits.js';
import { AssetIdentifier, defineObject, Id, IsoDate } from '#domain/base/schema.js';
import { OVERLAY_PART_HELP, OVERLAY_PART_NAMES } from '#domain/definition/overlay-type.js';
import { BenchmarkName } from '#domain/definition/runs.js';
import { EFFECT_LINKING } from '#domain/analytics/attribution.js';
import { MEASURED_VARIANTS, RETURN_VARIANTS } from '#domain/market/market-data.js';
import { FACTOR_MODELS } from '#domain/risk/contributions.js';
import { ATTRIBUTION_MODELS } from '#domain/risk/factor-attribution.js';
import { FACTOR_ESTIMATORS } from '#domain/risk/model-terms.js';
import { ESTIMATORS } from '#domain/risk/risk-models.js';
import { compositionErrors, ErrorDetailPayload, FindingPayload, listingQuery, SeriesPayload } from '../payloads.js';
import { defineRoutes } from '../route.js';
import { BacktestRequest, RunKey, RunOf, runParameter, runState, type WithoutRunState } from '../run.js';
import {
  BacktestJobStatus,
  BacktestMetricsPayload,
  BacktestRecordCollection,
  BacktestResultSummary,
  BacktestRunResult,
  BenchmarkStatisticsPayload,
  defineDate,
  defineFraction,
} from './record.js';

export const AssetView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  identifier: z.string(),
  beta: z.number(),
  correlation: z.number(),
  excess_return: z.number(),
  index_return: z.number(),
  total_return: z.number(),
  tracking_error: z.number(),
  observations: z.int(),
  rebalances_held: z.int(),
  price: SeriesPayload,
  weight_history: z.record(z.string(), z.number()),
  raw_weight_history: z.record(z.string(), z.number()),
})).meta({ id: 'AssetView' });
export type AssetView = WithoutRunState<z.infer<typeof AssetView>>;

export const ContributionPayload = defineObject(() => ({
  asset_id: z.string(),
  average_weight: z.number(),
  contribution: z.number(),
  total_return: z.number(),
})).meta({ id: 'ContributionPayload' });

export const AttributionView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  contributions: z.array(ContributionPayload).meta({
    description:
      'Securities and the parts of an overlay, sorted by contribution (largest first) and identifier. They sum to total_return. The asset_id of a part is overlay/{index_id}/{part}; its weight and return are 0.',
  }),
  contributions_sum: z.number().meta({
    description:
      'Sum of the contributions of securities: total_return, or for an overlay total_return less overlay_parts_sum.',
  }),
  overlay_parts_sum: z.number().nullable().meta({
    description:
      'Sum of overlay_parts. The sum of contributions_sum and overlay_parts_sum is total_return. Null if there are no parts.',
  }),
  overlay_parts: z
    .array(
      z
        .strictObject({
          index_id: z.string().meta({ description: 'Overlay of the part: this overlay, or an underlying overlay.' }),
          part: z.enum(OVERLAY_PART_NAMES).meta({ description: `Kind of the part: ${OVERLAY_PART_HELP}.` }),
          contribution: z.number(),
        })
        .meta({ id: 'OverlayPart' }),
    )
    .nullable()
    .meta({
      description:
        'Returns of an overlay that do not come from its constituents, which are also in contributions. Null for other indices.',
    }),
  total_return: z.number(),
  periods: z.int(),
  reconciles: z.boolean(),
  residual: z.number(),
  cap_drag: z.number().nullable(),
  cost_drag: z.number().nullable(),
  requested_start: z.string().nullable(),
  requested_end: z.string().nullable(),
  start: z.string(),
  end: z.string(),
})).meta({ id: 'AttributionView' });
export type AttributionView = WithoutRunState<z.infer<typeof AttributionView>>;

export const FactorAttributionView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  model: z.enum(ATTRIBUTION_MODELS),
  factors: z
    .array(
      z
        .strictObject({
          factor: z.string().meta({ description: 'MARKET, a sector or a style.' }),
          average_exposure: z.number().meta({ description: 'Mean exposure of the held weights.' }),
          contribution: z
            .number()
            .meta({ description: 'Exposure times return of the factor, linked over the sessions.' }),
        })
        .meta({ id: 'FactorContribution' }),
    )
    .meta({ description: 'Factors, in the order of the model.' }),
  specific: z.number().meta({ description: 'Linked returns of the securities that the factors do not explain.' }),
  other: z.number().meta({ description: 'Linked effect of costs, cash, and securities without a regression.' }),
  total_return: z.number().meta({ description: 'Sum of the contributions, specific and other.' }),
  covered_weight: z.number().meta({ description: 'Mean fraction of the gross weight that the regressions include.' }),
  periods: z.int(),
  reconciles: z.boolean(),
  residual: z.number(),
  requested_start: z.string().nullable(),
  requested_end: z.string().nullable(),
  start: z.string(),
  end: z.string(),
  findings: z.array(FindingPayload).meta({
    description:
      'Months in which the store has too few securities for a regression. The return of these months is in `other`.',
  }),
})).meta({ id: 'FactorAttributionView' });
export type FactorAttributionView = WithoutRunState<z.infer<typeof FactorAttributionView>>;

const defineEffect = (description: string) =>
  z
    .number()
    .nullable()
    .meta({ description: `${description} Null without a benchmark.` });

export const GroupAttributionRow = defineObject(() => ({
  group: z.string(),
  average_weight: z.number(),
  benchmark_average_weight: defineEffect('Mean weight of the group in the benchmark.'),
  total_return: z.number().nullable().meta({
    description:
      'Return of the group in the run, compounded over the periods in which the group has a weight. In a period it is the contribution of the group, after costs, divided by its weight at the start; the effects use the same returns. Null if the group has no weight in any period, or a return below -1 in one, which opposite positions or costs of a small weight can cause.',
  }),
  benchmark_return: z.number().nullable().meta({
    description: 'Return of the group in the benchmark, defined in the same way. Null also without a benchmark.',
  }),
  contribution: z
    .number()
    .meta({ description: 'Contribution of the group to the total return; the groups sum to it.' }),
  allocation: defineEffect('Effect of a group weight that differs from the benchmark.'),
  selection: defineEffect('Effect of a group return that differs from the benchmark.'),
  interaction: defineEffect('Joint effect of both.'),
  currency: defineEffect('Effect of exchange rates. Null unless `currency` is `separate`.'),
})).meta({ id: 'GroupAttributionRow' });
export const GroupAttributionView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  by: z.string().meta({
    description:
      'Reference column, as known at the end of the window. The group UNCLASSIFIED contains the securities without a value. The group CASH contains the uninvested part and the separate return of an overlay.',
  }),
  benchmark: z.string().nullable(),
  return_variant: z.enum(RETURN_VARIANTS).meta({ description: 'Return of the run.' }),
  benchmark_variant: z.enum(MEASURED_VARIANTS).nullable().meta({
    description: 'Return variant of the benchmark; `raw` for unadjusted levels; null if there is no benchmark.',
  }),
  groups: z.array(GroupAttributionRow),
  effects: z
    .strictObject({
      allocation: z.number().meta({ description: 'Effect of different group weights.' }),
      selection: z.number().meta({ description: 'Effect of different securities within the groups.' }),
      interaction: z
        .number()
        .meta({ description: 'Joint effect of both; 0 with geometric effects, where it is part of the selection.' }),
      currency: z
        .number()
        .nullable()
        .meta({ description: 'Effect of exchange rates; null unless `currency` was requested.' }),
    })
    .nullable()
    .meta({
      description:
        'Each effect over all groups. Arithmetic effects add up to the active return; of geometric effects, the products of 1 + effect do. Null without a benchmark.',
    }),
  linking: z.enum(EFFECT_LINKING).nullable().meta({ description: 'Kind of the effects; null without a benchmark.' }),
  total_return: z.number(),
  benchmark_return: z.number().nullable(),
  active_return: z.number().nullable().meta({
    description:
      'total_return less benchmark_return; with geometric effects (1 + total_return) / (1 + benchmark_return) - 1.',
  }),
  periods: z.int(),
  residual: z.number(),
  reconciles: z.boolean(),
  requested_start: z.string(),
  requested_end: z.string(),
  start: z.string(),
  end: z.string(),
  findings: z.array(FindingPayload).meta({
    description: '`RETURNS_DIFFER`: only one of run and benchmark includes dividends.',
  }),
})).meta({ id: 'GroupAttributionView' });
export type GroupAttributionView = WithoutRunState<z.infer<typeof GroupAttributionView>>;

const BacktestBatchRequest = defineObject(() => ({
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
type BacktestBatchRequest = z.infer<typeof BacktestBatchRequest>;

const BACKTEST_BATCH_OUTCOMES = ['queued', 'current', 'refused'] as const;

const BacktestBatchEntry = defineObject(() => ({
  index_id: z.string(),
  outcome: z.enum(BACKTEST_BATCH_OUTCOMES).meta({
    description:
      '`queued`: a job runs the backtest. `current` (with `if_stale`): the stored run equals a new run of the request. `refused`: see `error`.',
  }),
  job: BacktestJobStatus.nullable().meta({ description: 'Job of the entry; only if it is queued.' }),
  error: ErrorDetailPayload.nullable().meta({
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

export const CompareEntry = defineObject(() => ({
  ...runState,
  run_id: RunKey.nullable().meta({ description: 'Id of the run; null for a benchmark.' }),
  index_id: z.string(),
  return_variant: z
    .enum(MEASURED_VARIANTS)
    .meta({ description: 'Return variant of the levels; `raw` for unadjusted levels.' }),
  currency: z.string().meta({ description: 'Currency of the levels.' }),
  level: SeriesPayload,
  total_return: defineFraction('Last level divided by the first, less 1.'),
  periods_per_year: z.number().meta({
    description:
      'Common returns per year, by which the figures of the entry are annualised: 252, or 365 if the series has weekend dates, times the share of its sessions that are common. A benchmark has the number of the first run.',
  }),
  annualised_return: z
    .number()
    .nullable()
    .meta({ description: 'total_return per year of periods_per_year returns; null with one common date.' }),
  volatility: defineFraction('Annualised standard deviation of returns.'),
  sharpe_ratio: z.number().meta({ description: 'Mean return x periods_per_year / volatility; 0 without volatility.' }),
  max_drawdown: defineFraction('Lowest drawdown, at most 0.'),
  benchmark_statistics: BenchmarkStatisticsPayload.nullable().meta({
    description:
      'Figures relative to the benchmark of the request; null without a benchmark, for the benchmark itself, and with fewer than 3 common dates.',
  }),
})).meta({ id: 'CompareEntry' });
export type CompareEntry = z.infer<typeof CompareEntry>;
export const CompareView = defineObject(() => ({
  index_ids: z.array(z.string()),
  entries: z.array(CompareEntry),
  findings: z.array(FindingPayload).meta({
    description:
      '`DIFFERENT_DATA`: the runs used different data. `RETURNS_DIFFER` and `CURRENCIES_DIFFER`: the levels are not comparable. `WINDOW_CUT`: the benchmark lacks common dates of the runs.',
  }),
  correlations: z.array(z.array(z.number().nullable())).meta({
    description:
      'Correlations of the returns, with rows and columns in the order of the entries. Null if a series is constant.',
  }),
  observations: z.int(),
  start: z.string(),
  end: z.string(),
})).meta({ id: 'CompareView' });
export type CompareView = z.infer<typeof CompareView>;

export const LevelsView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  variant: z.enum(RETURN_VARIANTS),
  levels: SeriesPayload,
  divisor: SeriesPayload,
})).meta({ id: 'LevelsView' });
export type LevelsView = WithoutRunState<z.infer<typeof LevelsView>>;

const defineGross = <T extends z.ZodType>(schema: T, description: string) =>
  schema.optional().meta({ description: `${description} Absent in overviews of runs of earlier versions.` });

const ConcentrationPayload = defineObject(() => ({
  constituents: z.int(),
  effective_assets: z.number(),
  herfindahl: z.number(),
  largest: z.number(),
  top_weights: z
    .record(z.string(), z.number())
    .meta({ description: 'Combined weight of the largest 1, 5, 10 and 20 constituents.' }),
  gross_constituents: defineGross(z.int(), 'Securities with a position, long or short.'),
  gross_effective_assets: defineGross(
    z.number(),
    'Squared sum of the absolute weights, divided by the sum of the squared weights: the number of equal positions with the same concentration, regardless of cash and borrowing.',
  ),
  gross_largest: defineGross(z.number(), 'Largest absolute weight, long or short.'),
})).meta({ id: 'ConcentrationPayload' });

const ExposurePayload = defineObject(() => ({
  long: z.number().meta({ description: 'Sum of the long weights.' }),
  short: z.number().meta({ description: 'Sum of the short weights, negative.' }),
  gross: z.number().meta({ description: 'Sum of the absolute weights.' }),
  net: z.number().meta({ description: 'Sum of the weights. Cash is 1 less this sum.' }),
})).meta({ id: 'ExposurePayload' });

const TrackingForecastPayload = defineObject(() => ({
  tracking_error: defineFraction('Annualised root mean square of the forecasts that applied on each date.'),
  realised_tracking_error: defineFraction('Annualised standard deviation of the active returns with a forecast.'),
  bias: z.number().nullable().meta({
    description:
      'Standard deviation of the active returns, each divided by its forecast. Above 1, risk was underestimated. Null if a forecast is 0.',
  }),
  bias_low: z.number().meta({ description: 'Lower end of the 95% band of the bias of unbiased forecasts.' }),
  bias_high: z.number().meta({ description: 'Upper end of the 95% band of the bias: 1 + sqrt(2 / observations).' }),
  observations: z.int().meta({ description: 'Number of active returns with a forecast.' }),
  rebalances: z
    .array(
      z.strictObject({
        date: defineDate('Session after which the forecast applies.'),
        tracking_error: defineFraction('Annualised forecast of the risk model at the decision.'),
        realised_tracking_error: z.number().nullable().meta({
          description:
            'Annualised tracking error until the next rebalance, a fraction; null with fewer than two returns.',
        }),
        observations: z.int().meta({ description: 'Number of returns until the next rebalance.' }),
      }),
    )
    .meta({ description: 'Rebalances with a forecast, by date.' }),
})).meta({ id: 'TrackingForecastPayload' });
export type TrackingForecastPayload = z.infer<typeof TrackingForecastPayload>;

export const ParentPayload = defineObject(() => ({
  index_id: z.string(),
  observations: z.int().meta({ description: 'Number of dates in both the run and the parent.' }),
  total_return: defineFraction('Return of the parent over the common dates.'),
  tracking_difference: defineFraction('Total return of the run less the total return of the parent.'),
  tracking_error: defineFraction('Annualised standard deviation of the return differences to the parent.'),
  forecast: TrackingForecastPayload.optional().meta({
    description:
      'Comparison of realised and forecast tracking error. Absent if no rebalance had a risk model, and in runs of earlier versions.',
  }),
})).meta({ id: 'ParentPayload' });
export type ParentPayload = z.infer<typeof ParentPayload>;

export const OverviewView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  name: z.string(),
  concentration: ConcentrationPayload,
  exposure: ExposurePayload.optional().meta({
    description: 'Long, short, gross and net exposure of the last rebalance; absent without a short position.',
  }),
  level: SeriesPayload,
  metrics: BacktestMetricsPayload,
  parent: ParentPayload.optional().meta({
    description:
      'Comparison of a derived index with its parent. Absent for other indices and in runs of earlier versions.',
  }),
  return_variant: z.enum(RETURN_VARIANTS).optional().meta({
    description:
      'Return variant of the levels. It is `total` on prices that include dividends, regardless of the treatment. Absent in runs of earlier versions.',
  }),
  observations: z.int(),
  rebalances: z.int(),
  last_rebalance: z.string(),
  start: z.string(),
  end: z.string(),
})).meta({ id: 'OverviewView' });
export type OverviewView = WithoutRunState<z.infer<typeof OverviewView>>;

export const ReconciliationCheck = defineObject(() => ({
  name: z.string(),
  meaning: z.string(),
  left: z.number().nullable().meta({ description: 'Recomputed value; null for a comparison of bytes.' }),
  right: z.number().nullable(),
  residual: z.number(),
  tolerance: z
    .number()
    .meta({ description: 'Maximum difference, relative to the larger value, or to 1 if both values are smaller.' }),
  holds: z.boolean(),
})).meta({ id: 'ReconciliationCheck' });
export const ReconciliationView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  reconciles: z.boolean().meta({ description: 'True if every check succeeds.' }),
  checks: z.array(ReconciliationCheck),
  not_compared: z.array(z.string()).meta({
    description: 'Data that is not checked because runs of earlier versions do not store it, one sentence each.',
  }),
})).meta({ id: 'ReconciliationView' });
export type ReconciliationView = WithoutRunState<z.infer<typeof ReconciliationView>>;

export const ConstituentRow = defineObject(() => ({
  identifier: z.string().meta({
    description:
      'Identifier of the security, or `CASH/USD` for the cash of an overlay in that currency (negative if money is borrowed).',
  }),
  weight: z.number().meta({ description: 'Weight held on as_of.' }),
  decided_weight: z.number().meta({ description: 'Weight of the rebalance in force, after capping.' }),
  raw_weight: z.number().meta({ description: 'Weight of the rebalance in force, before capping.' }),
  capped: z.boolean(),
  active_weight: z.number().nullable(),
  active_risk_contribution: z.number().nullable(),
  risk_contribution: z.number().nullable(),
  delta_since_rebalance: z.number().nullable(),
  shares_outstanding: z.number().nullable(),
})).meta({ id: 'ConstituentRow' });

export const DriftPayload = defineObject(() => ({
  maximum: z.number(),
  since: z.string(),
  total_absolute: z.number(),
  turnover: z.number(),
})).meta({ id: 'DriftPayload' });

const riskWindow = {
  uncovered: z.array(z.string()),
  window_start: z.string().nullable(),
  window_end: z.string().nullable(),
  observations: z.int().nullable().meta({
    description:
      'Number of sessions with a return of every covered security, from which the risk is estimated; null for a stored model.',
  }),
};
const measuredFields = {
  risk_model: z
    .string()
    .nullable()
    .meta({ description: 'Stored risk model; null for a model estimated over the window of the run.' }),
  risk_estimator: z
    .enum(ESTIMATORS)
    .nullable()
    .meta({ description: 'Requested estimator; null for the sample covariance or a stored model.' }),
  ...riskWindow,
};
const RiskPayload = defineObject(() => ({
  volatility: z.number().meta({
    description:
      'Annualised volatility of the holdings. The weights of the covered securities are scaled to the weight of all securities.',
  }),
  covered_weight: z.number(),
  ...measuredFields,
})).meta({ id: 'RiskPayload' });
const ActiveRiskPayload = defineObject(() => ({
  benchmark: z.string(),
  tracking_error: z.number().meta({
    description:
      'Annualised tracking error. The active weights of the covered securities are scaled to the gross active weight of all securities.',
  }),
  covered_weight: z.number().meta({ description: 'Fraction of the gross active weight with an estimate.' }),
  contributions_not_held: z.record(z.string(), z.number()),
  ...measuredFields,
})).meta({ id: 'ActiveRiskPayload' });

export const WeightsView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  requested_as_of: z.string().nullable(),
  as_of: z.string(),
  rebalance_date: z.string(),
  cap: z.number().nullable(),
  weights: z.array(ConstituentRow).meta({
    description:
      'Securities, the largest weight first, and last the cash that an overlay holds or owes, with which its weights sum to 1.',
  }),
  concentration: ConcentrationPayload,
  exposure: ExposurePayload.optional().meta({
    description: 'Long, short, gross and net exposure of the held weights; absent without a short position.',
  }),
  drift: DriftPayload.nullable(),
  risk: RiskPayload.nullable(),
  active_risk: ActiveRiskPayload.nullable(),
})).meta({ id: 'WeightsView' });
export type WeightsView = WithoutRunState<z.infer<typeof WeightsView>>;

/** Members of a variance that is split by factors. */
const createSplitFields = () => ({
  contributions: z
    .record(z.string(), z.number())
    .meta({ description: 'Fraction of the factor variance that the factor contributes. It can be negative.' }),
  factor_share: z.number(),
  factor_variance: z.number(),
  specific_variance: z.number(),
  total_variance: z.number(),
  residual: z.number(),
  reconciles: z.boolean(),
  model: z
    .enum([...FACTOR_MODELS, 'imported'])
    .meta({ description: 'Source of the factors. For a stored model, its estimator, or `imported`.' }),
  factors: z.array(z.string()),
  requested_as_of: z.string().nullable(),
  as_of: z.string().meta({ description: 'Date of the weights.' }),
  ...measuredFields,
  risk_estimator: z
    .enum(FACTOR_ESTIMATORS)
    .nullable()
    .meta({ description: 'Requested estimator; null for `model` or a stored model.' }),
  findings: z.array(FindingPayload).meta({
    description:
      '`LOOK_AHEAD`: the estimate uses returns after as_of. `MODEL_LACKS_NAMES`: the stored model has no estimate for some securities. `NO_EFFECT`: the model does not use `factors`.',
  }),
});

export const RiskDecomposition = defineObject(() => ({
  ...runState,
  ...createSplitFields(),
  tracking_error: z.number(),
  exposures: z.record(z.string(), z.number()).meta({ description: 'Active exposure to each factor.' }),
  benchmark: z.string().meta({ description: 'Index or identifier of the comparison.' }),
  covered_weight: z.number().meta({
    description: 'Fraction of the gross active weight with an estimate. The figures are scaled to the full weight.',
  }),
})).meta({ id: 'RiskDecomposition' });
export type RiskDecomposition = WithoutRunState<z.infer<typeof RiskDecomposition>>;

export const TotalRiskDecomposition = defineObject(() => ({
  ...runState,
  ...createSplitFields(),
  volatility: z
    .number()
    .meta({ description: 'Annualised forecast of the volatility: the root of the total variance.' }),
  exposures: z.record(z.string(), z.number()).meta({ description: 'Exposure to each factor.' }),
  covered_weight: z
    .number()
    .meta({ description: 'Fraction of the gross weight with an estimate. The figures are scaled to the full weight.' }),
})).meta({ id: 'TotalRiskDecomposition' });
export type TotalRiskDecomposition = WithoutRunState<z.infer<typeof TotalRiskDecomposition>>;

const params = defineObject(() => ({ index_id: Id }));
const window = {
  start: IsoDate.optional().meta({ description: 'First day. Default: the first date of the run.' }),
  end: IsoDate.optional().meta({ description: 'Last day. Default: the last date of the run.' }),
};
const asOf = {
  as_of: IsoDate.optional().meta({
    description: 'Latest date of the run on or before this day. Default: the last date.',
  }),
};
/** Parameters that select the factors of a variance. */
const createFactorQuery = () => ({
  model: z.enum(FACTOR_MODELS).optional().meta({
    description:
      'Factors over the window of the run: market and sectors (`market_sector`, `industries`), principal components (`statistical`), or market, sectors and styles (`styles`). Default: market_sector. Excludes risk_model.',
  }),
  risk_model: Id.optional().meta({
    description: 'Stored risk model that provides the factors: statistical, industries or styles.',
  }),
  risk_estimator: z.enum(FACTOR_ESTIMATORS).optional().meta({
    description: 'Estimator of the factors over the window of the run. Excludes model and risk_model.',
  }),
  factors: z
    .int()
    .min(1)
    .max(20)
    .optional()
    .meta({ description: 'Number of principal components of `statistical`. Default: 5.' }),
});
const runErrors = ['INDEX_NOT_FOUND', 'RUN_NOT_FOUND', 'DOCUMENT_UNREADABLE', 'NUMERIC_FAILURE'] as const;
/** Errors of a view that needs prices while the store of the run is not active. */
const priceErrors = [...runErrors, 'STORE_MISMATCH'] as const;
const benchmarkErrors = [...compositionErrors, 'BENCHMARK_NOT_FOUND', 'NO_DATA_SOURCE', 'NOT_SUPPORTED'] as const;

export const analyticsRoutes = defineRoutes('analytics', {
  startBacktest: {
    method: 'POST',
    path: '/analytics/{index_id}/backtest',
    onStore: 'body',
    scope: 'run',
    summary: 'Runs a backtest of an index or a strategy as a job.',
    description:
      'Invalid requests are refused before the job is queued: unknown benchmarks, ranges outside the calendar or the store, and ranges with fewer than two sessions.',
    params,
    body: {
      schema: BacktestRequest,
      optional: true,
      example: { start: '2020-01-02', end: '2024-12-31', transaction_cost_bps: 10 },
    },
    success: { status: 202, description: 'The job; see Location.', schema: BacktestJobStatus },
    unchanged: {
      status: 200,
      description: 'With `if_stale`, the result of the stored run, which equals a new run of this request.',
      schema: BacktestRunResult,
    },
    errors: [
      'LOOK_AHEAD',
      'NO_DATA_KNOWN',
      'VERSION_NOT_FOUND',
      'DOCUMENT_UNREADABLE',
      'INDEX_NOT_FOUND',
      'BENCHMARK_NOT_FOUND',
      'INVALID_RANGE',
      'CALENDAR_NOT_COVERED',
      'NO_DATA_IN_RANGE',
      'RANGE_TOO_SHORT',
      'FX_MISSING',
      'NO_RATE',
      'NUMERIC_FAILURE',
      'JOB_RUNNING',
      'NO_DATA_SOURCE',
      'NOT_SUPPORTED',
    ],
  },
  startBacktests: {
    method: 'POST',
    path: '/analytics/backtests',
    onStore: 'body',
    scope: 'run',
    summary: 'Runs backtests of many indices and strategies, each as a separate job.',
    description:
      'Each id has a separate entry. If one id is refused, for example because it is unknown or a queue is full, the others still run. With `if_stale`, only ids with a stale run are run. You can therefore repeat a partly successful request.',
    body: {
      schema: BacktestBatchRequest,
      example: { ids: ['LARGE-100', 'EQUAL-100'], if_stale: true },
    },
    startsJobs: true,
    success: { status: 200, description: 'An entry for each id, in the order of the request.', schema: BacktestBatch },
    errors: ['NO_DATA_SOURCE'],
  },
  listBacktests: {
    method: 'GET',
    path: '/analytics/backtests',
    call: 'analytics.list',
    scope: 'read',
    summary: 'Lists stored records by id.',
    query: listingQuery,
    success: { status: 200, description: 'The records.', schema: BacktestRecordCollection },
  },
  compareRuns: {
    method: 'GET',
    path: '/analytics/compare',
    scope: 'read',
    summary: 'Compares levels, figures and correlations of several stored runs on their common dates.',
    description:
      'With `Accept: text/csv`, returns the levels with one row per date and one column per run. A benchmark is the last entry. It uses the calendar and the currency of the first run. An identifier is compared on the dates on which it has a value.',
    query: defineObject(() => ({
      ids: z
        .array(RunOf)
        .min(1)
        .max(LIMITS.MAX_COMPARE_IDS)
        .meta({
          description: `2 to ${LIMITS.MAX_COMPARE_IDS} ids, or ID@RUN for an earlier run. With a benchmark, one id is sufficient.`,
        }),
      benchmark: BenchmarkName.optional(),
      ...window,
    })),
    success: { status: 200, description: 'The comparison.', schema: CompareView, media: ['text/csv'] },
    errors: [...priceErrors, ...benchmarkErrors, 'INVALID_RANGE', 'NO_COMMON_DATES'],
  },
  getRecord: {
    method: 'GET',
    path: '/analytics/{index_id}/record',
    scope: 'read',
    summary: 'Returns the stored record of a run.',
    params,
    query: z.strictObject(runParameter),
    success: { status: 200, description: 'The record.', schema: BacktestResultSummary },
    errors: runErrors,
  },
  deleteRecord: {
    method: 'DELETE',
    path: '/analytics/{index_id}/record',
    call: 'analytics.remove',
    scope: 'write',
    summary: 'Deletes the stored run.',
    params,
    versioned: true,
    success: { status: 204, description: 'Deleted.' },
    errors: ['INDEX_NOT_FOUND', 'RUN_NOT_FOUND'],
  },
  getOverview: {
    method: 'GET',
    path: '/analytics/{index_id}/overview',
    scope: 'read',
    summary: 'Returns level, metrics and concentration of a run.',
    params,
    query: z.strictObject(runParameter),
    success: { status: 200, description: 'The overview.', schema: OverviewView },
    errors: runErrors,
  },
  getAttribution: {
    method: 'GET',
    path: '/analytics/{index_id}/attribution',
    scope: 'read',
    summary:
      'Returns the contributions of the securities to the return of a window. The contributions are linked, so that they add up to the return exactly.',
    params,
    query: defineObject(() => ({ ...runParameter, ...window })),
    view: { name: 'attribution', needs: ['window'] },
    success: { status: 200, description: 'The attribution.', schema: AttributionView },
    errors: [...runErrors, 'INVALID_RANGE', 'RANGE_TOO_SHORT', 'TOTAL_LOSS'],
  },
  getGroupAttribution: {
    method: 'GET',
    path: '/analytics/{index_id}/attribution/groups',
    scope: 'read',
    summary: 'Returns contributions by group, and allocation, selection and interaction against a benchmark index.',
    description:
      'Effects are computed for each period as defined by Brinson and Fachler, and linked as defined by Cariño. They add up to the active return exactly. The benchmark is run from its definition and must have every date of the window.',
    params,
    query: defineObject(() => ({
      ...runParameter,
      by: z.string().min(1).max(64).default('SECTOR').meta({ description: 'Reference column to group by.' }),
      benchmark: BenchmarkName.optional(),
      linking: z.enum(EFFECT_LINKING).default('arithmetic').meta({
        description:
          '`arithmetic`: effects of differences, linked as defined by Cariño. `geometric`: effects of ratios, which compound, as defined by Bacon.',
      }),
      currency: z.enum(['included', 'separate']).default('included').meta({
        description:
          '`separate`: allocation and selection are those of returns in local currency, and the effect of exchange rates is a separate effect. Requires a benchmark.',
      }),
      ...window,
    })),
    view: { name: 'groups', needs: ['window', 'benchmark', 'market', 'group-column'] },
    success: { status: 200, description: 'The groups.', schema: GroupAttributionView },
    errors: [...priceErrors, ...benchmarkErrors, 'INVALID_RANGE', 'TOTAL_LOSS', 'NO_COMMON_DATES'],
  },
  reconcileRun: {
    method: 'GET',
    path: '/analytics/{index_id}/reconcile',
    scope: 'read',
    summary: 'Recomputes the accounting identities of the stored run.',
    description:
      'Each check returns both values, the residual, the tolerance and the verdict. Stored bytes are hashed again to detect changed records.',
    params,
    query: z.strictObject(runParameter),
    view: { name: 'reconcile', needs: ['run-benchmark', 'files', 'own-market'], isMadeAnew: true },
    success: { status: 200, description: 'The checks.', schema: ReconciliationView },
    errors: runErrors,
  },
  getRunAsset: {
    method: 'GET',
    path: '/analytics/{index_id}/assets/{identifier}',
    scope: 'read',
    summary: 'Returns one security of a run: its price, its weights, and its correlation with the run.',
    params: defineObject(() => ({ index_id: Id, identifier: AssetIdentifier })),
    query: z.strictObject(runParameter),
    view: { name: 'asset', needs: ['same-store'] },
    success: { status: 200, description: 'The security.', schema: AssetView },
    errors: [...priceErrors, 'ASSET_NOT_IN_RUN', 'NO_COMMON_DATES'],
  },
  getWeights: {
    method: 'GET',
    path: '/analytics/{index_id}/weights',
    scope: 'read',
    summary: 'Returns the holdings of the index on a date, with concentration, drift and risk.',
    params,
    query: defineObject(() => ({
      ...runParameter,
      ...asOf,
      benchmark: BenchmarkName.optional(),
      risk: z.boolean().default(false).meta({ description: 'True adds risk contributions.' }),
      risk_model: Id.optional().meta({
        description: 'Stored risk model for the risk contributions. They then need no prices.',
      }),
      risk_estimator: z.enum(ESTIMATORS).optional().meta({
        description:
          'Estimator of a covariance over the window of the run, with default settings. It adds risk contributions. Excludes risk_model.',
      }),
    })),
    view: { name: 'weights', needs: ['risk'] },
    success: { status: 200, description: 'The weights.', schema: WeightsView },
    errors: [...priceErrors, ...benchmarkErrors, 'RISK_MODEL_NOT_FOUND'],
  },
  getFactorRisk: {
    method: 'GET',
    path: '/analytics/{index_id}/factor-risk',
    scope: 'read',
    summary: 'Splits the active variance against a benchmark index into factor risk and specific risk.',
    params,
    query: defineObject(() => ({
      ...runParameter,
      ...asOf,
      benchmark: BenchmarkName,
      ...createFactorQuery(),
    })),
    view: { name: 'factor-risk', needs: ['factors', 'benchmark', 'market'] },
    success: { status: 200, description: 'The decomposition.', schema: RiskDecomposition },
    errors: [...priceErrors, ...benchmarkErrors, 'RISK_MODEL_NOT_FOUND', 'MODEL_LACKS_NAMES'],
  },
  getTotalRisk: {
    method: 'GET',
    path: '/analytics/{index_id}/total-risk',
    scope: 'read',
    summary: 'Splits the total variance of the holdings into factor risk and specific risk.',
    params,
    query: defineObject(() => ({ ...runParameter, ...asOf, ...createFactorQuery() })),
    view: { name: 'total-risk', needs: ['factors', 'market'] },
    success: { status: 200, description: 'The decomposition.', schema: TotalRiskDecomposition },
    errors: [
      ...priceErrors,
      'NO_DATA_SOURCE',
      'NO_DATA_AT_DATE',
      'FX_MISSING',
      'RISK_INSUFFICIENT_DATA',
      'RISK_MODEL_NOT_FOUND',
      'MODEL_LACKS_NAMES',
    ],
  },
  getFactorAttribution: {
    method: 'GET',
    path: '/analytics/{index_id}/factor-attribution',
    scope: 'read',
    summary: 'Attributes the return of a run to market, sectors and styles.',
    description:
      'In each calendar month, the returns of all securities of the store are regressed on exposures known at the previous close. Contributions of all sessions are linked, so that they add up to the total return.',
    params,
    query: defineObject(() => ({
      ...runParameter,
      model: z
        .enum(ATTRIBUTION_MODELS)
        .default('styles')
        .meta({ description: 'Market, sectors and styles, or market and sectors.' }),
      ...window,
    })),
    view: { name: 'factor-attribution', needs: ['window', 'market'] },
    success: { status: 200, description: 'The attribution.', schema: FactorAttributionView },
    errors: [...priceErrors, 'INVALID_RANGE', 'RANGE_TOO_SHORT', 'TOTAL_LOSS', 'NO_DATA_SOURCE'],
  },
  getLevels: {
    method: 'GET',
    path: '/analytics/{index_id}/levels',
    scope: 'read',
    summary: 'Returns the index levels of a run in any return variant, with the divisor.',
    params,
    query: defineObject(() => ({
      ...runParameter,
      variant: z.enum(RETURN_VARIANTS).optional().meta({
        description:
          'Return variant. Default: the variant of the index. A run on prices that include dividends has only `total`.',
      }),
      ...window,
    })),
    view: { name: 'levels', needs: ['window'] },
    success: {
      status: 200,
      description: 'The levels. A window is cut from the whole series and is not rebased.',
      schema: LevelsView,
    },
    errors: [...runErrors, 'INVALID_RANGE', 'VARIANT_NOT_AVAILABLE'],
  },
});
