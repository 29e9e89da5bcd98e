import { constraintClass } from '../constraint-class.js';
import { constraintParams, names, reference } from '../parameters.js';
import { fixLimit } from '../program-row.js';
import { namesInScope } from '../scope.js';

export const freeze = constraintClass({
  type: 'Freeze',
  label: 'Freeze',
  help: 'The securities keep their weight in the reference portfolio.',
  kind: 'eq',
  unit: 'fraction',
  convex: true,
  params: constraintParams({ identifiers: names, reference }),
  example: { id: 'keep', type: 'Freeze', params: { identifiers: ['AAPL'] } },
  toRows: ({ identifiers, reference }, context) => {
    const from = context.reference(reference);
    if (from === null) return [];
    return namesInScope(identifiers, context).map((name) => {
      const weight = fixLimit(from.weights[name]!);
      return { form: 'name', name, lower: weight, upper: weight, member: context.identifiers[name]! };
    });
  },
});
