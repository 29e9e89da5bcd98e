import { z } from 'zod';
import { constraintClass } from '../constraint-class.js';
import { constraintParams } from '../parameters.js';

export const minimumHolding = constraintClass({
  type: 'MinimumHolding',
  label: 'Minimum holding',
  help: 'A security has at least a threshold weight, or none. Short positions are not affected.',
  kind: 'ineq',
  unit: 'fraction',
  convex: false,
  params: constraintParams({
    threshold: z
      .number()
      .gt(0)
      .max(1)
      .meta({ label: 'Threshold', help: 'Minimum weight of a held security.', unit: 'fraction' }),
  }),
  example: { id: 'min', type: 'MinimumHolding', params: { threshold: 0.005 } },
  toRows: ({ threshold }) => [{ form: 'threshold', threshold, member: null }],
});
