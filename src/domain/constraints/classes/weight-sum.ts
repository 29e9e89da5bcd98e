import { constraintClass } from '../constraint-class.js';
import { constraintParams, fraction, notEmpty } from '../parameters.js';
import { stated } from '../program-row.js';

export const weightSum = constraintClass({
  type: 'WeightSum',
  label: 'Sum of weights',
  help: 'The weights sum to a value between two bounds; the rest is cash. Replaces FullInvestment.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: constraintParams({
    lower: fraction({ label: 'Lower', help: 'Smallest sum.' }).default(1),
    upper: fraction({ label: 'Upper', help: 'Largest sum.' }).default(1),
  }).refine(...notEmpty),
  example: { id: 'cash', type: 'WeightSum', params: { lower: 0.98, upper: 1 } },
  toRows: ({ lower, upper }, { identifiers }) => [
    {
      form: 'linear',
      coefficients: new Float64Array(identifiers.length).fill(1),
      lower: stated(lower, 'lower'),
      upper: stated(upper, 'upper'),
      member: null,
    },
  ],
});
