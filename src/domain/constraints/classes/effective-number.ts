import { raiseToPower } from '#kernels/power.js';
import { z } from 'zod';
import { defineConstraintClass } from '../constraint-class.js';
import { defineConstraintParams } from '../parameters.js';
import { createParameterLimit } from '../program-row.js';

const toRadius = (minimum: number) => 1 / Math.sqrt(minimum);
const toParameter = (radius: number) => 1 / (radius * radius);

export const effectiveNumber = defineConstraintClass({
  type: 'EffectiveNumber',
  label: 'Effective number of securities',
  help: 'The effective number of securities (1 divided by the sum of squared weights) is at least a minimum.',
  kind: 'ineq',
  unit: 'count',
  convex: true,
  params: defineConstraintParams({
    minimum: z
      .number()
      .min(1)
      .max(100_000)
      .meta({ label: 'Minimum', help: 'Smallest effective number.', unit: 'securities' }),
  }),
  example: { id: 'spread', type: 'EffectiveNumber', params: { minimum: 40 } },
  toRows: ({ minimum }) => [
    {
      form: 'norm',
      metric: 'identity',
      centre: null,
      limit: createParameterLimit(toRadius(minimum), 'minimum', -0.5 * raiseToPower(minimum, -1.5)),
      radiusOf: toRadius,
      parameterOf: toParameter,
      side: 'lower',
      member: null,
    },
  ],
});
