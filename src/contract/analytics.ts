import { z } from 'zod';
import { FULL_RUN_REASON_NAMES } from '#domain/backtest/extend/reasons.js';
import { BacktestFields } from '#domain/documents/backtest-fields.js';
import { BenchmarkRef } from '#domain/documents/benchmark-ref.js';
import { RETURN_VARIANTS } from '#domain/market/market-data.js';
import { LIMITS } from '#domain/limits.js';
import { FACTOR_MODELS } from '#domain/risk/factor-risk.js';
import { AssetIdentifier, Id, IsoDate } from '#domain/shape.js';
import { compositionErrors, Finding, listingQuery, SeriesPayload, skippedFields, TableFrame } from './common.js';
import { jobStatus } from './jobs.js';
import { routes } from './route.js';
import { stale, type Stateless } from './run-state.js';

const fraction = (description: string) => z.number().meta({ description: `${description} A fraction.` });
const date = (description: string) => z.string().meta({ description, format: 'date' });
const weightMap = (description: string) => z.record(z.string(), z.number()).meta({ description });

/** A field that may be left out, with what stands for it then unless a strategy has its own. */
const given = (field: z.ZodDefault) => ({ ...field.meta(), default: field.def.defaultValue });
const terms = BacktestFields.shape;

/** What is not given is the strategy's, or for an index the default. */
export const BacktestRequest = z
  .strictObject({
    benchmark: terms.benchmark.unwrap().optional().meta(given(terms.benchmark)),
    start: terms.start.unwrap().optional().meta(given(terms.start)),
    end: terms.end.unwrap().optional().meta(given(terms.end)),
    initial_capital: terms.initial_capital.unwrap().optional().meta(given(terms.initial_capital)),
    transaction_cost_bps: terms.transaction_cost_bps.unwrap().optional().meta(given(terms.transaction_cost_bps)),
    if_stale: z.boolean().default(false).meta({
      description:
        'Run only when the stored run is not what a run of this request would give now; its result is answered otherwise.',
    }),
  })
  .meta({
    id: 'BacktestRequest',
    description: 'A field that is not given is that of the strategy, when one is run, else its default.',
  });
/** What is asked of a run, whether or not it has to be made. */
export type BacktestRequest = Omit<z.infer<typeof BacktestRequest>, 'if_stale'>;

export const BacktestMetrics = z
  .strictObject({
    annualised_return: fraction('(1 + total_return)^(252 / n) - 1.'),
    max_drawdown: fraction('Lowest drawdown, at most 0.'),
    sharpe_ratio: z
      .number()
      .meta({ description: 'Mean return x 252 / volatility, risk-free rate 0; 0 without volatility.' }),
    total_return: fraction('Last level over the first, less 1.'),
    tracking_difference: z.number().nullable().meta({ description: 'total_return less that of the tracked index.' }),
    tracking_error: z
      .number()
      .nullable()
      .meta({ description: 'Annualised standard deviation of return differences to the tracked index.' }),
    volatility: fraction('Annualised standard deviation of returns.'),
  })
  .meta({ id: 'BacktestMetrics' });

export const PriceGapPayload = z
  .strictObject({
    asset_id: z.string(),
    date: date('Simulated session whose bar was missing.'),
    priced_from: date('Session of the carried-forward price.'),
  })
  .meta({ id: 'PriceGapPayload' });
export type PriceGapPayload = z.infer<typeof PriceGapPayload>;

export const RebalancePricingPayload = z
  .strictObject({
    date: date('Rebalance date by the schedule.'),
    priced_from: date('Session the prices were read from.'),
  })
  .meta({ id: 'RebalancePricingPayload' });
export type RebalancePricingPayload = z.infer<typeof RebalancePricingPayload>;

export const StaleFillPayload = z
  .strictObject({
    identifier: z.string(),
    last_bar: date('Day of the price it was traded at.'),
    sessions_old: z.int().min(1).meta({ description: 'Sessions of its own exchange since that day.' }),
  })
  .meta({ id: 'StaleFillPayload', description: 'A name that a rebalance traded at the price of an earlier session.' });
export type StaleFillPayload = z.infer<typeof StaleFillPayload>;

export const RebalanceSnapshot = z
  .strictObject({
    date: date('Date the weights took effect.'),
    schedule_dates: z.array(z.string()).meta({
      description:
        'Schedule dates executed by this rebalance: its own date, and those of closed days that fall on the same session.',
    }),
    weights: weightMap('Applied weights, summing to 1.'),
    uncapped_weights: weightMap('Weights before capping; equal to weights where no cap was applied.'),
    cap: z.number().nullable().meta({ description: 'Effective maximum single weight, if one applies.' }),
    capped: z.array(z.string()).meta({ description: 'Names held at the cap.' }),
    redistributed: z.number().meta({ description: 'Weight moved off capped names.' }),
    stale_fills: z
      .array(StaleFillPayload)
      .meta({ description: 'Names traded at the price of an earlier session, up to max_stale_sessions old.' }),
    announced: z.string().nullable().meta({ description: 'When the composition was published, if earlier than date.' }),
  })
  .meta({ id: 'RebalanceSnapshot' });
export type RebalanceSnapshot = z.infer<typeof RebalanceSnapshot>;

export const RelativeMetricsPayload = z
  .strictObject({
    reference: BenchmarkRef,
    start: z.string().meta({ description: 'First date both series share, full timestamp.' }),
    end: z.string().meta({ description: 'Last shared date, full timestamp.' }),
    observations: z.int().meta({ description: 'Aligned dates used.' }),
    level: SeriesPayload,
    benchmark_return: z.number(),
    total_return: z.number(),
    excess_return: z.number().meta({ description: 'Portfolio less benchmark.' }),
    beta: z.number(),
    correlation: z.number(),
    tracking_error: z.number(),
    return_variant: z
      .enum([...RETURN_VARIANTS, 'raw'])
      .meta({ description: 'How the benchmark was read: its return variant, or raw for a column other than CLOSE.' }),
  })
  .meta({ id: 'RelativeMetricsPayload' });
export type RelativeMetricsPayload = z.infer<typeof RelativeMetricsPayload>;

const provenance = {
  findings: z.array(Finding).meta({ description: 'Warnings of the run.' }),
  run_hash: z.string().meta({
    description:
      'SHA-256 over engine version, definitions, request, store content and what the store declares of it (price basis, currency): equal hashes, equal results.',
  }),
  store_content_hash: z.string(),
  engine_version: z.string(),
  extended_from: z.string().nullable().meta({
    description:
      'Last date of the stored run that this one extends; the same numbers as running the whole. Null for a run made whole.',
  }),
  full_run_reason: z.enum(FULL_RUN_REASON_NAMES).nullable().meta({
    description:
      'Why a stored run was not extended; null when it was, or nothing was stored. Runs stored by earlier builds have `parted` for `holdings_diverged` and `rewritten` for `file_rewritten`.',
  }),
};

const gapsAndPricing = {
  price_gaps: z
    .array(PriceGapPayload)
    .meta({ description: 'Days a holding or target had no bar though its exchange was open.' }),
  rebalance_pricing: z
    .array(RebalancePricingPayload)
    .meta({ description: 'Per rebalance, the session its trades were priced from.' }),
};

export const BacktestRunResult = z
  .strictObject({
    annual_returns: z
      .record(z.string(), z.number())
      .meta({ description: 'Calendar year to return; they compound to the total.' }),
    benchmark: RelativeMetricsPayload.nullable(),
    drawdown: SeriesPayload,
    index_level: SeriesPayload,
    initial_capital: z.number(),
    level: SeriesPayload,
    metrics: BacktestMetrics,
    ...gapsAndPricing,
    rebalances: z
      .array(RebalanceSnapshot)
      .meta({ description: 'Compositions in the run, preceded by the one in force at its start.' }),
    rebalances_total: z
      .int()
      .meta({ description: 'All of them: more than served only where the weights would not fit a result.' }),
    returns: SeriesPayload,
    total_costs: z.number(),
    ...provenance,
  })
  .meta({ id: 'BacktestRunResult' });
export type BacktestRunResult = z.infer<typeof BacktestRunResult>;

export const CalendarCoveragePayload = z
  .strictObject({
    calendar: z.string(),
    requested_start: z.string(),
    requested_end: z.string(),
    covered_start: z.string(),
    covered_end: z.string(),
    trimmed_start: z.boolean(),
    trimmed_end: z.boolean(),
  })
  .meta({ id: 'CalendarCoveragePayload' });
export type CalendarCoveragePayload = z.infer<typeof CalendarCoveragePayload>;

export const BookPayload = z
  .strictObject({
    levels: SeriesPayload.meta({
      description: 'Index points from the base value on; a bare series is rebased to 100.',
    }),
    weights: TableFrame.meta({
      description: 'Held weights after each close, dates by identifier, at most the most recent MAX_WEIGHT_DATES.',
    }),
    weights_dates_total: z.int(),
    rebalances: z.array(RebalanceSnapshot),
    rebalances_total: z.int(),
    calendar_coverage: CalendarCoveragePayload.nullable(),
    divisor: SeriesPayload.optional().meta({
      description: 'Market value over level, 1 at the start; absent for a bare level series.',
    }),
  })
  .meta({ id: 'BookPayload' });
export type BookPayload = z.infer<typeof BookPayload>;

export const UnfilledOrderPayload = z
  .strictObject({
    date: z.string(),
    asset_id: z.string(),
    side: z.enum(['buy', 'sell']),
    target_weight: z.number(),
    held_weight: z.number(),
    notional: z.number(),
    reason: z.enum(['no_price', 'stale_price', 'delisted']),
    filled_on: z.string().nullable(),
  })
  .meta({ id: 'UnfilledOrderPayload' });
export type UnfilledOrderPayload = z.infer<typeof UnfilledOrderPayload>;

export const PortfolioBookPayload = z
  .strictObject({
    cash: SeriesPayload,
    initial_capital: z.number(),
    nav: SeriesPayload.meta({
      description: 'Value after each close, preceded by a day-zero row with the initial capital.',
    }),
    portfolio_id: z.string(),
    positions: TableFrame,
    positions_total: z.int(),
    transactions: TableFrame,
    transactions_total: z.int().meta({
      description: 'Rows of the whole table: more than served only beyond a million, the most recent being served.',
    }),
    weights: TableFrame,
    weights_dates_total: z.int(),
  })
  .meta({ id: 'PortfolioBookPayload' });
export type PortfolioBookPayload = z.infer<typeof PortfolioBookPayload>;

export const BacktestResultSummary = z
  .strictObject({
    ...stale,
    benchmark: BookPayload.nullable(),
    index: z
      .strictObject({ target: BookPayload.nullable(), optimised: BookPayload.nullable() })
      .meta({ id: 'IndexBooksPayload' }),
    metrics: BacktestMetrics,
    portfolio: PortfolioBookPayload,
    ...gapsAndPricing,
    run_at: z.string().nullable(),
    unfilled: z.array(UnfilledOrderPayload),
    ...provenance,
  })
  .meta({ id: 'BacktestResultSummary' });
export type BacktestResultSummary = Stateless<z.infer<typeof BacktestResultSummary>>;

export const BacktestJobStatus = jobStatus('BacktestJobStatus', 'backtest', BacktestRunResult);

export const BacktestRecordRow = z
  .strictObject({ ...stale, index_id: z.string(), run_at: z.string().nullable() })
  .meta({ id: 'BacktestRecordRow' });
export const BacktestRecordCollection = z
  .strictObject({ backtests: z.array(BacktestRecordRow), ...skippedFields })
  .meta({ id: 'BacktestRecordCollection' });
export type BacktestRecordCollection = z.infer<typeof BacktestRecordCollection>;

export const ConcentrationPayload = z
  .strictObject({
    constituents: z.int(),
    effective_assets: z.number(),
    herfindahl: z.number(),
    largest: z.number(),
    top_weights: z
      .record(z.string(), z.number())
      .meta({ description: 'Combined weight of the largest 1, 5, 10 and 20.' }),
  })
  .meta({ id: 'ConcentrationPayload' });

export const ExposurePayload = z
  .strictObject({
    long: z.number().meta({ description: 'Sum of the long weights.' }),
    short: z.number().meta({ description: 'Sum of the short weights, negative.' }),
    gross: z.number().meta({ description: 'Sum of the magnitudes of the weights.' }),
    net: z.number().meta({ description: 'Sum of the weights; what it leaves of 1 is cash.' }),
  })
  .meta({ id: 'ExposurePayload' });

export const ParentPayload = z
  .strictObject({
    index_id: z.string(),
    observations: z.int().meta({ description: 'Dates that the run and the parent share.' }),
    total_return: fraction('Of the parent over the shared dates.'),
    tracking_difference: fraction('Total return of the run less that of the parent.'),
    tracking_error: fraction('Annualised standard deviation of return differences to the parent.'),
  })
  .meta({ id: 'ParentPayload' });
export type ParentPayload = z.infer<typeof ParentPayload>;

export const OverviewView = z
  .strictObject({
    ...stale,
    index_id: z.string(),
    name: z.string(),
    concentration: ConcentrationPayload,
    exposure: ExposurePayload.optional().meta({
      description: 'Long, short, gross and net exposure of the last rebalance; absent without a short position.',
    }),
    level: SeriesPayload,
    metrics: BacktestMetrics,
    parent: ParentPayload.optional().meta({
      description:
        'How the run went beside the index that a derived index was made from. Absent from other runs, and from those of earlier versions.',
    }),
    return_variant: z.enum(RETURN_VARIANTS).optional().meta({
      description:
        'Return that the levels have: total on prices that include dividends, whatever the treatment asks for. Absent from runs of earlier versions.',
    }),
    observations: z.int(),
    rebalances: z.int(),
    last_rebalance: z.string(),
    start: z.string(),
    end: z.string(),
  })
  .meta({ id: 'OverviewView' });
export type OverviewView = Stateless<z.infer<typeof OverviewView>>;

export const ContributionPayload = z
  .strictObject({
    asset_id: z.string(),
    average_weight: z.number(),
    contribution: z.number(),
    total_return: z.number(),
  })
  .meta({ id: 'ContributionPayload' });

export const AttributionView = z
  .strictObject({
    ...stale,
    index_id: z.string(),
    contributions: z
      .array(ContributionPayload)
      .meta({ description: 'By contribution, largest first, then identifier.' }),
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
  })
  .meta({ id: 'AttributionView' });
export type AttributionView = Stateless<z.infer<typeof AttributionView>>;

const effect = (description: string) =>
  z
    .number()
    .nullable()
    .meta({ description: `${description} Null without a benchmark.` });

export const GroupAttributionRow = z
  .strictObject({
    group: z.string(),
    average_weight: z.number(),
    benchmark_average_weight: effect('Mean weight of the group in the benchmark.'),
    contribution: z.number().meta({ description: 'What the group added to the total return; the groups sum to it.' }),
    allocation: effect('From holding another weight of the group than the benchmark.'),
    selection: effect("From the group's names doing otherwise than the benchmark's."),
    interaction: effect('From both together.'),
  })
  .meta({ id: 'GroupAttributionRow' });
export const GroupAttributionView = z
  .strictObject({
    ...stale,
    index_id: z.string(),
    by: z.string().meta({
      description:
        'Reference column, as known at the end of the window; UNCLASSIFIED without a value, CASH what is not invested.',
    }),
    benchmark: z.string().nullable(),
    groups: z.array(GroupAttributionRow),
    total_return: z.number(),
    benchmark_return: z.number().nullable(),
    active_return: z
      .number()
      .nullable()
      .meta({ description: 'total_return less benchmark_return; the effects of all groups sum to it.' }),
    periods: z.int(),
    residual: z.number(),
    reconciles: z.boolean(),
    requested_start: z.string(),
    requested_end: z.string(),
    start: z.string(),
    end: z.string(),
  })
  .meta({ id: 'GroupAttributionView' });
export type GroupAttributionView = Stateless<z.infer<typeof GroupAttributionView>>;

export const ReconciliationCheck = z
  .strictObject({
    name: z.string(),
    meaning: z.string(),
    left: z
      .number()
      .nullable()
      .meta({ description: 'The side that was computed again; null where bytes are compared.' }),
    right: z.number().nullable(),
    residual: z.number(),
    tolerance: z.number().meta({ description: 'Relative to the larger side, at least to 1.' }),
    holds: z.boolean(),
  })
  .meta({ id: 'ReconciliationCheck' });
export const ReconciliationView = z
  .strictObject({ ...stale, index_id: z.string(), reconciles: z.boolean(), checks: z.array(ReconciliationCheck) })
  .meta({ id: 'ReconciliationView' });
export type ReconciliationView = Stateless<z.infer<typeof ReconciliationView>>;

export const AssetView = z
  .strictObject({
    ...stale,
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
  })
  .meta({ id: 'AssetView' });
export type AssetView = Stateless<z.infer<typeof AssetView>>;

export const CompareEntry = z
  .strictObject({ ...stale, index_id: z.string(), level: SeriesPayload, total_return: z.number() })
  .meta({ id: 'CompareEntry' });
export type CompareEntry = z.infer<typeof CompareEntry>;
export const CompareView = z
  .strictObject({
    index_ids: z.array(z.string()),
    entries: z.array(CompareEntry),
    findings: z.array(Finding).meta({ description: '`DIFFERENT_DATA` when the runs were made on different contents.' }),
    observations: z.int(),
    start: z.string(),
    end: z.string(),
  })
  .meta({ id: 'CompareView' });
export type CompareView = z.infer<typeof CompareView>;

export const ConstituentRow = z
  .strictObject({
    identifier: z.string(),
    weight: z.number().meta({ description: 'Held at as_of.' }),
    raw_weight: z.number().meta({ description: 'Before capping, at the rebalance.' }),
    capped: z.boolean(),
    active_weight: z.number().nullable(),
    active_risk_contribution: z.number().nullable(),
    risk_contribution: z.number().nullable(),
    delta_since_rebalance: z.number().nullable(),
    shares_outstanding: z.number().nullable(),
  })
  .meta({ id: 'ConstituentRow' });

export const DriftPayload = z
  .strictObject({ maximum: z.number(), since: z.string(), total_absolute: z.number(), turnover: z.number() })
  .meta({ id: 'DriftPayload' });

const riskWindow = {
  uncovered: z.array(z.string()),
  window_start: z.string().nullable(),
  window_end: z.string().nullable(),
};
export const RiskPayload = z
  .strictObject({ volatility: z.number(), covered_weight: z.number(), ...riskWindow })
  .meta({ id: 'RiskPayload' });
export const ActiveRiskPayload = z
  .strictObject({
    benchmark: z.string(),
    tracking_error: z.number(),
    covered_weight: z.number(),
    contributions_not_held: z.record(z.string(), z.number()),
    ...riskWindow,
  })
  .meta({ id: 'ActiveRiskPayload' });

export const WeightsView = z
  .strictObject({
    ...stale,
    index_id: z.string(),
    requested_as_of: z.string().nullable(),
    as_of: z.string(),
    rebalance_date: z.string(),
    cap: z.number().nullable(),
    weights: z.array(ConstituentRow),
    concentration: ConcentrationPayload,
    exposure: ExposurePayload.optional().meta({
      description: 'Long, short, gross and net exposure of the held weights; absent without a short position.',
    }),
    drift: DriftPayload.nullable(),
    risk: RiskPayload.nullable(),
    active_risk: ActiveRiskPayload.nullable(),
  })
  .meta({ id: 'WeightsView' });
export type WeightsView = Stateless<z.infer<typeof WeightsView>>;

export const RiskDecomposition = z
  .strictObject({
    ...stale,
    contributions: z
      .record(z.string(), z.number())
      .meta({ description: 'Share of each factor in the factor variance; may be negative.' }),
    factor_share: z.number(),
    factor_variance: z.number(),
    specific_variance: z.number(),
    total_variance: z.number(),
    tracking_error: z.number(),
    residual: z.number(),
    reconciles: z.boolean(),
    model: z.enum(FACTOR_MODELS),
    factors: z.array(z.string()),
    exposures: z.record(z.string(), z.number()).meta({ description: 'Active exposure to each factor.' }),
    benchmark: z.string().meta({ description: 'Index or identifier compared with.' }),
    requested_as_of: z.string().nullable(),
    as_of: z.string().meta({ description: 'Date of the weights.' }),
    covered_weight: z.number().meta({ description: 'Share of the gross active weight that the figures speak for.' }),
    ...riskWindow,
  })
  .meta({ id: 'RiskDecomposition' });
export type RiskDecomposition = Stateless<z.infer<typeof RiskDecomposition>>;

export const LevelsView = z
  .strictObject({
    ...stale,
    index_id: z.string(),
    variant: z.enum(RETURN_VARIANTS),
    levels: SeriesPayload,
    divisor: SeriesPayload,
  })
  .meta({ id: 'LevelsView' });
export type LevelsView = Stateless<z.infer<typeof LevelsView>>;

const params = z.strictObject({ index_id: Id });
const window = {
  start: IsoDate.optional().meta({ description: 'First day wanted; the first of the run by default.' }),
  end: IsoDate.optional().meta({ description: 'Last day wanted; the last of the run by default.' }),
};
const runErrors = ['INDEX_NOT_FOUND', 'RUN_NOT_FOUND', 'DOCUMENT_UNREADABLE', 'NUMERIC_FAILURE'] as const;
/** What comes of a view that needs prices while another store is served than that of its run. */
const priceErrors = [...runErrors, 'STORE_MISMATCH'] as const;
/** What can come of running the benchmark from its definition, beside its risk. */
const benchmarkErrors = [...compositionErrors, 'BENCHMARK_NOT_FOUND', 'NO_DATA_SOURCE', 'NOT_SUPPORTED'] as const;
const tag = 'analytics';

export const analyticsRoutes = routes({
  startBacktest: {
    method: 'POST',
    path: '/analytics/{index_id}/backtest',
    scope: 'run',
    tag,
    summary: 'Backtest an index, or a strategy, as a job.',
    description:
      'Everything that can be refused without running is refused here: unknown benchmarks, ranges that calendar or store do not cover, ranges of fewer than two sessions.',
    params,
    body: {
      schema: BacktestRequest,
      optional: true,
      example: { start: '2020-01-02', end: '2024-12-31', transaction_cost_bps: 10 },
    },
    success: { status: 202, description: 'The job; see Location.', schema: BacktestJobStatus },
    unchanged: {
      status: 200,
      description: 'With `if_stale`: the result of the stored run, which a run of this request would give again.',
      schema: BacktestRunResult,
    },
    errors: [
      'INDEX_NOT_FOUND',
      'BENCHMARK_NOT_FOUND',
      'INVALID_RANGE',
      'CALENDAR_NOT_COVERED',
      'NO_DATA_IN_RANGE',
      'RANGE_TOO_SHORT',
      'JOB_RUNNING',
      'NO_DATA_SOURCE',
      'NOT_SUPPORTED',
    ],
  },
  listBacktests: {
    method: 'GET',
    path: '/analytics/backtests',
    scope: 'read',
    tag,
    summary: 'Stored records, by id.',
    query: listingQuery,
    success: { status: 200, description: 'The records.', schema: BacktestRecordCollection },
    errors: [],
  },
  compareRuns: {
    method: 'GET',
    path: '/analytics/compare',
    scope: 'read',
    tag,
    summary: 'Levels of several stored runs on the dates that all of them have.',
    query: z.strictObject({
      ids: z
        .array(Id)
        .min(1)
        .max(LIMITS.MAX_COMPARE_IDS)
        .meta({ description: `2 to ${LIMITS.MAX_COMPARE_IDS} ids.` }),
    }),
    success: { status: 200, description: 'The comparison.', schema: CompareView },
    errors: [...runErrors, 'NO_COMMON_DATES'],
  },
  getRecord: {
    method: 'GET',
    path: '/analytics/{index_id}/record',
    scope: 'read',
    tag,
    summary: 'The stored record of the latest run.',
    params,
    success: { status: 200, description: 'The record.', schema: BacktestResultSummary },
    errors: runErrors,
  },
  deleteRecord: {
    method: 'DELETE',
    path: '/analytics/{index_id}/record',
    scope: 'write',
    tag,
    summary: 'Forget the stored run.',
    params,
    success: { status: 204, description: 'Forgotten.' },
    errors: ['INDEX_NOT_FOUND', 'RUN_NOT_FOUND'],
  },
  getOverview: {
    method: 'GET',
    path: '/analytics/{index_id}/overview',
    scope: 'read',
    tag,
    summary: 'Level, metrics and concentration of the latest run.',
    params,
    success: { status: 200, description: 'The overview.', schema: OverviewView },
    errors: runErrors,
  },
  getAttribution: {
    method: 'GET',
    path: '/analytics/{index_id}/attribution',
    scope: 'read',
    tag,
    summary: 'Contributions of the names to the return of a window, linked so that they add up exactly.',
    params,
    query: z.strictObject(window),
    success: { status: 200, description: 'The attribution.', schema: AttributionView },
    errors: [...runErrors, 'INVALID_RANGE', 'RANGE_TOO_SHORT', 'TOTAL_LOSS'],
  },
  getGroupAttribution: {
    method: 'GET',
    path: '/analytics/{index_id}/attribution/groups',
    scope: 'read',
    tag,
    summary: 'Contributions by group, and allocation, selection and interaction against a benchmark index.',
    description:
      'Effects are those of Brinson and Fachler, period by period, linked after Cariño: they sum to the active return exactly. The benchmark is run from its definition and must have every date of the window.',
    params,
    query: z.strictObject({
      by: z.string().min(1).max(64).default('SECTOR').meta({ description: 'Reference column to group by.' }),
      benchmark: AssetIdentifier.optional().meta({
        description: 'Index to compare with; otherwise an identifier of the served store: one name or one series.',
      }),
      ...window,
    }),
    success: { status: 200, description: 'The groups.', schema: GroupAttributionView },
    errors: [...priceErrors, ...benchmarkErrors, 'INVALID_RANGE', 'TOTAL_LOSS', 'NO_COMMON_DATES'],
  },
  reconcileRun: {
    method: 'GET',
    path: '/analytics/{index_id}/reconcile',
    scope: 'read',
    tag,
    summary: 'The identities of the stored run, computed again.',
    description:
      'Each check with both sides, residual, tolerance and verdict. Stored bytes are hashed again, so that a changed record is found.',
    params,
    success: { status: 200, description: 'The checks.', schema: ReconciliationView },
    errors: runErrors,
  },
  getRunAsset: {
    method: 'GET',
    path: '/analytics/{index_id}/assets/{identifier}',
    scope: 'read',
    tag,
    summary: 'One name of a run: its price, its weights, how it moved with the run.',
    params: z.strictObject({ index_id: Id, identifier: AssetIdentifier }),
    success: { status: 200, description: 'The name.', schema: AssetView },
    errors: [...priceErrors, 'ASSET_NOT_IN_RUN', 'NO_COMMON_DATES'],
  },
  getWeights: {
    method: 'GET',
    path: '/analytics/{index_id}/weights',
    scope: 'read',
    tag,
    summary: 'What the index holds on a date, with concentration, drift and risk.',
    params,
    query: z.strictObject({
      as_of: IsoDate.optional().meta({
        description: 'The latest date of the run at or before it; the last by default.',
      }),
      benchmark: AssetIdentifier.optional().meta({
        description:
          'Index to compare weights with, run from its definition; otherwise an identifier of the served store: one name or one series.',
      }),
      risk: z.boolean().default(false).meta({ description: 'Adds risk contributions.' }),
    }),
    success: { status: 200, description: 'The weights.', schema: WeightsView },
    errors: [...priceErrors, ...benchmarkErrors],
  },
  getFactorRisk: {
    method: 'GET',
    path: '/analytics/{index_id}/factor-risk',
    scope: 'read',
    tag,
    summary: 'Active variance against a benchmark index, split into factors and the rest.',
    params,
    query: z.strictObject({
      as_of: IsoDate.optional().meta({
        description: 'The latest date of the run at or before it; the last by default.',
      }),
      benchmark: AssetIdentifier.meta({
        description:
          'Index to compare with, run from its definition; otherwise an identifier of the served store: one name or one series.',
      }),
      model: z
        .enum(FACTOR_MODELS)
        .default('market_sector')
        .meta({ description: 'Market and sectors, or principal components.' }),
      factors: z.int().min(1).max(20).default(5).meta({ description: 'Components of the statistical model.' }),
    }),
    success: { status: 200, description: 'The decomposition.', schema: RiskDecomposition },
    errors: [...priceErrors, ...benchmarkErrors],
  },
  getLevels: {
    method: 'GET',
    path: '/analytics/{index_id}/levels',
    scope: 'read',
    tag,
    summary: 'Index levels of the latest run in any return variant, with the divisor.',
    params,
    query: z.strictObject({
      variant: z
        .enum(RETURN_VARIANTS)
        .optional()
        .meta({ description: "The index's own by default; a run on prices that include dividends has only `total`." }),
      ...window,
    }),
    success: { status: 200, description: 'The levels: a window is cut, not rebased.', schema: LevelsView },
    errors: [...runErrors, 'INVALID_RANGE', 'VARIANT_NOT_AVAILABLE'],
  },
});
