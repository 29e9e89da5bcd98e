import { defineConstraintClass } from '../constraint-class.js';
import { category, defineConstraintParams, createFraction, groups, lowerAtMostUpper } from '../parameters.js';
import { createParameterLimit } from '../program-row.js';
import { listGroupsInScope, createIndicator } from '../scope.js';

export const groupBounds = defineConstraintClass({
  type: 'GroupBounds',
  label: 'Group bounds',
  help: 'The weight of each group is between two bounds. Securities without a group form a separate group.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: defineConstraintParams({
    field: category,
    groups,
    lower: createFraction({ label: 'Lower', help: 'Smallest weight of a group.' }, { least: -1 }).default(0),
    upper: createFraction({ label: 'Upper', help: 'Largest weight of a group.' }, { least: -1 }).default(1),
  }).refine(...lowerAtMostUpper),
  example: { id: 'sectors', type: 'GroupBounds', params: { field: 'SECTOR', upper: 0.25 } },
  toRows: ({ field, groups, lower, upper }, context) =>
    listGroupsInScope(field, groups, context).map(({ group, members }) => ({
      form: 'linear',
      coefficients: createIndicator(members, context),
      lower: createParameterLimit(lower, 'lower'),
      upper: createParameterLimit(upper, 'upper'),
      member: group,
    })),
});
