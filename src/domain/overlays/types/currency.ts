import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { CurrencyCode } from '../../schema/shape.js';
import { findMajorUnit } from '../../market/currency-codes.js';
import { defineOverlayType } from '../overlay-type.js';
import { reportWithoutEffect } from '../remarks.js';

export const currency = defineOverlayType({
  type: 'currency',
  label: 'Currency converted',
  help: 'The index in another currency, without a hedge.',
  formula: 'L[t] = L[t-1] * g[t] * s[t] / s[t-1], s: price of the currency beneath in that of the overlay',
  reference: 'MSCI Index Calculation Methodology: indices in other currencies',
  schema: defineObject(() => ({
    type: z.literal('currency'),
    to: CurrencyCode.meta({ description: 'Currency of the overlay.' }),
  })),
  example: { type: 'currency', to: 'EUR' },
  currency: ({ to }) => to,
  sentences: ({ to }) => [`The underlying index is converted into ${to} at the exchange rate of each session.`],
  remarks: ({ to }, { currency: underlyingCurrency }) =>
    underlyingCurrency !== undefined && findMajorUnit(underlyingCurrency) === findMajorUnit(to)
      ? [reportWithoutEffect('to', to, `the underlying index is already in ${underlyingCurrency}`)]
      : [],
  path(_spec, context) {
    const { growth: underlyingGrowth } = context.sources[0]!;
    const exchange = computeExchangeGrowth(context.exchange());
    return {
      growth: underlyingGrowth.map((own, t) => (t === 0 ? 1 : own * exchange[t]!)),
      exposures: [new Float64Array(underlyingGrowth.length).fill(1)],
      exchange,
      parts: [],
      resets: null,
    };
  },
});

/** Returns the growth of a rate over each session, 1 on the first session, [T]. */
export function computeExchangeGrowth(rates: Float64Array): Float64Array {
  return rates.map((rate, t) => (t === 0 ? 1 : rate / rates[t - 1]!));
}
