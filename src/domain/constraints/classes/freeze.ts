import { defineConstraintClass } from '../constraint-class.js';
import { defineConstraintParams, securities, reference } from '../parameters.js';
import { createFixedLimit } from '../program-row.js';
import { listSecuritiesInScope } from '../scope.js';

export const freezeConstraint = defineConstraintClass({
  type: 'Freeze',
  label: 'Freeze',
  help: 'The listed securities keep their weight in the reference portfolio.',
  kind: 'eq',
  unit: 'fraction',
  convex: true,
  params: defineConstraintParams({ identifiers: securities, reference }),
  example: { id: 'keep', type: 'Freeze', params: { identifiers: ['AAPL'] } },
  toRows: ({ identifiers, reference }, context) => {
    const from = context.reference(reference);
    if (from === null) return [];
    return listSecuritiesInScope(identifiers, context).map((name) => {
      const weight = createFixedLimit(from.weights[name]!);
      return { form: 'name', name, lower: weight, upper: weight, member: context.identifiers[name]! };
    });
  },
});
