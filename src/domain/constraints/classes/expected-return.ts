import { z } from 'zod';
import { defineConstraintClass } from '../constraint-class.js';
import { defineConstraintParams } from '../parameters.js';
import { createParameterLimit } from '../program-row.js';

export const expectedReturn = defineConstraintClass({
  type: 'ExpectedReturn',
  label: 'Expected return',
  help: 'The annual expected return of the portfolio is at least a limit, before costs. It is computed from the expected returns of the request, which are required; their uncertainty is not deducted.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  needsReturns: true,
  params: defineConstraintParams({
    lower: z
      .number()
      .min(-10)
      .max(10)
      .meta({ label: 'Lower', help: 'Smallest annual expected return.', unit: 'fraction a year' }),
  }),
  example: { id: 'floor', type: 'ExpectedReturn', params: { lower: 0.05 } },
  toRows: ({ lower }, context) => {
    const coefficients = context.expectedReturns();
    if (coefficients === null) return [];
    return [{ form: 'linear', coefficients, lower: createParameterLimit(lower, 'lower'), upper: null, member: null }];
  },
});
