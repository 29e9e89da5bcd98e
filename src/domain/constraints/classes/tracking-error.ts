import { z } from 'zod';
import { defineConstraintClass } from '../constraint-class.js';
import { defineConstraintParams } from '../parameters.js';
import { createParameterLimit } from '../program-row.js';

/**
 * Distance that counts as zero: half of the holding threshold. With a limit of exactly 0 only one portfolio is
 * feasible, and no shadow price is finite.
 */
const ZERO_LENGTH = 5e-10;

export const trackingError = defineConstraintClass({
  type: 'TrackingError',
  label: 'Tracking error',
  help: 'The annualised tracking error relative to the index is at most a limit.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: defineConstraintParams({
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
      limit: createParameterLimit(Math.max(limit, ZERO_LENGTH), 'limit'),
      radiusOf: (parameter) => Math.max(parameter, ZERO_LENGTH),
      parameterOf: (radius) => (radius <= ZERO_LENGTH ? 0 : radius),
      side: 'upper',
      member: null,
    },
  ],
});
