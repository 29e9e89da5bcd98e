import { raiseToPower } from '#kernels/power.js';
import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { defineBasis, percent } from '../fields.js';
import { requireExactlyOne } from '../../schema/one-of.js';
import { defineOverlayType, type OverlayContext, type OverlayPath } from '../overlay-type.js';
import { reportWithoutEffect, reportIdleMembers, type Remark } from '../remarks.js';
import { createWholeHolding, computeYearFractions } from '../steps.js';

const schema = defineObject(() => ({
  type: z.literal('decrement'),
  percent: percent.nullable().default(null).meta({ description: 'Percent per year: 5 is 5%.' }),
  points: z.number().gt(0).nullable().default(null).meta({ description: 'Index points per year, instead of percent.' }),
  basis: defineBasis(365),
  method: z
    .enum(['geometric', 'arithmetic'])
    .default('geometric')
    .meta({ description: 'Method of subtracting percent.' }),
}));

export const decrement = defineOverlayType({
  type: 'decrement',
  label: 'Decrement',
  help: 'The index less a synthetic dividend per year, in percent or in points, which is subtracted every day.',
  formula:
    'geometric: L[t] = L[t-1] * g[t] * (1 - p)^(days / basis); arithmetic: L[t] = L[t-1] * g[t] * (1 - p * days / basis); points: L[t] = L[t-1] * g[t] - points * days / basis',
  reference: 'STOXX Index Guide and Euronext decrement indices, percentage and point versions',
  schema: schema.superRefine(requireExactlyOne({ by: 'a decrement', of: ['percent', 'points'] })),
  example: { type: 'decrement', percent: 5, basis: 365, method: 'geometric' },
  sentences: ({ percent: p, points, basis: days, method }) => [
    points !== null
      ? `A synthetic dividend of ${points} index points per year is subtracted every day by calendar days over ${days}.`
      : `A synthetic dividend of ${p}% per year is subtracted every day: the level is multiplied by ${method === 'geometric' ? `(1 - ${p}%) to the power of calendar days over ${days}` : `1 minus ${p}% times calendar days over ${days}`}.`,
  ],
  remarks(spec, { baseValue }) {
    const { percent: p, points } = spec;
    if (points === null)
      return p === 0
        ? [
            reportWithoutEffect('percent', p, 'nothing is subtracted'),
            ...reportIdleMembers(schema, spec, { members: ['method', 'basis'], why: 'percent is 0' }),
          ]
        : [];
    const why = 'it applies to percent, but points is present';
    return [
      ...reportIdleMembers(schema, spec, { members: ['method'], why }),
      ...(points < baseValue ? [] : [warnOfExhaustion(points, baseValue)]),
    ];
  },
  path({ percent: p, points, basis: days, method }, context) {
    const fractions = computeYearFractions(context.days, days);
    if (points !== null)
      return subtractPoints(
        context,
        fractions.map((fraction) => points * fraction),
      );
    const rate = p! / 100; // one of the two is present
    const computeFactor = (t: number): number =>
      method === 'geometric' ? raiseToPower(1 - rate, fractions[t]!) : 1 - rate * fractions[t]!;
    return createWholeHolding(context, 'decrement', (growth, t) => growth * computeFactor(t));
  },
});

/** Returns a warning about annual points that consume the whole base value. */
const warnOfExhaustion = (points: number, baseValue: number): Remark => ({
  severity: 'warning',
  code: 'OUT_OF_RANGE',
  path: 'points',
  message: `overlay.points is ${points} per year and the base value is ${baseValue}. The level falls to 0 within a year unless the underlying index grows by the same amount.`,
  value: points,
});

/** Returns the path of an index from which a number of points is subtracted each session. */
function subtractPoints(context: OverlayContext, points: Float64Array): OverlayPath {
  let level = context.baseValue;
  return createWholeHolding(context, 'decrement', (growth, t) => {
    const after = level * growth - points[t]!;
    const decrementedGrowth = after / level;
    level = after;
    return decrementedGrowth;
  });
}
