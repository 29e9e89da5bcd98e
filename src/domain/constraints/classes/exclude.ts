import { defineConstraintClass } from '../constraint-class.js';
import { defineConstraintParams, securities } from '../parameters.js';
import { createFixedLimit } from '../program-row.js';
import { listSecuritiesInScope } from '../scope.js';

export const excludeConstraint = defineConstraintClass({
  type: 'Exclude',
  label: 'Exclude',
  help: 'The listed securities have no weight.',
  kind: 'eq',
  unit: 'fraction',
  convex: true,
  params: defineConstraintParams({ identifiers: securities }),
  example: { id: 'out', type: 'Exclude', params: { identifiers: ['AAPL'] } },
  toRows: ({ identifiers }, context) =>
    listSecuritiesInScope(identifiers, context).map((name) => ({
      form: 'name',
      name,
      lower: createFixedLimit(0),
      upper: createFixedLimit(0),
      member: context.identifiers[name]!,
    })),
});
