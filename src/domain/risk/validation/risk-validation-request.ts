import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { LIMITS } from '../../refusals/limits.js';
import { Id, IsoDate } from '../../schema/shape.js';

const RANDOM_MAX = 500;
const EIGENPORTFOLIOS_MAX = 100;

/**
 * Request of a risk model validation. It has the terms of the forecasts, which use a stored model's settings, and of
 * their measurement.
 */
export const RiskValidationRequest = defineObject(() => ({
  start: IsoDate.nullable().default(null).meta({
    description: 'First day of a forecast. Default: the first day with a whole window before it.',
  }),
  end: IsoDate.nullable().default(null).meta({ description: 'Last outcome date.' }),
  sessions: z
    .int()
    .min(LIMITS.MIN_MODEL_OBSERVATIONS)
    .max(LIMITS.MAX_SIMULATION_SESSIONS)
    .default(252)
    .meta({ description: 'Number of returns in each forecast, up to its day.' }),
  horizon: z.int().min(1).max(LIMITS.PERIODS_PER_YEAR).default(21).meta({
    description:
      'Number of sessions of an outcome, and of the interval between forecasts. Outcomes therefore do not overlap.',
  }),
  index_id: Id.nullable().default(null).meta({
    description:
      'Index whose weights on each day of its latest run are a portfolio. Default: the index of the estimate, if there is one.',
  }),
  random: z.int().min(0).max(RANDOM_MAX).default(50).meta({
    description:
      'Number of random portfolios of at most 20 securities, and of random portfolios relative to the equally weighted portfolio.',
  }),
  eigenportfolios: z.int().min(0).max(EIGENPORTFOLIOS_MAX).default(10).meta({
    description:
      'Number of eigenvectors of each covariance that are used as portfolios, evenly spaced from the largest eigenvalue.',
  }),
  seed: z.int().min(0).max(Number.MAX_SAFE_INTEGER).default(1).meta({ description: 'Seed of the random portfolios.' }),
})).meta({ id: 'RiskValidationRequest' });
export type RiskValidationRequest = z.infer<typeof RiskValidationRequest>;
