import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { defineDate } from './fields.js';

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

export const gapsAndPricing = {
  price_gaps: z
    .array(PriceGapPayload)
    .meta({ description: 'Days on which a holding or target had no bar although its exchange was open.' }),
  rebalance_pricing: z
    .array(RebalancePricingPayload)
    .meta({ description: 'For each rebalance, the session of the prices of its trades.' }),
};
