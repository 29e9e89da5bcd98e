import { defineConstraintClass } from '../constraint-class.js';
import { defineConstraintParams, createFraction, reference } from '../parameters.js';
import { createParameterLimit, ONE_WAY } from '../program-row.js';

export const turnover = defineConstraintClass({
  type: 'Turnover',
  label: 'Turnover',
  help: 'One-way turnover relative to the reference portfolio (half the sum of absolute weight changes) is at most a limit. Securities of the reference that left the index are counted as sold. The default reference of a derived index is the weights held just before the rebalance, so that its first portfolio is unrestricted.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: defineConstraintParams({
    limit: createFraction({ label: 'Limit', help: 'Largest one-way turnover.' }, { most: 2 }),
    reference,
  }),
  example: { id: 'turn', type: 'Turnover', params: { limit: 0.15, reference: 'index', priority: 2 } },
  toRows: ({ limit, reference }, context) => {
    const from = context.reference(reference);
    if (from === null) return [];
    return [
      {
        form: 'distance',
        reference: from.weights,
        fixed: from.outside,
        scale: ONE_WAY,
        limit: createParameterLimit(limit, 'limit'),
        member: null,
      },
    ];
  },
});
