import { defineConstraintClass } from '../constraint-class.js';
import { isBoundPath, type BoundPath } from '../bound-path.js';
import {
  category,
  createFractionOrPath,
  defineConstraintParams,
  groups,
  lowerAtMostUpper,
  requireNumber,
  type Refinement,
} from '../parameters.js';
import { createParameterLimit } from '../program-row.js';
import { listGroupsInScope, createIndicator, NO_GROUP } from '../scope.js';

interface GroupLimits {
  readonly groups: readonly string[] | null;
  readonly lower: number | BoundPath;
  readonly upper: number | BoundPath;
}

/** Requires one group if a bound begins at the weight of the group on a date. */
const hasGroupOfPath: Refinement<GroupLimits> = [
  ({ groups: listedGroups, lower, upper }) =>
    listedGroups?.length === 1 || ![lower, upper].some((bound) => isBoundPath(bound) && typeof bound.base === 'string'),
  {
    path: ['groups'],
    params: { finding: 'MISSING_PARAMETER' },
    error: () => 'must name one group, because a bound begins at the weight of the group on a date',
  },
];

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
    lower: createFractionOrPath({ label: 'Lower', help: 'Smallest weight of a group.' }, { least: -1 }).default(0),
    upper: createFractionOrPath({ label: 'Upper', help: 'Largest weight of a group.' }, { least: -1 }).default(1),
  })
    .refine(...lowerAtMostUpper)
    .refine(...hasGroupOfPath),
  example: { id: 'sectors', type: 'GroupBounds', params: { field: 'SECTOR', upper: 0.25 } },
  toRows: ({ field, groups, lower, upper }, context) =>
    listGroupsInScope(field, groups, context).map(({ group, members }) => ({
      form: 'linear',
      coefficients: createIndicator(members, context),
      lower: createParameterLimit(requireNumber(lower), 'lower'),
      upper: createParameterLimit(requireNumber(upper), 'upper'),
      member: group,
    })),
  measureOf: ({ field, groups }, { weights, categories }) => {
    const group = groups![0]!; // the parameters of a bound that begins on a date name one group
    return categories(field).reduce(
      (sum, category, i) => ((category ?? NO_GROUP) === group ? sum + weights[i]! : sum),
      0,
    );
  },
});
