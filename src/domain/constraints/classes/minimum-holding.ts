import { z } from 'zod';
import { constraintClass } from '../constraint-class.js';
import { constraintParams } from '../parameters.js';

export const minimumHolding = constraintClass({
  type: 'MinimumHolding',
  label: 'Minimum holding',
  help: 'A name is held with at least a threshold of weight, or not at all. Short positions are not affected.',
  kind: 'ineq',
  unit: 'fraction',
  convex: false,
  params: constraintParams({
    threshold: z
      .number()
      .gt(0)
      .max(1)
      .meta({ label: 'Threshold', help: 'Smallest weight of a held name.', unit: 'fraction' }),
  }),
  example: { id: 'min', type: 'MinimumHolding', params: { threshold: 0.005 } },
  toRows: ({ threshold }) => [{ form: 'threshold', threshold, member: null }],
});
