import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { LIMITS } from '../refusals/limits.js';
import { CurrencyCode, Id, IsoDate } from '../schema/shape.js';

const StoreName = z.string().min(1).max(200);

/** Request to generate synthetic data. */
export const GenerateSyntheticRequest = defineObject(() => ({
  store_id: Id.optional().meta({ description: 'Default: derived from the seed, for example synthetic-42-1.' }),
  name: StoreName.optional(),
  seed: z
    .int()
    .min(0)
    .max(2 ** 32 - 1)
    .default(42)
    .meta({ description: 'Seed of the random numbers. Equal requests give equal data on every platform.' }),
  assets: z
    .int()
    .min(1)
    .max(5000)
    .default(50)
    .meta({
      description: `Number of securities at the start, without later listings. The number of securities times the number of sessions must be at most ${LIMITS.MAX_SYNTHETIC_BARS}.`,
    }),
  start: IsoDate.default('2015-01-01'),
  end: IsoDate.optional().meta({ description: 'Last date. Default: the end of the last complete calendar year.' }),
  calendar: z.string().min(1).default('XNYS').meta({ description: 'Exchange, as a MIC.' }),
  currency: CurrencyCode.default('USD'),
  sectors: z.int().min(1).max(11).default(8),
  market_return: z
    .number()
    .min(-0.5)
    .max(1)
    .default(0.07)
    .meta({ description: 'Expected annual return of the market.' }),
  market_volatility: z.number().min(0).max(2).default(0.16),
  specific_volatility: z.number().min(0).max(2).default(0.25),
  dividend_yield: z.number().min(0).max(0.5).default(0.02).meta({ description: 'Paid quarterly.' }),
  splits_per_year: z.number().min(0).max(5).default(0.03).meta({ description: 'Probability for each security.' }),
  delistings_per_year: z.number().min(0).max(1).default(0.01).meta({ description: 'Per asset.' }),
  listings_per_year: z.number().min(0).max(1).default(0.01).meta({ description: 'Per asset.' }),
  missing_rate: z.number().min(0).max(0.9).default(0).meta({ description: 'Fraction of the bars that is removed.' }),
  activate: z.boolean().default(true).meta({ description: 'True activates the store when it is complete.' }),
})).meta({ id: 'GenerateSyntheticRequest' });
export type GenerateSyntheticRequest = z.infer<typeof GenerateSyntheticRequest>;
