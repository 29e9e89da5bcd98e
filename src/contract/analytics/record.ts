import { z } from 'zod';
import { defineObject } from '#domain/base/schema.js';
import { REBALANCE_CAUSES } from '#domain/definition/index-schedule.js';
import { BenchmarkRef, FULL_RUN_REASON_NAMES } from '#domain/definition/runs.js';
import { MEASURED_VARIANTS } from '#domain/market/market-data.js';
import { createJobStatus } from '../jobs.js';
import { FindingPayload, SeriesPayload, skippedFields, TableFrame } from '../payloads.js';
import { runState, type WithoutRunState } from '../run.js';

export const defineFraction = (description: string) => z.number().meta({ description: `${description} A fraction.` });
export const defineDate = (description: string) => z.string().meta({ description, format: 'date' });
const defineWeightMap = (description: string) => z.record(z.string(), z.number()).meta({ description });

export const BacktestMetricsPayload = defineObject(() => ({
  annualised_return: defineFraction(
    '(1 + total_return)^(y / n) - 1, where y is the number of sessions per year: 252, or 365 if the calendar trades every day.',
  ),
  max_drawdown: defineFraction('Lowest drawdown, at most 0.'),
  sharpe_ratio: z.number().meta({
    description: 'Mean return x sessions per year / volatility, with a risk-free rate of 0; 0 without volatility.',
  }),
  total_return: defineFraction('Last level divided by the first, less 1.'),
  tracking_difference: z
    .number()
    .nullable()
    .meta({ description: 'total_return less the total return of the tracked index; null if the index is measured.' }),
  tracking_error: z.number().nullable().meta({
    description:
      'Annualised standard deviation of the return differences to the tracked index; null if the index is measured.',
  }),
  volatility: defineFraction('Annualised standard deviation of returns.'),
})).meta({ id: 'BacktestMetrics' });

const defineRatio = (description: string) => z.number().nullable().meta({ description });

export const ReturnStatisticsPayload = defineObject(() => ({
  downside_volatility: defineFraction('sqrt(sessions per year x mean of min(return, 0)^2).'),
  sortino_ratio: defineRatio('Mean return x sessions per year / downside volatility; null if no return is negative.'),
  cvar_95: defineFraction(
    'Mean loss of the worst 5% of the sessions (their number is rounded up); positive for a loss.',
  ),
  skewness: defineRatio(
    'Third central moment divided by the cubed population standard deviation; null without variation.',
  ),
  hit_rate: defineFraction('Fraction of the sessions with a positive return.'),
  best_return: defineFraction('Best session.'),
  worst_return: defineFraction('Worst session.'),
})).meta({ id: 'ReturnStatistics' });

export const BenchmarkStatisticsPayload = defineObject(() => ({
  observations: z.int().meta({ description: 'Number of dates in both series.' }),
  benchmark_return: defineFraction('Return of the benchmark over the common dates.'),
  excess_return: defineFraction('Return over the common dates, less the return of the benchmark.'),
  tracking_error: defineFraction('Annualised standard deviation of the return differences to the benchmark.'),
  information_ratio: defineRatio(
    'Mean active return x sessions per year, divided by the annualised standard deviation of active returns.',
  ),
  up_capture: defineRatio(
    'Geometric mean return divided by the geometric mean return of the benchmark, on sessions with a positive benchmark return; null if there are none.',
  ),
  down_capture: defineRatio('Same ratio as up_capture, on sessions with a negative benchmark return.'),
})).meta({ id: 'BenchmarkStatistics' });

export const DrawdownRow = defineObject(() => ({
  peak: z.string().meta({ description: 'Last date at the high.' }),
  trough: z.string().meta({ description: 'Date of the lowest level.' }),
  recovery: z
    .string()
    .nullable()
    .meta({ description: 'First date on which the level is back at the high; null if it has not recovered.' }),
  depth: defineFraction('Lowest level divided by the high, less 1.'),
  sessions: z.int().meta({ description: 'Number of sessions from the high to the recovery, or to the last date.' }),
})).meta({ id: 'DrawdownRow' });

export const RelativeMetricsPayload = defineObject(() => ({
  reference: BenchmarkRef,
  start: z.string().meta({ description: 'First common date, as a full timestamp.' }),
  end: z.string().meta({ description: 'Last common date, as a full timestamp.' }),
  observations: z.int().meta({ description: 'Number of common dates.' }),
  level: SeriesPayload,
  benchmark_return: z.number(),
  total_return: z.number(),
  excess_return: z.number().meta({ description: 'Return of the portfolio less the return of the benchmark.' }),
  beta: z.number(),
  correlation: z.number(),
  tracking_error: z.number(),
  return_variant: z
    .enum(MEASURED_VARIANTS)
    .meta({ description: 'Return variant of the benchmark; `raw` for a column other than CLOSE.' }),
})).meta({ id: 'RelativeMetricsPayload' });
export type RelativeMetricsPayload = z.infer<typeof RelativeMetricsPayload>;

export const PriceGapPayload = defineObject(() => ({
  asset_id: z.string(),
  date: defineDate('Simulated session without a bar.'),
  priced_from: defineDate('Session of the carried-forward price.'),
})).meta({ id: 'PriceGapPayload' });
export type PriceGapPayload = z.infer<typeof PriceGapPayload>;

export const RebalancePricingPayload = defineObject(() => ({
  date: defineDate('Rebalance date of the schedule.'),
  priced_from: defineDate('Session of the prices.'),
})).meta({ id: 'RebalancePricingPayload' });
export type RebalancePricingPayload = z.infer<typeof RebalancePricingPayload>;

export const StaleFillPayload = defineObject(() => ({
  identifier: z.string(),
  last_bar: defineDate('Day of the price of the trade.'),
  sessions_old: z.int().min(1).meta({ description: 'Number of sessions of the exchange since that day.' }),
})).meta({
  id: 'StaleFillPayload',
  description: 'A security that a rebalance traded at the price of an earlier session.',
});
export type StaleFillPayload = z.infer<typeof StaleFillPayload>;

const gapsAndPricing = {
  price_gaps: z
    .array(PriceGapPayload)
    .meta({ description: 'Days on which a holding or target had no bar although its exchange was open.' }),
  rebalance_pricing: z
    .array(RebalancePricingPayload)
    .meta({ description: 'For each rebalance, the session of the prices of its trades.' }),
};

const provenance = {
  findings: z.array(FindingPayload).meta({ description: 'Warnings of the run.' }),
  run_hash: z.string().meta({
    description:
      'SHA-256 of the engine version, the definitions, the request, and the content and declarations (price basis, currency) of the store. Equal hashes mean equal results.',
  }),
  store_content_hash: z.string(),
  engine_version: z.string(),
  extended_from: z.string().nullable().meta({
    description:
      'Last date of the stored run that this run extends; its numbers equal those of a full run. Null for a full run.',
  }),
  full_run_reason: z.enum(FULL_RUN_REASON_NAMES).nullable().meta({
    description: 'Reason why a stored run was not extended. Null if it was extended, or if there was no stored run.',
  }),
};

export const RebalanceSnapshot = defineObject(() => ({
  date: defineDate('Date on which the weights took effect.'),
  schedule_dates: z.array(z.string()).meta({
    description:
      'Dates of the schedule that this rebalance executes: its own date, and dates of closed days that moved to its session.',
  }),
  weights: defineWeightMap(
    'Applied weights, with a sum of 1. The cash that an overlay holds or owes is `CASH/USD` in that currency.',
  ),
  uncapped_weights: defineWeightMap('Weights before capping. They equal the weights if no cap was applied.'),
  cap: z.number().nullable().meta({ description: 'Effective maximum weight of a security, if there is one.' }),
  capped: z.array(z.string()).meta({ description: 'Securities held at the cap.' }),
  redistributed: z.number().meta({
    description:
      'Weight that was redistributed from capped securities: the sum of the positive differences uncapped_weights - weights.',
  }),
  stale_fills: z.array(StaleFillPayload).meta({
    description: 'Securities traded at the price of an earlier session, which is at most max_stale_sessions old.',
  }),
  announced: z.string().nullable().meta({ description: 'Publication date of the composition, if earlier than date.' }),
  target_weights: z.record(z.string(), z.number()).nullable().meta({
    description:
      'Weights that were decided from data up to reference_date. Null if they equal the weights, and in runs of earlier versions that do not store them.',
  }),
  reference_date: z.string().nullable().meta({
    description:
      'Last date of the data that selection and weighting read; null in runs of earlier versions that do not store it.',
  }),
  pricing_date: z.string().nullable().meta({
    description:
      'Date of the closes with which target weights were converted to index shares; null in runs of earlier versions that do not store it.',
  }),
  review: z.string().nullable().meta({
    description:
      'Review that decided the composition, or the first of several reviews on the date. `rebalance` is the review of the document itself. Null in runs of earlier versions that do not store it.',
  }),
  reviews: z.array(z.string()).nullable().meta({
    description:
      'Every review that ran on the date, in order; null in runs of earlier versions that do not store them.',
  }),
  phase: z.number().nullable().meta({
    description:
      'Completed fraction of the rebalance after this close; 1 for a rebalance that takes effect at once. Null in runs of earlier versions that do not store it.',
  }),
  index_shares: z.record(z.string(), z.number()).nullable().meta({
    description:
      'Index shares at the effective close: weight times market value, divided by price, with divisor 1 on the base date. Null for strategies and overlays, and in older runs.',
  }),
  weighting_factor: z.record(z.string(), z.number().nullable()).nullable().meta({
    description: 'Index shares divided by float-adjusted shares; null for a security without a share count.',
  }),
  cause: z.enum(REBALANCE_CAUSES).nullable().meta({
    description:
      'Trigger of the rebalance: the schedule, a breach with `treatment.on_breach`, or a change of constituents by `events`. Null in runs of earlier versions that do not store it.',
  }),
})).meta({ id: 'RebalanceSnapshot' });
export type RebalanceSnapshot = z.infer<typeof RebalanceSnapshot>;

export const CalendarCoveragePayload = defineObject(() => ({
  calendar: z.string(),
  requested_start: z.string(),
  requested_end: z.string(),
  covered_start: z.string(),
  covered_end: z.string(),
  trimmed_start: z.boolean(),
  trimmed_end: z.boolean(),
})).meta({ id: 'CalendarCoveragePayload' });
export type CalendarCoveragePayload = z.infer<typeof CalendarCoveragePayload>;

export const BookPayload = defineObject(() => ({
  levels: SeriesPayload.meta({
    description:
      'Level in index points, starting at the base value. A benchmark with only a series of levels is rebased to 100.',
  }),
  weights: TableFrame.meta({
    description:
      'Held weights after each close, dates by identifier, for the latest MAX_WEIGHT_DATES dates. The last column is the cash that an overlay holds or owes, as `CASH/USD`.',
  }),
  weights_dates_total: z.int(),
  rebalances: z.array(RebalanceSnapshot),
  rebalances_total: z.int(),
  calendar_coverage: CalendarCoveragePayload.nullable(),
  divisor: SeriesPayload.optional().meta({
    description: 'Market value divided by level, 1 at the start. Absent for a benchmark with only a series of levels.',
  }),
  dividend_points: SeriesPayload.optional().meta({
    description:
      'Ordinary dividends of each session in points of the price return; absent if dividends are reinvested in the paying security, and in older runs.',
  }),
})).meta({ id: 'BookPayload' });
export type BookPayload = z.infer<typeof BookPayload>;

export const UnfilledOrderPayload = defineObject(() => ({
  date: z.string(),
  asset_id: z.string(),
  side: z.enum(['buy', 'sell']),
  target_weight: z.number(),
  held_weight: z.number(),
  notional: z.number(),
  reason: z.enum(['no_price', 'stale_price', 'delisted']),
  filled_on: z.string().nullable(),
})).meta({ id: 'UnfilledOrderPayload' });
export type UnfilledOrderPayload = z.infer<typeof UnfilledOrderPayload>;

export const PortfolioBookPayload = defineObject(() => ({
  cash: SeriesPayload,
  initial_capital: z.number(),
  nav: SeriesPayload.meta({
    description: 'Value after each close. The first row has the initial capital on the day before the start.',
  }),
  portfolio_id: z.string(),
  positions: TableFrame,
  positions_total: z.int(),
  transactions: TableFrame,
  transactions_total: z.int().meta({
    description: 'Number of rows of the whole table. Of more than a million rows, only the latest are returned.',
  }),
  weights: TableFrame,
  weights_dates_total: z.int(),
})).meta({ id: 'PortfolioBookPayload' });
export type PortfolioBookPayload = z.infer<typeof PortfolioBookPayload>;

export const BacktestResultSummary = defineObject(() => ({
  ...runState,
  benchmark: BookPayload.nullable(),
  index: z
    .strictObject({ target: BookPayload.nullable(), optimised: BookPayload.nullable() })
    .meta({ id: 'IndexBooksPayload' }),
  metrics: BacktestMetricsPayload,
  portfolio: PortfolioBookPayload,
  ...gapsAndPricing,
  run_at: z.string().nullable(),
  unfilled: z.array(UnfilledOrderPayload),
  ...provenance,
})).meta({ id: 'BacktestResultSummary' });
export type BacktestResultSummary = WithoutRunState<z.infer<typeof BacktestResultSummary>>;

const BacktestRecordRow = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  run_at: z.string().nullable(),
})).meta({ id: 'BacktestRecordRow' });
export const BacktestRecordCollection = defineObject(() => ({
  backtests: z.array(BacktestRecordRow),
  ...skippedFields,
})).meta({ id: 'BacktestRecordCollection' });
export type BacktestRecordCollection = z.infer<typeof BacktestRecordCollection>;

export const BacktestRunResult = defineObject(() => ({
  annual_returns: z
    .record(z.string(), z.number())
    .meta({ description: 'Return of each calendar year. The returns compound to the total return.' }),
  benchmark: RelativeMetricsPayload.nullable(),
  drawdown: SeriesPayload,
  index_level: SeriesPayload,
  index_version: z.int().min(1).nullable().optional().meta({
    description: 'Version of the index or strategy. Null if it has none; absent in results of earlier versions.',
  }),
  initial_capital: z.number(),
  level: SeriesPayload,
  metrics: BacktestMetricsPayload,
  ...gapsAndPricing,
  rebalances: z
    .array(RebalanceSnapshot)
    .meta({ description: 'Compositions of the run, beginning with the composition in force at the start.' }),
  rebalances_total: z.int().meta({
    description:
      'Total number of compositions. It exceeds the number of returned compositions only if the weights exceed the maximum size of a result.',
  }),
  returns: SeriesPayload,
  total_costs: z.number(),
  ...provenance,
})).meta({ id: 'BacktestRunResult' });
export type BacktestRunResult = z.infer<typeof BacktestRunResult>;

export const BacktestJobStatus = createJobStatus('BacktestJobStatus', 'backtest', BacktestRunResult);
