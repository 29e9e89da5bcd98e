import { z } from 'zod';
import { defineConstraintClass } from '../constraint-class.js';
import { category, defineConstraintParams, COUNT_MAX, minimumAtMostMaximum, groups } from '../parameters.js';
import { listGroupsInScope } from '../scope.js';

export const groupCardinality = defineConstraintClass({
  type: 'GroupCardinality',
  label: 'Number of securities per group',
  help: 'The number of securities held in each group is between two bounds.',
  kind: 'ineq',
  unit: 'count',
  convex: false,
  params: defineConstraintParams({
    field: category,
    groups,
    minimum: z
      .int()
      .min(0)
      .max(COUNT_MAX)
      .default(0)
      .meta({ label: 'Minimum', help: 'Minimum number of holdings in a group.', unit: 'securities' }),
    maximum: z
      .int()
      .min(0)
      .max(COUNT_MAX)
      .default(COUNT_MAX)
      .meta({ label: 'Maximum', help: 'Maximum number of holdings in a group.', unit: 'securities' }),
  }).refine(...minimumAtMostMaximum),
  example: { id: 'per-sector', type: 'GroupCardinality', params: { field: 'SECTOR', maximum: 10 } },
  toRows: ({ field, groups, minimum, maximum }, context) =>
    listGroupsInScope(field, groups, context).map(({ group, members }) => ({
      form: 'count',
      members,
      minimum,
      maximum,
      member: group,
    })),
});
