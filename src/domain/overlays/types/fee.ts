import { powerOf } from '#kernels/power.js';
import { z } from 'zod';
import { basis, percent } from '../fields.js';
import { overlayType } from '../overlay-type.js';
import { idle } from '../remarks.js';
import { heldWhole, yearFractions } from '../steps.js';

export const fee = overlayType({
  type: 'fee',
  label: 'Fee',
  help: 'A fee a year, taken every day.',
  formula: 'L[t] = L[t-1] * g[t] * (1 - p)^(days / basis)',
  reference: 'geometric day count, as STOXX and Solactive publish fee-adjusted indices',
  schema: z.strictObject({ type: z.literal('fee'), percent, basis: basis(365) }),
  example: { type: 'fee', percent: 0.5, basis: 365 },
  sentences: ({ percent: p, basis: days }) => [
    `A fee of ${p} % a year is taken every day: the level is multiplied by (1 - ${p} %) to the power of calendar days over ${days}.`,
  ],
  remarks: ({ percent: p }) => (p === 0 ? [idle('percent', p, 'no fee is taken')] : []),
  path(spec, context) {
    const fractions = yearFractions(context.days, spec.basis);
    return heldWhole(context, 'fee', (growth, t) => growth * powerOf(1 - spec.percent / 100, fractions[t]!));
  },
});
