import { z } from 'zod';
import { runState, type Stateless } from '../run-state.js';

const aDate = (description: string) => z.array(z.number()).meta({ description: `${description} One value a date.` });

export const EXPOSURE_INTERVALS = ['native', 'weekly', 'monthly'] as const;

const aDateOrNull = (description: string) =>
  z
    .array(z.number().nullable())
    .meta({ description: `${description} One value a date, null where none held has one.` });

const ofField = {
  mean: aDateOrNull('Mean of the datapoint, weighted by what is held.'),
  coverage: aDate('Share of the weights, by their magnitude, that has a value.'),
  percentiles: z
    .strictObject({
      p10: aDateOrNull('10 %.'),
      p25: aDateOrNull('25 %.'),
      p50: aDateOrNull('The median.'),
      p75: aDateOrNull('75 %.'),
      p90: aDateOrNull('90 %.'),
    })
    .meta({
      id: 'WeightedPercentiles',
      description: 'The least value at or below which that share of the weights lies.',
    }),
};

const FieldExposure = z
  .strictObject({
    field: z.string(),
    ...ofField,
    benchmark: z
      .strictObject(ofField)
      .nullable()
      .meta({ id: 'BenchmarkFieldExposure', description: 'Exposure of the benchmark; null if there is none.' }),
  })
  .meta({ id: 'FieldExposure' });

export const ExposuresView = z
  .strictObject({
    ...runState,
    index_id: z.string(),
    by: z.string().meta({
      description:
        'Reference column, as known on each date, UNCLASSIFIED without a value; IDENTIFIER makes each name its own group.',
    }),
    benchmark: z.string().nullable(),
    dates: z.array(z.string()).meta({ description: 'Dates of the run; of a coarser interval the last of each.' }),
    groups: z
      .array(
        z.strictObject({
          group: z.string(),
          weights: aDate('Sum of the held weights.'),
          benchmark_weights: aDate('The same of the benchmark.').nullable(),
        }),
      )
      .meta({ description: 'By average weight, largest first; OTHERS last. They sum to the invested weight.' }),
    fields: z.array(FieldExposure).meta({ description: 'In the order of the request.' }),
    concentration: z
      .strictObject({
        herfindahl: aDate('Sum of squared weights.'),
        effective: aDate('Effective number of assets: 1 over it; 0 without a weight.'),
        largest: aDate('Largest weight.'),
        gross_effective: aDate(
          'Squared sum of the magnitudes of the weights over herfindahl: equal positions of the same concentration.',
        ),
        gross_largest: aDate('Largest weight by magnitude, long or short.'),
      })
      .meta({ id: 'ConcentrationSeries' }),
    active_share: aDate("Half the sum of the differences from the benchmark's weights, name by name.")
      .nullable()
      .meta({ description: 'Null without a benchmark.' }),
    turnover: aDate("One-way turnover of the portfolio's trades since the date before; its first purchase is none."),
  })
  .meta({ id: 'ExposuresView' });
export type ExposuresView = Stateless<z.infer<typeof ExposuresView>>;
