import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { REBALANCE_CAUSES } from '#domain/schedule/rebalance-causes.js';
import { SeriesPayload, skippedFields, TableFrame } from '../common.js';
import { runState, type WithoutRunState } from '../run-state.js';
import { defineDate, defineWeightMap } from './fields.js';
import { BacktestMetrics } from './metrics.js';
import { StaleFillPayload, gapsAndPricing } from './prices.js';
import { provenance } from './provenance.js';

export const RebalanceSnapshot = defineObject(() => ({
  date: defineDate('Date on which the weights took effect.'),
  schedule_dates: z.array(z.string()).meta({
    description:
      'Dates of the schedule that this rebalance executes: its own date, and dates of closed days that moved to its session.',
  }),
  weights: defineWeightMap('Applied weights, with a sum of 1.'),
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
    description: 'Held weights after each close, dates by identifier, for the latest MAX_WEIGHT_DATES dates.',
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
  metrics: BacktestMetrics,
  portfolio: PortfolioBookPayload,
  ...gapsAndPricing,
  run_at: z.string().nullable(),
  unfilled: z.array(UnfilledOrderPayload),
  ...provenance,
})).meta({ id: 'BacktestResultSummary' });
export type BacktestResultSummary = WithoutRunState<z.infer<typeof BacktestResultSummary>>;

export const BacktestRecordRow = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  run_at: z.string().nullable(),
})).meta({ id: 'BacktestRecordRow' });
export const BacktestRecordCollection = defineObject(() => ({
  backtests: z.array(BacktestRecordRow),
  ...skippedFields,
})).meta({ id: 'BacktestRecordCollection' });
export type BacktestRecordCollection = z.infer<typeof BacktestRecordCollection>;
