import { defineConstraintClass } from '../constraint-class.js';
import { defineConstraintParams, createFraction } from '../parameters.js';
import { createParameterLimit, ONE_WAY } from '../program-row.js';

export const activeShare = defineConstraintClass({
  type: 'ActiveShare',
  label: 'Active share',
  help: 'The active share (half the sum of absolute active weights) is at most a limit.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: defineConstraintParams({
    limit: createFraction({ label: 'Limit', help: 'Largest active share.' }, { most: 2 }),
  }),
  example: { id: 'share', type: 'ActiveShare', params: { limit: 0.3 } },
  toRows: ({ limit }, { index }) => [
    {
      form: 'distance',
      reference: index,
      fixed: 0,
      scale: ONE_WAY,
      limit: createParameterLimit(limit, 'limit'),
      member: null,
    },
  ],
});
