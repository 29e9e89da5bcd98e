import { defineConstraintClass } from '../constraint-class.js';
import { defineConstraintParams } from '../parameters.js';
import { createFixedLimit } from '../program-row.js';

export const fullInvestment = defineConstraintClass({
  type: 'FullInvestment',
  label: 'Full investment',
  help: 'The weights add up to 1. This constraint is present by default unless bounds of the sum of weights replace it.',
  kind: 'eq',
  unit: 'fraction',
  convex: true,
  params: defineConstraintParams({}),
  example: { id: 'budget', type: 'FullInvestment', params: {} },
  toRows: (_, { identifiers }) => [
    {
      form: 'linear',
      coefficients: new Float64Array(identifiers.length).fill(1),
      lower: createFixedLimit(1),
      upper: createFixedLimit(1),
      member: null,
    },
  ],
});
