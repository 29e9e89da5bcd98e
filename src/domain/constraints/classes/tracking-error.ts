import { z } from 'zod';
import { constraintClass } from '../constraint-class.js';
import { constraintParams } from '../parameters.js';
import { stated } from '../program-row.js';

export const trackingError = constraintClass({
  type: 'TrackingError',
  label: 'Tracking error',
  help: 'The annualised tracking error against the index is at most a limit.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: constraintParams({
    limit: z
      .number()
      .min(0)
      .max(1)
      .meta({ label: 'Limit', help: 'Largest annualised tracking error.', unit: 'fraction a year' }),
  }),
  example: { id: 'te', type: 'TrackingError', params: { limit: 0.02 } },
  toRows: ({ limit }, { index }) => [
    {
      form: 'norm',
      metric: 'covariance',
      centre: index,
      limit: stated(limit, 'limit'),
      radiusOf: (parameter) => parameter,
      parameterOf: (radius) => radius,
      side: 'upper',
      member: null,
    },
  ],
});
