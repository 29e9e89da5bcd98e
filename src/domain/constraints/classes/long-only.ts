import { defineConstraintClass } from '../constraint-class.js';
import { defineConstraintParams } from '../parameters.js';
import { createFixedLimit } from '../program-row.js';

export const longOnly = defineConstraintClass({
  type: 'LongOnly',
  label: 'Long only',
  help: 'No weight is negative. This constraint is present by default. Position bounds with a negative lower bound remove it for their securities.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: defineConstraintParams({}),
  example: { id: 'long', type: 'LongOnly', params: {} },
  toRows: (_, { identifiers }) =>
    identifiers.map((member, name) => ({ form: 'name', name, lower: createFixedLimit(0), upper: null, member })),
});
