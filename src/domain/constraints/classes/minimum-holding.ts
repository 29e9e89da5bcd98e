import { z } from 'zod';
import { defineConstraintClass } from '../constraint-class.js';
import { defineConstraintParams } from '../parameters.js';

export const minimumHolding = defineConstraintClass({
  type: 'MinimumHolding',
  label: 'Minimum holding',
  help: 'The weight of a security is at least a threshold, or zero. Short positions are not affected.',
  kind: 'ineq',
  unit: 'fraction',
  convex: false,
  params: defineConstraintParams({
    threshold: z
      .number()
      .gt(0)
      .max(1)
      .meta({ label: 'Threshold', help: 'Minimum weight of a held security.', unit: 'fraction' }),
  }),
  example: { id: 'min', type: 'MinimumHolding', params: { threshold: 0.005 } },
  toRows: ({ threshold }) => [{ form: 'threshold', threshold, member: null }],
});
