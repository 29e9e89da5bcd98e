import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { findMajorUnit } from '../../market/currency-codes.js';
import { CurrencyCode } from '../../schema/shape.js';
import { defineOverlayType } from '../overlay-type.js';
import { reportWithoutEffect } from '../remarks.js';

export const quanto = defineOverlayType({
  type: 'quanto',
  label: 'Quanto',
  help: 'The return of the index in its own currency, paid in another currency, without exchange rates.',
  formula: 'L[t] = L[t-1] * g[t], L in the currency of the overlay and g in that of the underlying index',
  reference: 'S&P Dow Jones Indices, Index Mathematics Methodology: quanto indices',
  schema: defineObject(() => ({
    type: z.literal('quanto'),
    to: CurrencyCode.meta({
      description: 'Currency in which the return is paid, which is the currency of the overlay.',
    }),
  })),
  example: { type: 'quanto', to: 'EUR' },
  currency: ({ to }) => to,
  converts: false,
  sentences: ({ to }) => [
    `The return of the underlying index in its own currency is paid in ${to}: changes of the exchange rate have no effect.`,
  ],
  remarks: ({ to }, { currency: underlyingCurrency }) =>
    underlyingCurrency !== undefined && findMajorUnit(underlyingCurrency) === findMajorUnit(to)
      ? [reportWithoutEffect('to', to, `the underlying index is already in ${underlyingCurrency}`)]
      : [],
  path(_spec, context) {
    const growth = context.sources[0]!.growth.slice();
    return {
      growth,
      exposures: [new Float64Array(growth.length).fill(1)],
      exchange: null,
      parts: [],
      resets: null,
    };
  },
});
