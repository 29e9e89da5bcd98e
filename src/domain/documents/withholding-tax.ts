import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';

const rateSchema = z.number().min(0).max(1);

/** Maximum number of field values with a separate rate; it exceeds the number of countries. */
const RATES_MAX = 1_000;

export const WithholdingRates = defineObject(() => ({
  field: z
    .string()
    .min(1)
    .max(64)
    .meta({ label: 'Field', description: 'Reference column of the store, such as COUNTRY.' }),
  rates: z
    .record(z.string().min(1).max(64), rateSchema)
    .refine((rates) => Object.keys(rates).length <= RATES_MAX, { error: `has more than ${RATES_MAX} values` })
    .meta({ label: 'Rates', description: 'Fractions that are withheld, by the value of the field.' }),
  default: rateSchema.optional().meta({
    label: 'Other values',
    description: 'Fraction for values without a rate. Default: such a value is an error (NO_RATE).',
  }),
})).meta({ id: 'WithholdingRates' });

/** Fraction of ordinary dividends that is withheld in the net variant. */
export const WithholdingTax = z.union([rateSchema, WithholdingRates]);
