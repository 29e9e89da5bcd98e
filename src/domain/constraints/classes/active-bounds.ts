import { defineConstraintClass } from '../constraint-class.js';
import { defineConstraintParams, createFraction, lowerAtMostUpper, scope } from '../parameters.js';
import { createParameterLimit } from '../program-row.js';
import { listSecuritiesInScope } from '../scope.js';

export const activeBounds = defineConstraintClass({
  type: 'ActiveBounds',
  label: 'Active bounds',
  help: 'Each active weight (weight less index weight) is between two bounds.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: defineConstraintParams({
    lower: createFraction({ label: 'Lower', help: 'Smallest active weight.' }, { least: -2 }),
    upper: createFraction({ label: 'Upper', help: 'Largest active weight.' }, { least: -2 }),
    identifiers: scope,
  }).refine(...lowerAtMostUpper),
  isSymmetric: true,
  example: { id: 'active', type: 'ActiveBounds', params: { lower: -0.01, upper: 0.01 } },
  toRows: ({ lower, upper, identifiers }, context) =>
    listSecuritiesInScope(identifiers, context).map((name) => ({
      form: 'name',
      name,
      lower: createParameterLimit(context.index[name]! + lower, 'lower'),
      upper: createParameterLimit(context.index[name]! + upper, 'upper'),
      member: context.identifiers[name]!,
    })),
});
