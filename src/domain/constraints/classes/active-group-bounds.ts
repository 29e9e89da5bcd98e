import { constraintClass } from '../constraint-class.js';
import { category, constraintParams, fraction, groups, notEmpty } from '../parameters.js';
import { stated } from '../program-row.js';
import { groupsInScope, indicator } from '../scope.js';

export const activeGroupBounds = constraintClass({
  type: 'ActiveGroupBounds',
  label: 'Active group bounds',
  help: 'The active weight of each group, its weight less its index weight, lies between two bounds.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: constraintParams({
    field: category,
    groups,
    lower: fraction({ label: 'Lower', help: 'Smallest active weight of a group.' }, { least: -2 }),
    upper: fraction({ label: 'Upper', help: 'Largest active weight of a group.' }, { least: -2 }),
  }).refine(...notEmpty),
  example: { id: 'sec', type: 'ActiveGroupBounds', params: { field: 'SECTOR', lower: -0.02, upper: 0.02 } },
  toRows: ({ field, groups, lower, upper }, context) =>
    groupsInScope(field, groups, context).map(({ group, members }) => {
      let held = 0;
      for (const name of members) held += context.index[name]!;
      return {
        form: 'linear',
        coefficients: indicator(members, context),
        lower: stated(held + lower, 'lower'),
        upper: stated(held + upper, 'upper'),
        member: group,
      };
    }),
});
