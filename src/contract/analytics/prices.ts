import { z } from 'zod';
import { date } from './fields.js';

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
    sessions_old: z.int().min(1).meta({ description: 'Sessions of its exchange since that day.' }),
  })
  .meta({ id: 'StaleFillPayload', description: 'A name that a rebalance traded at the price of an earlier session.' });
export type StaleFillPayload = z.infer<typeof StaleFillPayload>;

export const gapsAndPricing = {
  price_gaps: z
    .array(PriceGapPayload)
    .meta({ description: 'Days a holding or target had no bar though its exchange was open.' }),
  rebalance_pricing: z
    .array(RebalancePricingPayload)
    .meta({ description: 'Per rebalance, the session its trades were priced from.' }),
};
