import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { RETURN_VARIANTS } from '#domain/market/market-data.js';
import { SeriesPayload } from '../common.js';
import { runState, type WithoutRunState } from '../run-state.js';
import { defineDate, defineFraction } from './fields.js';
import { BacktestMetrics } from './metrics.js';

const defineGross = <T extends z.ZodType>(schema: T, description: string) =>
  schema.optional().meta({ description: `${description} Absent in overviews of runs of earlier versions.` });

export const ConcentrationPayload = defineObject(() => ({
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

export const ExposurePayload = defineObject(() => ({
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
  metrics: BacktestMetrics,
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
