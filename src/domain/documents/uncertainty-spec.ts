import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { LIMITS } from '../refusals/limits.js';

/** Uncertainty sets of expected returns. */
const ReturnsUncertainty = defineObject(() => ({
  set: z.enum(['ellipsoid', 'diagonal', 'box']).default('ellipsoid').meta({
    description:
      'Form of the set: an ellipsoid of joint errors that are correlated like the returns, an ellipsoid of independent errors, or an interval for each security.',
  }),
  radius: z.number().min(0).max(100).meta({
    description:
      'Size of the set in standard errors of expected returns: of any portfolio, or, for a box, of each security.',
  }),
  sessions: z.int().min(LIMITS.MIN_MODEL_OBSERVATIONS).max(1e6).nullable().default(null).meta({
    description:
      'Number of returns that determines the standard error, which is the volatility times the square root of (sessions per year (252 or 365) divided by this number). Null: the number of returns in the window.',
  }),
})).meta({ id: 'ReturnsUncertainty', description: 'Uncertainty set around the expected returns.' });

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
    'Uncertainty sets of the estimates. The objective is optimised for the worst expected returns and covariances in these sets. Constraints use the estimates.',
});
export type UncertaintySpec = z.infer<typeof UncertaintySpec>;
