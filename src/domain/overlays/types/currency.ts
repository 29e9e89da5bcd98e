import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { CurrencyCode } from '../../schema/shape.js';
import { majorUnit } from '../../market/exchange-rates.js';
import { overlayType } from '../overlay-type.js';
import { reportIdle } from '../remarks.js';

export const currency = overlayType({
  type: 'currency',
  label: 'Currency converted',
  help: 'The index in another currency, unhedged.',
  formula: 'L[t] = L[t-1] * g[t] * s[t] / s[t-1], s: price of the currency beneath in that of the overlay',
  reference: 'MSCI Index Calculation Methodology: indices in other currencies',
  schema: defineObject(() => ({
    type: z.literal('currency'),
    to: CurrencyCode.meta({ description: 'Currency of the overlay.' }),
  })),
  example: { type: 'currency', to: 'EUR' },
  currency: ({ to }) => to,
  sentences: ({ to }) => [`The underlying index is converted into ${to} at the exchange rate of each session.`],
  remarks: ({ to }, { currency: beneath }) =>
    beneath !== undefined && majorUnit(beneath) === majorUnit(to)
      ? [reportIdle('to', to, `the underlying index is already in ${beneath}`)]
      : [],
  path(_spec, context) {
    const { growth: beneath } = context.sources[0]!;
    const exchange = exchangeGrowth(context.exchange());
    return {
      growth: beneath.map((own, t) => (t === 0 ? 1 : own * exchange[t]!)),
      exposures: [new Float64Array(beneath.length).fill(1)],
      exchange,
      parts: [],
      resets: null,
    };
  },
});

/** Returns growth of a rate over each session, 1 on the first, [T]. */
export function exchangeGrowth(rates: Float64Array): Float64Array {
  return rates.map((rate, t) => (t === 0 ? 1 : rate / rates[t - 1]!));
}
