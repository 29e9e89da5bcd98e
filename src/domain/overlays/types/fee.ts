import { raiseToPower } from '#kernels/power.js';
import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { defineBasis, percent } from '../fields.js';
import { defineOverlayType } from '../overlay-type.js';
import { reportWithoutEffect } from '../remarks.js';
import { createWholeHolding, computeYearFractions } from '../steps.js';

export const fee = defineOverlayType({
  type: 'fee',
  label: 'Fee',
  help: 'The index less an annual fee, which is subtracted every day.',
  formula: 'L[t] = L[t-1] * g[t] * (1 - p)^(days / basis)',
  reference: 'geometric day count, as in fee-adjusted indices of STOXX and Solactive',
  schema: defineObject(() => ({ type: z.literal('fee'), percent, basis: defineBasis(365) })),
  example: { type: 'fee', percent: 0.5, basis: 365 },
  sentences: ({ percent: p, basis: days }) => [
    `A fee of ${p}% per year is subtracted every day: the level is multiplied by (1 - ${p}%) to the power of calendar days over ${days}.`,
  ],
  remarks: ({ percent: p }) => (p === 0 ? [reportWithoutEffect('percent', p, 'no fee is charged')] : []),
  path(spec, context) {
    const fractions = computeYearFractions(context.days, spec.basis);
    return createWholeHolding(
      context,
      'fee',
      (growth, t) => growth * raiseToPower(1 - spec.percent / 100, fractions[t]!),
    );
  },
});
