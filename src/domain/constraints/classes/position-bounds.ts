import { defineConstraintClass } from '../constraint-class.js';
import { defineConstraintParams, createFraction, lowerAtMostUpper, scope } from '../parameters.js';
import { createParameterLimit } from '../program-row.js';
import { listSecuritiesInScope } from '../scope.js';

export const positionBounds = defineConstraintClass({
  type: 'PositionBounds',
  label: 'Position bounds',
  help: 'Each weight is between two bounds. A negative lower bound allows short positions of the securities in its scope.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: defineConstraintParams({
    lower: createFraction({ label: 'Lower', help: 'Smallest weight.' }, { least: -1 }).default(0),
    upper: createFraction({ label: 'Upper', help: 'Largest weight.' }, { least: -1 }).default(1),
    identifiers: scope,
  }).refine(...lowerAtMostUpper),
  example: { id: 'pos', type: 'PositionBounds', params: { lower: 0, upper: 0.05 } },
  toRows: ({ lower, upper, identifiers }, context) =>
    listSecuritiesInScope(identifiers, context).map((name) => ({
      form: 'name',
      name,
      lower: createParameterLimit(lower, 'lower'),
      upper: createParameterLimit(upper, 'upper'),
      member: context.identifiers[name]!,
    })),
});
