import { defineConstraintClass } from '../constraint-class.js';
import { defineConstraintParams, createFraction, lowerAtMostUpper } from '../parameters.js';
import { createParameterLimit } from '../program-row.js';

/** Maximum absolute sum of weights. It equals the maximum factor or leverage of an overlay. */
const LEVERAGE_MAX = 10;

const createParams = ({ least, most }: { readonly least: number; readonly most: number }) =>
  defineConstraintParams({
    lower: createFraction({ label: 'Lower', help: 'Smallest sum.' }, { least, most }).default(1),
    upper: createFraction({ label: 'Upper', help: 'Largest sum.' }, { least, most }).default(1),
  }).refine(...lowerAtMostUpper);

export const weightSum = defineConstraintClass({
  type: 'WeightSum',
  label: 'Sum of weights',
  help: `The sum of the weights is between two bounds, and the rest is cash. Replaces FullInvestment. A monitored constraint accepts sums from -${LEVERAGE_MAX} to ${LEVERAGE_MAX}, which overlays can have.`,
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: createParams({ least: 0, most: 1 }),
  watched: createParams({ least: -LEVERAGE_MAX, most: LEVERAGE_MAX }),
  example: { id: 'cash', type: 'WeightSum', params: { lower: 0.98, upper: 1 } },
  toRows: ({ lower, upper }, { identifiers }) => [
    {
      form: 'linear',
      coefficients: new Float64Array(identifiers.length).fill(1),
      lower: createParameterLimit(lower, 'lower'),
      upper: createParameterLimit(upper, 'upper'),
      member: null,
    },
  ],
});
