import { z } from 'zod';
import { defineConstraintClass } from '../constraint-class.js';
import { defineConstraintParams } from '../parameters.js';
import { createParameterLimit } from '../program-row.js';

export const volatility = defineConstraintClass({
  type: 'Volatility',
  label: 'Volatility',
  help: 'The annualised volatility of the portfolio is at most a limit.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: defineConstraintParams({
    limit: z
      .number()
      .min(0)
      .max(10)
      .meta({ label: 'Limit', help: 'Largest annualised volatility.', unit: 'fraction a year' }),
  }),
  example: { id: 'vol', type: 'Volatility', params: { limit: 0.18 } },
  toRows: ({ limit }) => [
    {
      form: 'norm',
      metric: 'covariance',
      centre: null,
      limit: createParameterLimit(limit, 'limit'),
      radiusOf: (parameter) => parameter,
      parameterOf: (radius) => radius,
      side: 'upper',
      member: null,
    },
  ],
});
