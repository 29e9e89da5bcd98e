import { z } from 'zod';
import { defineConstraintClass } from '../constraint-class.js';
import { defineConstraintParams, notEmpty, notVacuous } from '../parameters.js';
import { state } from '../program-row.js';

const side = z.number().nullable().default(null);

export const beta = defineConstraintClass({
  type: 'Beta',
  label: 'Beta',
  help: 'The beta of the portfolio to the index, from the covariance of the problem, is between two bounds.',
  kind: 'ineq',
  unit: 'value',
  convex: true,
  params: defineConstraintParams({
    lower: side.meta({ label: 'Lower', help: 'Smallest beta.' }),
    upper: side.meta({ label: 'Upper', help: 'Largest beta.' }),
  })
    .refine(...notEmpty)
    .refine(...notVacuous),
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
        lower: lower === null ? null : state(lower, 'lower'),
        upper: upper === null ? null : state(upper, 'upper'),
        member: null,
      },
    ];
  },
});
