import { constraintClass } from '../constraint-class.js';
import { constraintParams, names } from '../parameters.js';
import { fixLimit } from '../program-row.js';
import { namesInScope } from '../scope.js';

export const exclude = constraintClass({
  type: 'Exclude',
  label: 'Exclude',
  help: 'The securities have no weight.',
  kind: 'eq',
  unit: 'fraction',
  convex: true,
  params: constraintParams({ identifiers: names }),
  example: { id: 'out', type: 'Exclude', params: { identifiers: ['AAPL'] } },
  toRows: ({ identifiers }, context) =>
    namesInScope(identifiers, context).map((name) => ({
      form: 'name',
      name,
      lower: fixLimit(0),
      upper: fixLimit(0),
      member: context.identifiers[name]!,
    })),
});
