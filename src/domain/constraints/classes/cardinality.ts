import { z } from 'zod';
import { defineConstraintClass } from '../constraint-class.js';
import { defineConstraintParams, COUNT_MAX, minimumAtMostMaximum } from '../parameters.js';

export const cardinality = defineConstraintClass({
  type: 'Cardinality',
  label: 'Number of securities',
  help: 'The number of securities held, long or short, is between two bounds.',
  kind: 'ineq',
  unit: 'count',
  convex: false,
  params: defineConstraintParams({
    minimum: z
      .int()
      .min(1)
      .max(COUNT_MAX)
      .default(1)
      .meta({ label: 'Minimum', help: 'Minimum number of holdings.', unit: 'securities' }),
    maximum: z
      .int()
      .min(1)
      .max(COUNT_MAX)
      .default(COUNT_MAX)
      .meta({ label: 'Maximum', help: 'Maximum number of holdings.', unit: 'securities' }),
  }).refine(...minimumAtMostMaximum),
  example: { id: 'n', type: 'Cardinality', params: { maximum: 60 } },
  toRows: ({ minimum, maximum }, { identifiers }) => [
    { form: 'count', members: Int32Array.from(identifiers.keys()), minimum, maximum, member: null },
  ],
});
