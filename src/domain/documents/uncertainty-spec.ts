import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { LIMITS } from '../refusals/limits.js';

/** Uncertainty sets of expected returns. */
const ReturnsUncertainty = defineObject(() => ({
  set: z.enum(['ellipsoid', 'diagonal', 'box']).default('ellipsoid').meta({
    description:
      'Joint errors of the securities within an ellipsoid, correlated like the returns; the same with independent errors; or an interval for each security.',
  }),
  radius: z.number().min(0).max(100).meta({
    description:
      'Size of the set, in standard errors of expected returns: of any portfolio, or, for a box, of each security.',
  }),
  sessions: z.int().min(LIMITS.MIN_MODEL_OBSERVATIONS).max(1e6).nullable().default(null).meta({
    description:
      'Number of returns whose mean is as certain as an expected return: a standard error is the volatility times the root of the sessions of a year (252 or 365) over this number. Null: the number in the window.',
  }),
})).meta({ id: 'ReturnsUncertainty', description: 'Uncertainty set around the stated expected returns.' });

const CovarianceUncertainty = defineObject(() => ({
  radius: z.number().min(0).max(10).meta({
    description: 'Maximum error of each covariance, as a fraction of the product of the two volatilities.',
  }),
})).meta({ id: 'CovarianceUncertainty', description: 'Uncertainty set around the estimated covariances.' });

/** Uncertainty of the estimates; the objective uses the worst case. */
export const UncertaintySpec = defineObject(() => ({
  returns: ReturnsUncertainty.nullable().default(null),
  covariance: CovarianceUncertainty.nullable().default(null),
})).meta({
  id: 'Uncertainty',
  description:
    'Uncertain estimates: the objective is optimised for the worst expected returns and covariances in these sets. Rows use the estimates themselves.',
});
export type UncertaintySpec = z.infer<typeof UncertaintySpec>;
