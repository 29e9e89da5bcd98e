import { z } from 'zod';
import { LIMITS } from '../../refusals/limits.js';
import { Id, IsoDate } from '../../schema/shape.js';

const RANDOM_MAX = 500;
const EIGENPORTFOLIOS_MAX = 100;

/** Request of a validation: how the forecasts of a stored model's settings are made and measured. */
export const RiskValidationRequest = z
  .strictObject({
    start: IsoDate.nullable().default(null).meta({
      description: 'First day a forecast is made on; by default the first with a whole window behind it.',
    }),
    end: IsoDate.nullable().default(null).meta({ description: 'Last outcome date.' }),
    sessions: z
      .int()
      .min(LIMITS.MIN_MODEL_OBSERVATIONS)
      .max(LIMITS.MAX_SIMULATION_SESSIONS)
      .default(252)
      .meta({ description: 'Returns behind each forecast, up to its day.' }),
    horizon: z
      .int()
      .min(1)
      .max(LIMITS.PERIODS_PER_YEAR)
      .default(21)
      .meta({ description: 'Sessions of an outcome, and from one forecast to the next: outcomes do not overlap.' }),
    index_id: Id.nullable().default(null).meta({
      description:
        'Index whose held weights are a portfolio, as its latest run held them on each day; by default that of the estimate, if any.',
    }),
    random: z.int().min(0).max(RANDOM_MAX).default(50).meta({
      description: 'Random portfolios of at most 20 names each, and as many of them less the equally weighted one.',
    }),
    eigenportfolios: z
      .int()
      .min(0)
      .max(EIGENPORTFOLIOS_MAX)
      .default(10)
      .meta({ description: 'Eigenvectors of each covariance as portfolios, evenly from the largest eigenvalue on.' }),
    seed: z.int().min(0).max(Number.MAX_SAFE_INTEGER).default(1).meta({ description: 'Of the random portfolios.' }),
  })
  .meta({ id: 'RiskValidationRequest' });
export type RiskValidationRequest = z.infer<typeof RiskValidationRequest>;
