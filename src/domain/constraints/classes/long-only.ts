import { constraintClass } from '../constraint-class.js';
import { constraintParams } from '../parameters.js';
import { fixLimit } from '../program-row.js';

export const longOnly = constraintClass({
  type: 'LongOnly',
  label: 'Long only',
  help: 'No weight is negative. Present by default; a PositionBounds row with a negative lower bound lifts it for the securities in its scope.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: constraintParams({}),
  example: { id: 'long', type: 'LongOnly', params: {} },
  toRows: (_, { identifiers }) =>
    identifiers.map((member, name) => ({ form: 'name', name, lower: fixLimit(0), upper: null, member })),
});
