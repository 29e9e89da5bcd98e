import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { runState, type WithoutRunState } from '../run-state.js';

const perDate = (description: string) =>
  z.array(z.number()).meta({ description: `${description} One value per date.` });

export const EXPOSURE_INTERVALS = ['native', 'weekly', 'monthly'] as const;

const perDateOrNull = (description: string) =>
  z
    .array(z.number().nullable())
    .meta({ description: `${description} One value per date; null if no holding has a value.` });

const fieldSeries = {
  mean: perDateOrNull('Mean of the datapoint, weighted by the holdings.'),
  coverage: perDate('Fraction of the absolute weights that belongs to securities with a value.'),
  percentiles: defineObject(() => ({
    p10: perDateOrNull('10 %.'),
    p25: perDateOrNull('25 %.'),
    p50: perDateOrNull('The median.'),
    p75: perDateOrNull('75 %.'),
    p90: perDateOrNull('90 %.'),
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
        weights: perDate('Sum of the held weights.'),
        benchmark_weights: perDate('Sum of the weights of the benchmark.').nullable(),
      }),
    )
    .meta({
      description:
        'Groups, sorted by average weight (largest first), with OTHERS last. Their weights add up to the invested weight.',
    }),
  fields: z.array(FieldExposure).meta({ description: 'Entries, in the order of the request.' }),
  concentration: z
    .strictObject({
      herfindahl: perDate('Sum of the squared weights.'),
      effective: perDate('Effective number of securities: 1 / herfindahl; 0 without weights.'),
      largest: perDate('Largest weight.'),
      gross_effective: perDate(
        'Squared sum of the absolute weights, divided by herfindahl: the number of equal positions with the same concentration.',
      ),
      gross_largest: perDate('Largest absolute weight, long or short.'),
    })
    .meta({ id: 'ConcentrationSeries' }),
  active_share: perDate('Half the sum of the absolute differences from the weights of the benchmark.')
    .nullable()
    .meta({ description: 'Values of the benchmark; null if there is none.' }),
  turnover: perDate('One-way turnover of the portfolio since the previous date. The first purchase is excluded.'),
})).meta({ id: 'ExposuresView' });
export type ExposuresView = WithoutRunState<z.infer<typeof ExposuresView>>;
