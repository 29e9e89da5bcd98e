import { z } from 'zod';
import { RISK_REFERENCES } from '#domain/analytics/returns.js';
import { LARGEST_CHANGES_MAX } from '#domain/backtest/run-file/header.js';
import { LIMITS } from '#domain/base/limits.js';
import { defineObject, Id, IsoDate } from '#domain/base/schema.js';
import { ACTION_CHOICES, type ActionChoice } from '#domain/books/pro-forma.js';
import { DEFAULT_LIMIT_RULE, LIMIT_RULE_NAMES, LIMIT_RULES } from '#domain/definition/compliance.js';
import { ConstraintRow } from '#domain/definition/constraint-class.js';
import { WithholdingTaxSpec } from '#domain/definition/index-document.js';
import { REBALANCE_CAUSES } from '#domain/definition/index-schedule.js';
import { BenchmarkName, type RunViewTerms } from '#domain/definition/runs.js';
import { ACTION_TYPES, ELECTION_DEFAULTS, MEASURED_VARIANTS, RETURN_VARIANTS } from '#domain/market/market-data.js';
import {
  type ExportTable,
  EXPOSURE_TABLE_NAMES,
  EXPOSURE_TABLES,
  LIMIT_TABLE_NAMES,
  LIMIT_TABLES,
  SCENARIO_TABLE_NAMES,
  SCENARIO_TABLES,
} from '#domain/outputs/exports.js';
import { ScenarioRequest } from '#domain/studies/scenarios.js';
import { VALUE_MEANING } from '../data.js';
import {
  compositionErrors,
  FindingPayload,
  listingQuery,
  SeriesPayload,
  skippedFields,
  TableFrame,
} from '../payloads.js';
import { defineRoutes, FILE_MEDIA, type Route } from '../route.js';
import { runParameter, runState, type WithoutRunState } from '../run.js';
import type { analyticsRoutes } from './analytics.js';
import {
  BacktestMetricsPayload,
  BenchmarkStatisticsPayload,
  defineFraction,
  DrawdownRow,
  ReturnStatisticsPayload,
  StaleFillPayload,
  UnfilledOrderPayload,
} from './record.js';

const CHOICE_NAMES = Object.keys(ACTION_CHOICES) as [ActionChoice, ...ActionChoice[]]; // Object.keys returns plain strings.
const choiceMeanings = Object.entries(ACTION_CHOICES)
  .map(([choice, meaning]) => `\`${choice}\`: ${meaning}`)
  .join('; ');
const defineFigure = (description: string) => z.number().nullable().meta({ description });

const ReceivedShares = defineObject(() => ({
  identifier: z.string(),
  ratio: z.number().meta({ description: 'Number of shares received for each share held before.' }),
  weight: z
    .number()
    .meta({ description: 'Weight of the received shares, in addition to the previous holding of that security.' }),
})).meta({ id: 'ReceivedShares' });

export const ActionsView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  as_of: z.string().meta({ description: 'Last date of the run.' }),
  actions: z
    .array(
      z
        .strictObject({
          ex_date: z.string(),
          identifier: z.string(),
          type: z.enum([...ACTION_TYPES, 'SILENT_DELISTING', 'SPIN_OFF_EXIT']).meta({
            description:
              'Type in the store. SILENT_DELISTING: the security left because it had no price during the waiting period of the treatment; the value is its last price. SPIN_OFF_EXIT: a security spun off from `related` left at its first close (`spin_offs: "drop_after_first_session"`), with the shares held until then.',
          }),
          value: z
            .number()
            .nullable()
            .meta({
              description: `${VALUE_MEANING} Null if a security ends and the payment per share is unknown.`,
            }),
          related: z
            .string()
            .nullable()
            .meta({ description: 'Other identifier of a spin-off, merger or ticker change.' }),
          cash: defineFigure(
            'Cash per share that a merger pays in addition to the shares of `related`; null if it pays none.',
          ),
          announced: z.string().nullable().meta({ description: 'Day of the announcement; null if unknown.' }),
          state: z.enum(['effective', 'coming']).meta({
            description:
              '`coming`: the ex-date is after as_of, and the action was known on as_of. The figures after the action are then pro forma.',
          }),
          awaits_decision: z.boolean().meta({
            description:
              'True if the holder must still decide. This applies to a rights issue, to a dividend with a scrip_ratio, and to two offers for a security on one ex-date: an ACQUISITION (cash) and a MERGER (shares). The decision is open until the election_date or, if it is unknown, until the ex-date.',
          }),
          election_date: z.string().nullable().meta({ description: 'Last day of the election; null if unknown.' }),
          election_default: z
            .enum(ELECTION_DEFAULTS)
            .nullable()
            .meta({ description: 'Default of the election; null if unknown.' }),
          choices: z
            .array(
              z
                .strictObject({
                  choice: z.enum(CHOICE_NAMES).meta({ description: choiceMeanings }),
                  weight_after: z
                    .number()
                    .meta({ description: 'Weight at prices that change only because of the action.' }),
                  shares_after: z.number().meta({ description: 'Index shares.' }),
                  cash: z.number().meta({
                    description:
                      'Cash per share held before, in the currency of the security; negative if the holder pays.',
                  }),
                  received: ReceivedShares.nullable().meta({
                    description: 'Shares of another security; null if there are none.',
                  }),
                })
                .meta({ id: 'ActionChoice' }),
            )
            .meta({
              description:
                'Result of each choice at the theoretical price ex rights or ex dividend; empty if there is no choice or the subscription price is unknown.',
            }),
          price_before: defineFigure(
            'Previous close of the security in its currency; for a coming action, the close on as_of.',
          ),
          weight_before: z
            .number()
            .meta({ description: 'Weight at the previous close; for a coming action, on as_of.' }),
          weight_after: defineFigure(
            'Weight at the close of the ex-date; pro forma at prices that change only because of the action.',
          ),
          shares_before: z.number().meta({ description: 'Index shares: weight times level, divided by price.' }),
          shares_after: defineFigure('Index shares after the action; null if they depend on a decision.'),
          divisor_before: defineFigure(
            'Divisor of the index at the previous close; for a coming action, on as_of. Null for a strategy.',
          ),
          divisor_after: defineFigure(
            'Divisor after the action and all other events of its session, at the close of the ex-date. For a coming action, pro forma at the close of as_of; later price changes affect the actual divisor. Null if it is not yet known.',
          ),
          dividend_return: defineFigure(
            'Ordinary dividend before tax as a fraction of the level before it. The total return variant reinvests it; the price return variant has no effect. Null for other actions, and if prices include dividends.',
          ),
          net_dividend_return: defineFigure('Part of `dividend_return` that the net return variant reinvests.'),
          dividend_points: defineFigure(
            'Ordinary dividend before tax in index points: `dividend_return` times the level before it. If the return variants share index shares and divisor, this is the amount per share times the index shares over the divisor. Null where `dividend_return` is null.',
          ),
          net_dividend_points: defineFigure('Part of `dividend_points` after withholding tax.'),
          proceeds: defineFigure(
            'Cash per share held before, in the currency of the security, if the action removes the security. The index uses this cash to buy the other constituents. For a merger into shares and cash, the cash part. For a past action, the value that the run applied. Otherwise null.',
          ),
          received: ReceivedShares.nullable().meta({
            description:
              'Shares of the security that replaces this security. For a spin-off, shares of the new security, with weight 0 before its first close, and also after it if the security then leaves. For a past action, the shares that the run applied. Otherwise null.',
          }),
        })
        .meta({ id: 'IndexAction' }),
    )
    .meta({ description: 'The last 10,000 actions, sorted by ex-date and security.' }),
  actions_total: z.int().meta({ description: 'Number of actions in the window.' }),
})).meta({ id: 'ActionsView' });
export type ActionsView = WithoutRunState<z.infer<typeof ActionsView>>;

const points = z
  .number()
  .meta({ description: 'Index points; negative if short positions pay more than long positions receive.' });

const netPoints = z
  .number()
  .meta({ description: 'Points after withholding tax, as reinvested by a net return index.' });

const DividendSum = defineObject(() => ({
  points,
  net_points: netPoints,
  yield: z.number().meta({ description: 'Points divided by the level on as_of.' }),
})).meta({ id: 'DividendSum', description: 'Dividends of the twelve months that end on as_of.' });

export const DividendPointsView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  variant: z
    .enum(RETURN_VARIANTS)
    .meta({ description: 'Return variant of the level in which the points are measured.' }),
  withholding_tax: WithholdingTaxSpec.meta({
    description: 'Withholding rate in the definition that net points use, or rates by the value of a field.',
  }),
  as_of: z.string().meta({ description: 'Last date of the run.' }),
  level: z.number().meta({ description: 'Level on as_of; for a strategy rebased to 100.' }),
  dates: z.array(z.string()).meta({ description: 'Sessions in the window on which a constituent went ex dividend.' }),
  points: z.array(points).meta({ description: 'Ordinary dividends before tax in index points, one value per date.' }),
  net_points: z
    .array(netPoints)
    .meta({ description: 'Dividends after withholding tax in index points, one value per date.' }),
  years: z
    .array(z.strictObject({ year: z.int(), points, net_points: netPoints }))
    .meta({ description: 'Sums of the calendar years in the window.' }),
  trailing: DividendSum,
  announced: z
    .strictObject({
      dividends: z
        .array(
          z
            .strictObject({
              ex_date: z.string(),
              identifier: z.string(),
              dividend: z.number().meta({ description: 'Per share, in the currency of the security.' }),
              points,
              net_points: netPoints,
              status: z.enum(['announced', 'paid', 'cancelled']).nullable(),
              announced: z.string().nullable().meta({ description: 'Day of the announcement; null if unknown.' }),
            })
            .meta({ id: 'AnnouncedDividend' }),
        )
        .meta({ description: 'The first 10,000 dividends, sorted by ex-date and security.' }),
      dividends_total: z.int(),
      points,
      net_points: netPoints,
      yield: z.number().meta({ description: 'Points divided by the level on as_of.' }),
    })
    .meta({
      id: 'AnnouncedDividends',
      description:
        'Announced dividends after as_of, as known on as_of, for the holdings, prices and exchange rates of as_of.',
    }),
})).meta({ id: 'DividendPointsView' });
export type DividendPointsView = WithoutRunState<z.infer<typeof DividendPointsView>>;

const defineDailyNumbers = (description: string) =>
  z.array(z.number()).meta({ description: `${description} One value per date.` });

export const EXPOSURE_INTERVALS = ['native', 'weekly', 'monthly'] as const;

const defineNullableDailyNumbers = (description: string) =>
  z
    .array(z.number().nullable())
    .meta({ description: `${description} One value per date; null if no holding has a value.` });

const fieldSeries = {
  mean: defineNullableDailyNumbers('Mean of the datapoint, weighted by the holdings.'),
  coverage: defineDailyNumbers('Fraction of the absolute weights that belongs to securities with a value.'),
  percentiles: defineObject(() => ({
    p10: defineNullableDailyNumbers('10%.'),
    p25: defineNullableDailyNumbers('25%.'),
    p50: defineNullableDailyNumbers('The median.'),
    p75: defineNullableDailyNumbers('75%.'),
    p90: defineNullableDailyNumbers('90%.'),
  })).meta({
    id: 'WeightedPercentiles',
    description: 'Smallest value for which the securities with at most this value have this fraction of the weights.',
  }),
};

const FieldExposure = defineObject(() => ({
  field: z.string(),
  ...fieldSeries,
  benchmark: z
    .strictObject(fieldSeries)
    .nullable()
    .meta({ id: 'BenchmarkFieldExposure', description: 'Exposure of the benchmark; null if there is none.' }),
})).meta({ id: 'FieldExposure' });

export const ExposuresView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  by: z.string().meta({
    description:
      'Reference column, as known on each date. Securities without a value form the group UNCLASSIFIED. IDENTIFIER makes each security a group.',
  }),
  benchmark: z.string().nullable(),
  dates: z.array(z.string()).meta({ description: 'Dates of the run, or the last date of each interval.' }),
  groups: z
    .array(
      z.strictObject({
        group: z.string(),
        weights: defineDailyNumbers('Sum of the held weights.'),
        benchmark_weights: defineDailyNumbers('Sum of the weights of the benchmark.').nullable(),
      }),
    )
    .meta({
      description:
        'Groups, sorted by average weight (largest first), with OTHERS last. Their weights add up to the invested weight.',
    }),
  fields: z.array(FieldExposure).meta({ description: 'Entries, in the order of the request.' }),
  concentration: z
    .strictObject({
      herfindahl: defineDailyNumbers('Sum of the squared weights.'),
      effective: defineDailyNumbers('Effective number of securities: 1 / herfindahl; 0 without weights.'),
      largest: defineDailyNumbers('Largest weight.'),
      gross_effective: defineDailyNumbers(
        'Squared sum of the absolute weights, divided by herfindahl: the number of equal positions with the same concentration.',
      ),
      gross_largest: defineDailyNumbers('Largest absolute weight, long or short.'),
    })
    .meta({ id: 'ConcentrationSeries' }),
  active_share: defineDailyNumbers('Half the sum of the absolute differences from the weights of the benchmark.')
    .nullable()
    .meta({ description: 'Active share by date; null without a benchmark.' }),
  turnover: defineDailyNumbers(
    'One-way turnover of the portfolio since the previous date. The first purchase is excluded.',
  ),
})).meta({ id: 'ExposuresView' });
export type ExposuresView = WithoutRunState<z.infer<typeof ExposuresView>>;

/** Maximum number of rows per request. */
const ROWS_MAX = 100;

export const LimitsRequest = defineObject(() => ({
  rows: z.array(ConstraintRow).min(1).max(ROWS_MAX).meta({
    description:
      'Constraints on holdings, as for the optimiser: bounds of securities and groups, concentration, counts, exposures and averages.',
  }),
})).meta({ id: 'LimitsRequest' });
export type LimitsRequest = z.infer<typeof LimitsRequest>;

const LimitMeasure = defineObject(() => ({
  date: z.string(),
  value: z.number().meta({ description: 'Measured value of the constraint.' }),
  limit: z.number().meta({ description: 'Bound of the constraint on that date.' }),
})).meta({ id: 'LimitMeasure', description: 'Value and bound of a constraint on a date.' });

const LimitIssuers = z.array(z.strictObject({ issuer: z.string(), weight: z.number() }).meta({ id: 'LimitIssuer' }));

export const LimitsView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  rule: z
    .enum(LIMIT_RULE_NAMES)
    .nullable()
    .meta({ description: 'Published rule; null for constraints of the request.' }),
  by: z.string().meta({
    description:
      'Reference column with the issuers, as known on each date. With IDENTIFIER, each security is a separate issuer.',
  }),
  sessions: z.int().meta({ description: 'Number of dates of the run in the window.' }),
  breached_sessions: z.int().meta({ description: 'Number of dates on which a constraint is beyond its bound.' }),
  state: z
    .strictObject({
      dates: z.array(z.string()),
      headroom: z.array(z.number().nullable()).meta({
        description:
          'Distance to the nearest bound in the unit of the constraint (a fraction for weights). Negative beyond the bound; null if no constraint applies.',
      }),
      nearest: z.array(z.string().nullable()).meta({
        description:
          'Security with the smallest price move that causes a breach. Null beyond a bound, or if no move of one security causes a breach.',
      }),
      move: z.array(z.number().nullable()).meta({
        description:
          'Smallest relative price move of this security that causes a breach, while all other prices are unchanged.',
      }),
    })
    .meta({ id: 'LimitState' }),
  rows: z
    .array(
      z
        .strictObject({
          row: z.string(),
          side: z.enum(['lower', 'upper']),
          unit: z.enum(['fraction', 'count', 'value']),
          breached_sessions: z.int(),
          least: LimitMeasure,
          latest: LimitMeasure,
          issuers: LimitIssuers.optional().meta({
            description:
              'Issuers whose weights form the latest value, largest first. Only for limits of the largest issuers and of issuers above a weight.',
          }),
        })
        .meta({ id: 'LimitRowSummary' }),
    )
    .meta({
      description: 'Constraints over the window; the first 500.',
    }),
  rows_total: z.int(),
  breaches: z
    .array(
      z
        .strictObject({
          row: z.string(),
          begin: z.string().meta({ description: 'First session beyond the bound. It can be before the window.' }),
          end: z.string().nullable().meta({
            description: 'Last session beyond the bound. Null if the breach continues at the end of the window.',
          }),
          cause: z.enum(['price', 'action', 'rebalance']).meta({
            description:
              'Cause of the breach: price changes, a corporate action or delisting, or the trades of a rebalance.',
          }),
          worst: LimitMeasure,
          issuers: LimitIssuers.optional().meta({
            description:
              'Issuers whose weights form the worst value, largest first. Only for limits of the largest issuers and of issuers above a weight.',
          }),
        })
        .meta({ id: 'LimitBreach' }),
    )
    .meta({ description: 'The first 10,000 breaches, sorted by their first session.' }),
  breaches_total: z.int(),
  distance: z
    .strictObject({
      identifier: z.string(),
      move: z
        .number()
        .meta({ description: 'Relative change of the price while all other prices are unchanged: 0.1 is +10%.' }),
    })
    .nullable()
    .meta({
      id: 'LimitDistance',
      description:
        'Smallest price move of one security that causes a breach on the last date. Null beyond a bound, or if no move causes a breach.',
    }),
  findings: z.array(FindingPayload),
})).meta({ id: 'LimitsView' });
export type LimitsView = WithoutRunState<z.infer<typeof LimitsView>>;

/** Series of a run for which performance figures are available. */
const MEASURED_SERIES = ['portfolio', 'index'] as const;

export const PerformanceView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  of: z.enum(MEASURED_SERIES).meta({
    description: 'Series that all figures describe: the portfolio after costs, or the index that it tracks.',
  }),
  return_variant: z.enum(RETURN_VARIANTS).meta({ description: 'Return variant of the measured series.' }),
  requested_start: z.string(),
  requested_end: z.string(),
  start: z.string().meta({ description: 'First date of the run in the window.' }),
  end: z.string().meta({ description: 'Last date of the run in the window.' }),
  observations: z.int(),
  end_level: z.number().meta({
    description: 'Level on `end`: of the index in points, or of the portfolio, which is 100 at the start of its run.',
  }),
  day_return: defineFraction('Return of the session `end`.'),
  level: SeriesPayload.meta({ description: 'Measured level, 100 on the first date.' }),
  index_level: SeriesPayload.meta({
    description: 'Level of the tracked index in its return variant, 100 on the first date.',
  }),
  benchmark: z.string().nullable().meta({ description: 'Benchmark of the run; null if there is none.' }),
  benchmark_variant: z.enum(MEASURED_VARIANTS).nullable().meta({
    description:
      'Return variant of the benchmark; `raw` for unadjusted levels. Null if there is no benchmark, and in runs of earlier versions.',
  }),
  benchmark_level: SeriesPayload.nullable().meta({
    description: 'Level of the benchmark, 100 on the first common date of the window; null if there is none.',
  }),
  drawdown: SeriesPayload.meta({ description: 'Level relative to its peak in the window, less 1; 0 at a high.' }),
  metrics: BacktestMetricsPayload.meta({ description: 'Figures of the window.' }),
  statistics: ReturnStatisticsPayload.meta({ description: 'Distribution of the returns of the window.' }),
  benchmark_statistics: BenchmarkStatisticsPayload.nullable().meta({
    description: 'Comparison with the benchmark on the common dates of the window; null with fewer than three.',
  }),
  drawdowns: z
    .array(DrawdownRow)
    .meta({ description: 'The ten deepest drawdowns of the window, beginning with the deepest.' }),
  annual_returns: z.record(z.string(), z.number()).meta({
    description: 'Return of each calendar year within the window. The returns compound to the total return.',
  }),
  findings: z.array(FindingPayload).meta({
    description: '`WINDOW_CUT`: the benchmark lacks dates of the window.',
  }),
  monthly_returns: z.record(z.string(), z.number()).meta({
    description: 'Return of each month (YYYY-MM) within the window. The returns compound to the total return.',
  }),
})).meta({ id: 'PerformanceView' });
export type PerformanceView = WithoutRunState<z.infer<typeof PerformanceView>>;

const figures = {
  date: z.string().meta({ description: 'Date on which the weights took effect.' }),
  cause: z.enum(REBALANCE_CAUSES).meta({
    description:
      'Trigger of the rebalance: the schedule, a breach with `treatment.on_breach`, or a change of constituents by `events`.',
  }),
  review: z.string().nullable().meta({
    description:
      'Review that decided the rebalance, or the first of several reviews on the date. Null for a change between reviews, and if the run does not store the reviews.',
  }),
  reviews: z.array(z.string()).nullable().meta({
    description: 'Reviews that decided the rebalance, in order. Null where `review` is null.',
  }),
  phase: z.number().nullable().meta({
    description: 'Completed fraction of the rebalance after this close; null if the run does not store the fraction.',
  }),
  schedule_dates: z.array(z.string()).meta({
    description:
      'Dates of the schedule that this rebalance executes: its own date, and dates of closed days that moved to its session.',
  }),
  stale_fills: z.array(StaleFillPayload).meta({ description: 'Securities traded at the price of an earlier session.' }),
  decision_date: z.string().nullable().meta({
    description: 'Session whose data decided the weights; null if the run does not store the session.',
  }),
  traded_on: z.string().nullable().meta({
    description: 'Session of the trades; null for a composition that was in force before the run.',
  }),
  constituents: z.int().meta({ description: 'Securities with a weight above 0.' }),
  gross_constituents: z.int().meta({ description: 'Securities with a position, long or short.' }),
  added: z.int().meta({
    description: 'Number of constituents that were not held before; at the first rebalance, all constituents.',
  }),
  largest_added: z
    .array(z.string())
    .max(LARGEST_CHANGES_MAX)
    .meta({
      description: `The added securities with the largest weights, at most ${LARGEST_CHANGES_MAX}.`,
    }),
  removed: z.int().meta({ description: 'Number of securities that were held before and not afterwards.' }),
  largest_removed: z
    .array(z.string())
    .max(LARGEST_CHANGES_MAX)
    .meta({
      description: `The removed securities with the largest weights before, at most ${LARGEST_CHANGES_MAX}.`,
    }),
  cap: z.number().nullable(),
  capped: z.int().meta({ description: 'Number of securities held at the cap.' }),
  redistributed: z
    .number()
    .meta({ description: 'Weight that was redistributed from capped securities when the weights were decided.' }),
  turnover: z.number().nullable().meta({
    description:
      'One-way turnover: half the sum of the absolute weight changes on that session. Null for the first purchase and before the run.',
  }),
  cost_fraction: z.number().nullable().meta({
    description:
      'Costs of that session as a fraction of the value at the previous close. The export `rebalances` contains them as an amount of money. Null before the second date.',
  }),
};

export const RebalanceRow = z.strictObject(figures).meta({ id: 'RebalanceRow' });
export const RebalanceList = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  rebalances: z
    .array(RebalanceRow)
    .meta({ description: 'Rebalances by date, beginning with the composition in force at the start.' }),
  findings: z.array(FindingPayload).meta({
    description:
      'Warnings of the run about rebalances that were not executed (`REBALANCE_HELD`), and about securities that left without a corporate action (`SILENT_DELISTING`). Empty if the run does not store its warnings.',
  }),
})).meta({ id: 'RebalanceList' });
export type RebalanceList = WithoutRunState<z.infer<typeof RebalanceList>>;

export const RebalancedName = defineObject(() => ({
  identifier: z.string(),
  before: z.number().nullable().meta({ description: 'Weight just before the trades; null before the run.' }),
  after: z.number().meta({ description: 'Weight after the close.' }),
  change: z.number().nullable().meta({ description: 'Weight after the close minus weight before the trades.' }),
  target: z.number().meta({ description: 'Decided weight.' }),
  uncapped: z.number().meta({ description: 'Weight before capping.' }),
  capped: z.boolean(),
  trade: z.number().nullable().meta({
    description: 'Traded value, negative for a sale. 0 without a trade; null if the run does not store it.',
  }),
  price: z.number().nullable().meta({ description: 'Price of the trade; null if there was no trade.' }),
})).meta({ id: 'RebalancedName' });
export const RebalanceView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  requested_date: z.string().meta({ description: 'The requested date.' }),
  ...figures,
  previous: z.string().nullable().meta({ description: 'Date of the previous rebalance; null for the first.' }),
  next: z.string().nullable().meta({ description: 'Date of the next rebalance; null for the last.' }),
  names: z
    .array(RebalancedName)
    .meta({ description: 'Securities held before or after, sorted by weight and identifier.' }),
  unfilled: z.array(UnfilledOrderPayload).meta({ description: 'Orders of the session that could not be filled.' }),
})).meta({ id: 'RebalanceView' });
export type RebalanceView = WithoutRunState<z.infer<typeof RebalanceView>>;

export const RollingRiskView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  window: z.int().nullable().meta({ description: 'Number of returns of a window; null with a half-life.' }),
  half_life: z
    .number()
    .nullable()
    .meta({ description: 'Sessions after which the weight of a return halves; null with a window.' }),
  against: z
    .enum(RISK_REFERENCES)
    .meta({ description: 'Reference of the comparison: the tracked index, or a benchmark.' }),
  benchmark_id: z.string().nullable().meta({ description: 'Id of the benchmark; null if the index is the reference.' }),
  findings: z.array(FindingPayload).meta({
    description: '`WINDOW_CUT`: the benchmark lacks dates of the run.',
  }),
  risk: TableFrame.meta({
    description:
      'Annualised figures by date: volatility of the run and of its reference (`index_volatility` or `benchmark_volatility`), tracking error, and beta and correlation to the reference. A benchmark is compared on the common dates.',
  }),
})).meta({ id: 'RollingRiskView' });
export type RollingRiskView = z.infer<typeof RollingRiskView>;

export const rollingRiskRoutes = defineRoutes('analytics', {
  getRollingRisk: {
    method: 'GET',
    path: '/analytics/{index_id}/rolling',
    scope: 'read',
    summary: 'Returns volatility, tracking error, beta and correlation of a run over time.',
    description:
      'The figures use a window of returns, or all returns with weights that halve every `half_life` sessions. The first figure uses twenty returns.',
    params: defineObject(() => ({ index_id: Id })),
    query: defineObject(() => ({
      ...runParameter,
      window: z.coerce
        .number()
        .int()
        .min(2)
        .max(LIMITS.MAX_SIMULATION_SESSIONS)
        .optional()
        .meta({ description: 'Number of returns of a window. Default: 63, if there is no half-life.' }),
      against: z.enum(RISK_REFERENCES).optional().meta({
        description:
          'Reference of the comparison: the tracked index, or the benchmark of the run. Replaces `benchmark`. Default: the index.',
      }),
      benchmark: BenchmarkName.optional(),
      half_life: z.coerce
        .number()
        .min(1)
        .max(1e6)
        .optional()
        .meta({ description: 'Half-life in sessions. Replaces the window.' }),
    })),
    view: { name: 'rolling-risk', needs: ['memory'] },
    success: {
      status: 200,
      description: 'The table. It has no rows if the run is shorter than the window.',
      schema: RollingRiskView,
    },
    errors: [
      'INDEX_NOT_FOUND',
      'RUN_NOT_FOUND',
      'DOCUMENT_UNREADABLE',
      'NUMERIC_FAILURE',
      'STORE_MISMATCH',
      'RISK_INSUFFICIENT_DATA',
      'BENCHMARK_NOT_FOUND',
      'NO_DATA_AT_DATE',
      ...compositionErrors,
    ],
  },
});

const defineNumber = (description: string) => z.number().meta({ description });

const NameResult = defineObject(() => ({
  identifier: z.string(),
  weight: z.number(),
  return: z.number(),
  contribution: defineNumber('weight * return.'),
  standard_error: z
    .number()
    .nullable()
    .meta({ description: 'Uncertainty of the estimated slopes, for a response by regression.' }),
})).meta({ id: 'ScenarioName' });

const GroupResult = defineObject(() => ({ group: z.string(), weight: z.number(), contribution: z.number() })).meta({
  id: 'ScenarioGroup',
});

const SessionReturn = defineObject(() => ({ date: z.string(), return: z.number() }));

const ScenarioResult = defineObject(() => ({
  name: z.string(),
  return: z.number().nullable().meta({
    description:
      'Sum of the contributions. Cash earns nothing. Null for a window outside the data of the store; the finding `NO_DATA_IN_RANGE` states the dates.',
  }),
  by_name: z.array(NameResult).meta({ description: 'Entries by contribution, the lowest first.' }),
  by_group: z.array(GroupResult).meta({ description: 'Entries by contribution, the lowest first.' }),
  covered_weight: defineNumber(
    'Gross weight of the securities with returns in the window, divided by the gross weight of all securities.',
  ),
  proxied: z.array(z.strictObject({ identifier: z.string(), proxy: z.string() })).meta({
    description: 'Securities for which the equally weighted return of their group, or of all securities, is used.',
  }),
  window: z
    .strictObject({ start: z.string(), end: z.string() })
    .nullable()
    .meta({ description: 'First and last close of the return. Null for shocks, and if there is no return.' }),
  worst_session: SessionReturn.nullable(),
  worst_sessions: z.array(SessionReturn),
  r_squared: z
    .number()
    .nullable()
    .meta({ description: 'R-squared of the regression of the composition on the factors; null without factors.' }),
  observations: z.int().nullable().meta({ description: 'Number of returns in the regression.' }),
  standard_error: z.number().nullable().meta({
    description: 'Standard error of the return from the estimated slopes; null without factors.',
  }),
})).meta({ id: 'ScenarioResult' });

const ScenariosView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  as_of: z.string(),
  by: z.string(),
  scenarios: z.array(ScenarioResult),
  findings: z.array(FindingPayload).meta({
    description:
      '`NO_DATA_IN_RANGE`: the store does not cover the window. `WINDOW_CUT`: the data ends within the window. `NO_EFFECT`: an unused setting.',
  }),
})).meta({ id: 'ScenariosView' });
type ScenariosView = WithoutRunState<z.infer<typeof ScenariosView>>;

const dayReturn = z
  .number()
  .nullable()
  .meta({ description: 'Return of the last session, a fraction; null with a single date.' });
const moveFields = {
  day_return: dayReturn,
  year_to_date: defineFraction(
    'Return since the last date of the previous calendar year, or since the first date of the run.',
  ),
  volatility: defineFraction(
    'Annualised standard deviation of the returns of the last year (252 returns, or 365 if the calendar trades every day), or of all returns if there are fewer.',
  ),
  total_return: defineFraction('Last level divided by the first, less 1.'),
  max_drawdown: defineFraction('Lowest drawdown, at most 0.'),
  trace: SeriesPayload.meta({
    description:
      'Levels of the last year: every fourth date from the last one on or before the same day one year earlier (or from the first date of the run), and the last date.',
  }),
};

const IndexMoves = z.strictObject(moveFields).meta({ id: 'IndexMoves' });

export const RunSummaryRow = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  name: z.string(),
  run_at: z.string().nullable(),
  benchmark: z
    .string()
    .nullable()
    .meta({ description: 'Index or identifier with which the run was compared; null without a benchmark.' }),
  start: z.string().meta({ description: 'First date of the levels of the run.' }),
  end: z.string().meta({ description: 'Last date of the levels of the run.' }),
  level: z
    .number()
    .meta({ description: 'Level in index points on that date; for a strategy, its level (100 at the start).' }),
  return_variant: z.enum(RETURN_VARIANTS).meta({ description: 'Return variant of the levels.' }),
  ...moveFields,
  index: IndexMoves.nullable().meta({
    description:
      'The same figures for the index, on the dates of the run, before trading costs but after the costs of an overlay. Null for a strategy. All other figures describe the portfolio after costs.',
  }),
  last_rebalance: z.string(),
  next_rebalance: z.string().nullable().meta({
    description: 'First effective date of the schedule after the run; null for a strategy, or if unknown.',
  }),
  coming_rebalance: z.string().nullable().meta({
    description:
      'First effective date of the schedule after the run and not before today (UTC); null for a strategy, or if unknown.',
  }),
})).meta({ id: 'RunSummaryRow' });
export const RunSummaryCollection = defineObject(() => ({
  summaries: z.array(RunSummaryRow).meta({ description: 'One row per run, by id.' }),
  ...skippedFields,
})).meta({ id: 'RunSummaryCollection' });
export type RunSummaryCollection = z.infer<typeof RunSummaryCollection>;
/** Members of a summary row that depend only on the stored run. */
export type RunFiguresPayload = Omit<
  WithoutRunState<z.infer<typeof RunSummaryRow>>,
  'name' | 'run_at' | 'start' | 'benchmark' | 'next_rebalance' | 'coming_rebalance'
>;

const params = defineObject(() => ({ index_id: Id }));
const window = {
  start: IsoDate.optional().meta({ description: 'First day. Default: the first date of the run.' }),
  end: IsoDate.optional().meta({ description: 'Last day. Default: the last date of the run.' }),
};
const errors = ['INDEX_NOT_FOUND', 'RUN_NOT_FOUND', 'DOCUMENT_UNREADABLE', 'NUMERIC_FAILURE'] as const;
const commonRoute = { method: 'GET', scope: 'read' } as const;

/** Maximum number of groups in a response about exposures. */
const GROUPS_MAX = 100;

/** Maximum number of datapoints in a response about exposures. Each datapoint is read on every date. */
const FIELDS_MAX = 10;

const ruleHelp = LIMIT_RULE_NAMES.map((name) => `${name}: ${LIMIT_RULES[name].help}`).join(' ');

/** Formats the tables of a file as a list with one table per line. */
function formatTableLines(tables: Readonly<Record<string, ExportTable>>): string {
  return Object.entries(tables)
    .map(
      ([name, { help, row, columns }]) =>
        `- \`${name}\`: ${help} Rows: ${row}. Columns: ${Object.keys(columns).join(', ')}.`,
    )
    .join('\n');
}

/**
 * Returns the description of the query parameter `table`.
 * @param defaultBy table of the file if the request names none
 */
const createTableQuery = (defaultBy: string) => ({
  description: `Table of a CSV, Arrow, Parquet or Excel file. Refused with JSON. Default: \`${defaultBy}\`.`,
});

const limitsAsFile = `A CSV, Arrow, Parquet or Excel file contains one \`table\`:\n\n${formatTableLines(LIMIT_TABLES)}`;
const limitTable = z.enum(LIMIT_TABLE_NAMES).optional().meta(createTableQuery('state'));
const limitsSuccess = { status: 200, description: 'The limits.', schema: LimitsView, media: FILE_MEDIA } as const;

const scenarioTable = z.enum(SCENARIO_TABLE_NAMES).optional().meta(createTableQuery('scenarios'));

export const runViewRoutes = defineRoutes('analytics', {
  listSummaries: {
    ...commonRoute,
    path: '/analytics/summaries',
    call: 'runViews.summaries',
    summary: 'Returns level, returns, volatility and rebalances of every stored run, one row per run.',
    description: 'A run that is no longer readable is omitted and counted in `skipped`.',
    query: listingQuery,
    success: { status: 200, description: 'The rows, by id.', schema: RunSummaryCollection },
  },
  getPerformance: {
    ...commonRoute,
    path: '/analytics/{index_id}/performance',
    summary: 'Returns levels, drawdown, returns and figures of a run over a window.',
    description: 'The window is narrowed to dates of the run. All figures are measured within this window.',
    params,
    query: defineObject(() => ({
      ...runParameter,
      ...window,
      of: z.enum(MEASURED_SERIES).optional().meta({
        description:
          'Series that the figures describe: the portfolio after costs, or the index that it tracks. Default: index if `variant` is set, otherwise portfolio.',
      }),
      variant: z.enum(RETURN_VARIANTS).optional().meta({
        description:
          'Return variant of the index that is measured. Default: that of the definition. A portfolio has only the variant of its run.',
      }),
    })),
    view: { name: 'performance', needs: ['window'] },
    success: { status: 200, description: 'The performance.', schema: PerformanceView },
    errors: [...errors, 'INVALID_RANGE', 'RANGE_TOO_SHORT', 'VARIANT_NOT_AVAILABLE'],
  },
  listRebalances: {
    ...commonRoute,
    path: '/analytics/{index_id}/rebalances',
    summary: 'Lists every rebalance of a run with its changes, turnover and cost.',
    params,
    query: z.strictObject(runParameter),
    view: { name: 'rebalances', needs: [] },
    success: { status: 200, description: 'The rebalances.', schema: RebalanceList },
    errors,
  },
  getRebalance: {
    ...commonRoute,
    path: '/analytics/{index_id}/rebalances/{date}',
    summary: 'Returns one rebalance of a run by security: weights before and after, and trades.',
    params: defineObject(() => ({
      index_id: Id,
      date: IsoDate.meta({
        description: 'Date of the rebalance. The response describes the latest rebalance on or before this day.',
      }),
    })),
    query: z.strictObject(runParameter),
    view: { name: 'rebalance', needs: [] },
    success: { status: 200, description: 'The rebalance.', schema: RebalanceView },
    errors: [...errors, 'NO_DATA_AT_DATE'],
  },
  getIndexActions: {
    ...commonRoute,
    path: '/indices/{index_id}/actions',
    summary:
      'Returns the effects of past and coming corporate actions on an index: weight, shares and divisor before and after.',
    description:
      'Past actions are applied to the holdings of the latest run. Later actions that were announced on or before its last date are pro forma. Actions that await a decision are marked.',
    params,
    query: defineObject(() => ({
      ...runParameter,
      from: IsoDate.optional().meta({ description: 'First ex-date. Default: the first date of the run.' }),
      to: IsoDate.optional().meta({ description: 'Last ex-date.' }),
      table: z.enum(['actions', 'constituents']).optional().meta({
        description:
          'Table of a CSV file: the actions (default), or the whole index before and after each coming action, with weight and shares of each security, for every choice of the action. Refused with JSON.',
      }),
    })),
    view: { name: 'actions', needs: ['window', 'market', 'outside-mergers'] },
    success: { status: 200, description: 'The actions.', schema: ActionsView, media: ['text/csv'] },
    errors: [...errors, 'VALIDATION_FAILED', 'STORE_MISMATCH', 'NO_DATA_SOURCE', 'INVALID_RANGE'],
  },
  getDividendPoints: {
    ...commonRoute,
    path: '/analytics/{index_id}/dividend-points',
    summary: 'Returns ordinary dividends in index points by session and year, the yield, and announced dividends.',
    description:
      'The points of a security are its weight at the previous close x level at that close x dividend / price, with dividend and price in the currency of the index.',
    params,
    query: defineObject(() => ({ ...runParameter, ...window })),
    view: { name: 'dividend-points', needs: ['window', 'market'] },
    success: { status: 200, description: 'The points.', schema: DividendPointsView },
    errors: [
      ...errors,
      'STORE_MISMATCH',
      'NO_DATA_SOURCE',
      'INVALID_RANGE',
      'NO_DATA_IN_RANGE',
      'VARIANT_NOT_AVAILABLE',
    ],
  },
  getExposures: {
    ...commonRoute,
    path: '/analytics/{index_id}/exposures',
    summary: 'Returns weights by group and averages of datapoints over time, with concentration and turnover.',
    description: `Groups and datapoints are as known on each date. BETA is computed as in rules, against the equally weighted universe of the index on the date. A benchmark is run from its definition and must have holdings on every date. A CSV or Arrow file contains one \`table\`:\n\n${formatTableLines(EXPOSURE_TABLES)}`,
    params,
    query: defineObject(() => ({
      ...runParameter,
      by: z.string().min(1).max(64).optional().meta({
        description:
          'Reference column to group by. Default: SECTOR. Securities without the column are UNCLASSIFIED; IDENTIFIER groups by security.',
      }),
      groups: z
        .int()
        .min(1)
        .max(GROUPS_MAX)
        .default(20)
        .meta({ description: 'Maximum number of groups. All other groups are combined as OTHERS.' }),
      interval: z
        .enum(EXPOSURE_INTERVALS)
        .default('native')
        .meta({ description: 'Dates of the rows: every date, or the last date of each week or month.' }),
      fields: z.array(z.string().min(1).max(LIMITS.MAX_EXPRESSION_LENGTH)).max(FIELDS_MAX).default([]).meta({
        description:
          'Numeric datapoints, such as DIVIDEND_YIELD, BETA and MARKET_CAP, or expressions over datapoints. Cross-sectional functions cover the securities that the run holds.',
      }),
      benchmark: BenchmarkName.optional(),
      table: z.enum(EXPOSURE_TABLE_NAMES).optional().meta({
        description:
          'Table of a CSV, Arrow, Parquet or Excel file. Refused with JSON. Default: `fields` if fields are requested, otherwise `groups`.',
      }),
      ...window,
    })),
    view: { name: 'exposures', needs: ['window', 'exposures'] },
    success: {
      status: 200,
      description: 'The exposures.',
      schema: ExposuresView,
      media: FILE_MEDIA,
    },
    errors: [
      ...errors,
      ...compositionErrors,
      'BENCHMARK_NOT_FOUND',
      'NOT_SUPPORTED',
      'NO_COMMON_DATES',
      'STORE_MISMATCH',
      'NO_DATA_SOURCE',
      'INVALID_RANGE',
      'NO_DATA_IN_RANGE',
    ],
  },
  getLimits: {
    ...commonRoute,
    path: '/analytics/{index_id}/limits',
    summary: 'Checks a published concentration rule on every session, and returns headroom, breaches and their causes.',
    description: `A security without a value in the reference column ISSUER is a separate issuer. A finding reports this. ${limitsAsFile}`,
    params,
    query: defineObject(() => ({
      ...runParameter,
      rule: z
        .enum(LIMIT_RULE_NAMES)
        .optional()
        .meta({
          description: `Default: the rule that triggers rebalances of the index, or ${DEFAULT_LIMIT_RULE} if there is none. ${ruleHelp}`,
        }),
      by: z
        .string()
        .min(1)
        .max(64)
        .default('ISSUER')
        .meta({ description: 'Reference column of the issuer. With IDENTIFIER, each security is a separate issuer.' }),
      table: limitTable,
      ...window,
    })),
    view: { name: 'limits', needs: ['window', 'issuers'] },
    success: limitsSuccess,
    errors: [...errors, 'VALIDATION_FAILED', 'STORE_MISMATCH', 'NO_DATA_SOURCE', 'INVALID_RANGE', 'NO_DATA_IN_RANGE'],
  },
  watchLimits: {
    ...commonRoute,
    method: 'POST',
    path: '/analytics/{index_id}/limits',
    summary: 'Checks constraints on every session of a run.',
    description: `Constraints can refer to holdings and their datapoints. Constraints on a parent index, trades or forecast risk are refused. Datapoints are as known on each session. ${limitsAsFile}`,
    params,
    query: defineObject(() => ({ ...runParameter, table: limitTable, ...window })),
    body: {
      schema: LimitsRequest,
      example: { rows: [{ id: 'cap', type: 'PositionBounds', params: { upper: 0.08 } }] },
    },
    view: { name: 'limits', needs: ['window', 'watched-rows'] },
    success: limitsSuccess,
    errors: [...errors, 'VALIDATION_FAILED', 'STORE_MISMATCH', 'NO_DATA_SOURCE', 'INVALID_RANGE', 'NO_DATA_IN_RANGE'],
  },
  runScenarios: {
    ...commonRoute,
    method: 'POST',
    path: '/analytics/{index_id}/scenarios',
    summary:
      'Returns the return of the composition of a run in historical windows and under shocks, by security and group. Nothing is stored.',
    params,
    description: `A CSV, Arrow, Parquet or Excel file contains one \`table\`:\n\n${formatTableLines(SCENARIO_TABLES)}`,
    query: defineObject(() => ({ ...runParameter, table: scenarioTable })),
    body: {
      schema: ScenarioRequest,
      example: {
        scenarios: [
          { name: 'Spring 2020', window: { start: '2020-02-20', end: '2020-03-23' } },
          { name: 'Energy down', shocks: { 'SECTOR:Energy': -0.2 } },
        ],
      },
    },
    view: { name: 'scenarios', needs: ['scenarios'] },
    success: { status: 200, description: 'A result for each scenario.', schema: ScenariosView, media: FILE_MEDIA },
    errors: [...errors, 'VALIDATION_FAILED', 'STORE_MISMATCH', 'NO_DATA_SOURCE', 'NO_DATA_AT_DATE', 'FX_MISSING'],
  },
});

type Routes = typeof analyticsRoutes & typeof runViewRoutes & typeof rollingRiskRoutes;

/** Routes of a table that are views of a stored run. Other routes are removed from the type. */
export type ViewRoutes<T> = {
  readonly [K in keyof T as T[K] extends { readonly view: RunViewTerms } ? K : never]: Extract<T[K], ViewRoute>;
};

export type ViewRoute = Route & { readonly view: RunViewTerms };

type Output<S> = S extends z.ZodType ? z.output<S> : object;

/** Parameters that identify the run, and parameters that are replaced by a looked-up value. */
type ResolvedParameter = 'index_id' | 'run_id' | 'benchmark';

type QuestionOf<R> = R extends ViewRoute
  ? {
      readonly view: R['view']['name'];
      readonly need: R['view']['needs'][number];
      readonly asked: Omit<Output<R['params']> & Output<R['query']>, ResolvedParameter>;
    }
  : never;

/** Question of a view route: the name of the view, the values to look up, and the parameters passed to the view. */
export type RunViewQuestion = QuestionOf<ViewRoutes<Routes>[keyof ViewRoutes<Routes>]>;
