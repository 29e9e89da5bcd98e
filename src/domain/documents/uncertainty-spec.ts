import { z } from 'zod';
import { LIMITS } from '../refusals/limits.js';

/** Sets that expected returns may lie in. */
const ReturnsUncertainty = z
  .strictObject({
    set: z.enum(['ellipsoid', 'diagonal', 'box']).default('ellipsoid').meta({
      description:
        'Errors of the names together within an ellipsoid, correlated as the returns are; the same of independent errors; or each name by itself within an interval.',
    }),
    radius: z.number().min(0).max(100).meta({
      description:
        'Size of the set, in standard errors of expected returns: of any portfolio, or for a box of each name.',
    }),
    sessions: z.int().min(LIMITS.MIN_MODEL_OBSERVATIONS).max(1e6).nullable().default(null).meta({
      description:
        'Returns that an expected return is as certain as the mean of: a standard error is the volatility times the root of the sessions of a year (252 or 365) over them. Null takes those of the window.',
    }),
  })
  .meta({ id: 'ReturnsUncertainty', description: 'Expected returns that are reckoned with beside the stated ones.' });

const CovarianceUncertainty = z
  .strictObject({
    radius: z.number().min(0).max(10).meta({
      description: 'Largest error of each covariance, as a fraction of the product of the two volatilities.',
    }),
  })
  .meta({ id: 'CovarianceUncertainty', description: 'Covariances that are reckoned with beside the estimated ones.' });

/** What may be true instead of the estimates: the objective is that of the worst of it. */
export const UncertaintySpec = z
  .strictObject({
    returns: ReturnsUncertainty.nullable().default(null),
    covariance: CovarianceUncertainty.nullable().default(null),
  })
  .meta({
    id: 'Uncertainty',
    description:
      'Estimates that may be wrong: the objective is made best for the worst expected returns and covariances of these sets. Rows are measured by the estimates themselves.',
  });
export type UncertaintySpec = z.infer<typeof UncertaintySpec>;
