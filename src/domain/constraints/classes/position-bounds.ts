import { defineConstraintClass } from '../constraint-class.js';
import { defineConstraintParams, fraction, notEmpty, scope } from '../parameters.js';
import { state } from '../program-row.js';
import { listSecuritiesInScope } from '../scope.js';

export const positionBounds = defineConstraintClass({
  type: 'PositionBounds',
  label: 'Position bounds',
  help: 'Each weight is between two bounds. A negative lower bound lifts LongOnly for the securities in its scope.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: defineConstraintParams({
    lower: fraction({ label: 'Lower', help: 'Smallest weight.' }, { least: -1 }).default(0),
    upper: fraction({ label: 'Upper', help: 'Largest weight.' }, { least: -1 }).default(1),
    identifiers: scope,
  }).refine(...notEmpty),
  example: { id: 'pos', type: 'PositionBounds', params: { lower: 0, upper: 0.05 } },
  toRows: ({ lower, upper, identifiers }, context) =>
    listSecuritiesInScope(identifiers, context).map((name) => ({
      form: 'name',
      name,
      lower: state(lower, 'lower'),
      upper: state(upper, 'upper'),
      member: context.identifiers[name]!,
    })),
});
