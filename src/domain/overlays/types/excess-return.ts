import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { defineBasis, defineRateSeries } from '../fields.js';
import { defineOverlayType } from '../overlay-type.js';
import { computeAccruals, createWholeHolding } from '../steps.js';

export const excessReturn = defineOverlayType({
  type: 'excess_return',
  label: 'Excess return',
  help: 'Return of the index in excess of cash.',
  formula: 'L[t] = L[t-1] * g[t] / (1 + c[t-1] * days / basis)',
  reference: 'S&P Dow Jones Indices, Index Mathematics Methodology: excess return indices',
  schema: defineObject(() => ({
    type: z.literal('excess_return'),
    cash: defineRateSeries('rate of cash'),
    basis: defineBasis(360),
  })),
  example: { type: 'excess_return', cash: 'SOFR' },
  series: ({ cash }) => [{ path: 'cash', series: cash, currency: null }],
  sentences: ({ cash, basis: days }) => [
    `Its return is that of the underlying index over cash: growth is divided by 1 plus the rate ${cash} of the previous close, times calendar days over ${days}.`,
  ],
  path({ cash, basis: days }, context) {
    const interest = computeAccruals(context, cash, days);
    return createWholeHolding(context, 'cash', (growth, t) => growth / (1 + interest[t]!));
  },
});
