import { constraintClass } from '../constraint-class.js';
import { constraintParams, fraction, reference } from '../parameters.js';
import { stated } from '../program-row.js';

export const turnover = constraintClass({
  type: 'Turnover',
  label: 'Turnover',
  help: 'One-way turnover, half the sum of absolute changes of weight, against the reference portfolio. Names of the reference that left the index count as sold.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: constraintParams({
    limit: fraction({ label: 'Limit', help: 'Largest one-way turnover.' }, { most: 2 }),
    reference,
  }),
  example: { id: 'turn', type: 'Turnover', params: { limit: 0.15, reference: 'index', priority: 2 } },
  toRows: ({ limit, reference }, context) => [
    {
      form: 'distance',
      reference: context.reference(reference),
      fixed: context.outside(reference),
      limit: stated(limit, 'limit'),
      member: null,
    },
  ],
});
