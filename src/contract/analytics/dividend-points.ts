import { WithholdingTax } from '#domain/documents/withholding-tax.js';
import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { RETURN_VARIANTS } from '#domain/market/market-data.js';
import { runState, type WithoutRunState } from '../run-state.js';

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
  withholding_tax: WithholdingTax.meta({
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
