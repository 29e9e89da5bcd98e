import { z } from 'zod';
import { defineConstraintClass } from '../constraint-class.js';
import { defineConstraintParams, lowerAtMostUpper, scope } from '../parameters.js';
import { createParameterLimit } from '../program-row.js';
import { listSecuritiesInScope } from '../scope.js';

export const relativePositionBounds = defineConstraintClass({
  type: 'RelativePositionBounds',
  label: 'Relative position bounds',
  help: 'Each weight is between two multiples of its index weight.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: defineConstraintParams({
    lower: z
      .number()
      .min(-1000)
      .max(1000)
      .default(0)
      .meta({ label: 'Lower', help: 'Smallest multiple of the index weight.', unit: 'multiple' }),
    upper: z
      .number()
      .min(-1000)
      .max(1000)
      .meta({ label: 'Upper', help: 'Largest multiple of the index weight.', unit: 'multiple' }),
    identifiers: scope,
  }).refine(...lowerAtMostUpper),
  example: { id: 'multiple', type: 'RelativePositionBounds', params: { lower: 0.5, upper: 2 } },
  toRows: ({ lower, upper, identifiers }, context) =>
    listSecuritiesInScope(identifiers, context).map((name) => {
      const weight = context.index[name]!;
      const least = createParameterLimit(lower * weight, 'lower', weight);
      const upperLimit = createParameterLimit(upper * weight, 'upper', weight);
      // For a short position the larger multiple gives the lower bound.
      const [below, above] = weight < 0 ? [upperLimit, least] : [least, upperLimit];
      return { form: 'name', name, lower: below, upper: above, member: context.identifiers[name]! };
    }),
});
