import { constraintClass } from '../constraint-class.js';
import { constraintParams } from '../parameters.js';
import { fixLimit } from '../program-row.js';

export const fullInvestment = constraintClass({
  type: 'FullInvestment',
  label: 'Full investment',
  help: 'The weights sum to one. Present by default unless a WeightSum row replaces it.',
  kind: 'eq',
  unit: 'fraction',
  convex: true,
  params: constraintParams({}),
  example: { id: 'budget', type: 'FullInvestment', params: {} },
  toRows: (_, { identifiers }) => [
    {
      form: 'linear',
      coefficients: new Float64Array(identifiers.length).fill(1),
      lower: fixLimit(1),
      upper: fixLimit(1),
      member: null,
    },
  ],
});
