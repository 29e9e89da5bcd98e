import { constraintClass } from '../constraint-class.js';
import { constraintParams, fraction, notEmpty } from '../parameters.js';
import { stated } from '../program-row.js';

/** Sum that an overlay can hold at most, long or short: that of its factor or leverage. */
const LEVERAGE_MAX = 10;

const params = ({ least, most }: { readonly least: number; readonly most: number }) =>
  constraintParams({
    lower: fraction({ label: 'Lower', help: 'Smallest sum.' }, { least, most }).default(1),
    upper: fraction({ label: 'Upper', help: 'Largest sum.' }, { least, most }).default(1),
  }).refine(...notEmpty);

export const weightSum = constraintClass({
  type: 'WeightSum',
  label: 'Sum of weights',
  help: `The weights sum to a value between two bounds; the rest is cash. Replaces FullInvestment. A row that is watched takes sums from -${LEVERAGE_MAX} to ${LEVERAGE_MAX}, as overlays have them.`,
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: params({ least: 0, most: 1 }),
  watched: params({ least: -LEVERAGE_MAX, most: LEVERAGE_MAX }),
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
