import { z } from 'zod';
import { defineConstraintClass } from '../constraint-class.js';
import { defineConstraintParams, lowerAtMostUpper, hasBound } from '../parameters.js';
import { createParameterLimit } from '../program-row.js';

const nullableSide = z.number().nullable().default(null);

export const beta = defineConstraintClass({
  type: 'Beta',
  label: 'Beta',
  help: 'The beta of the portfolio to the index is between two bounds. It is computed from the covariance of the problem.',
  kind: 'ineq',
  unit: 'value',
  convex: true,
  params: defineConstraintParams({
    lower: nullableSide.meta({ label: 'Lower', help: 'Smallest beta.' }),
    upper: nullableSide.meta({ label: 'Upper', help: 'Largest beta.' }),
  })
    .refine(...lowerAtMostUpper)
    .refine(...hasBound),
  example: { id: 'beta', type: 'Beta', params: { lower: 0.98, upper: 1.02 } },
  toRows: ({ lower, upper }, context) => {
    const coefficients = context.covarianceTimesIndex().slice();
    let variance = 0;
    for (let i = 0; i < coefficients.length; i++) variance += coefficients[i]! * context.index[i]!;
    for (let i = 0; i < coefficients.length; i++) coefficients[i] = variance > 0 ? coefficients[i]! / variance : 0;
    return [
      {
        form: 'linear',
        coefficients,
        lower: lower === null ? null : createParameterLimit(lower, 'lower'),
        upper: upper === null ? null : createParameterLimit(upper, 'upper'),
        member: null,
      },
    ];
  },
});
