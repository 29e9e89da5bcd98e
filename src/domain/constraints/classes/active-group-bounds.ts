import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { defineConstraintClass } from '../constraint-class.js';
import { category, defineConstraintParams, createFraction, groups, lowerAtMostUpper } from '../parameters.js';
import { createFixedLimit, createParameterLimit } from '../program-row.js';
import { listGroupsInScope, createIndicator } from '../scope.js';

const SmallGroup = defineObject(() => ({
  below: createFraction({ label: 'Below', help: 'Index weight below which a group is small.' }),
  multiple: z.number().min(1).max(1000).meta({
    label: 'Multiple',
    help: 'Maximum weight of a small group, as a multiple of its index weight.',
  }),
})).meta({ id: 'SmallGroup' });

export const activeGroupBounds = defineConstraintClass({
  type: 'ActiveGroupBounds',
  label: 'Active group bounds',
  help: 'The active weight of each group (weight less index weight) is between two bounds.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: defineConstraintParams({
    field: category,
    groups,
    lower: createFraction({ label: 'Lower', help: 'Smallest active weight of a group.' }, { least: -2 }),
    upper: createFraction({ label: 'Upper', help: 'Largest active weight of a group.' }, { least: -2 }),
    small_group: SmallGroup.nullable().default(null).meta({
      label: 'Small groups',
      help: 'Limit of groups with a small index weight: a multiple of the index weight instead of `upper`. Default: no such limit.',
      ref: 'SmallGroup',
    }),
  }).refine(...lowerAtMostUpper),
  isSymmetric: true,
  example: { id: 'sec', type: 'ActiveGroupBounds', params: { field: 'SECTOR', lower: -0.02, upper: 0.02 } },
  toRows: ({ field, groups, lower, upper, small_group: small }, context) =>
    listGroupsInScope(field, groups, context).map(({ group, members }) => {
      let groupWeight = 0;
      for (const name of members) groupWeight += context.index[name]!;
      return {
        form: 'linear',
        coefficients: createIndicator(members, context),
        lower: createParameterLimit(groupWeight + lower, 'lower'),
        upper:
          small !== null && groupWeight < small.below
            ? createFixedLimit(groupWeight * small.multiple)
            : createParameterLimit(groupWeight + upper, 'upper'),
        member: group,
      };
    }),
});
