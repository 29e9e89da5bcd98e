import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { runState, type WithoutRunState } from '../run-state.js';

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
