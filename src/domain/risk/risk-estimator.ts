import { z } from 'zod';
import { LIMITS } from '../refusals/limits.js';
import { Id } from '../schema/shape.js';
import { estimatorFields, RiskModelRequest } from './risk-model-document.js';

const { target, intensity, intensity_method } = RiskModelRequest.shape;

/** How the covariance of an optimisation is estimated, where it is not as by default. */
export const RiskEstimator = z
  .strictObject({
    ...estimatorFields,
    target,
    intensity,
    intensity_method,
    half_life: z
      .number()
      .min(1)
      .max(1e6)
      .nullable()
      .default(null)
      .meta({ description: 'Sessions after which the weight of an observation halves; equal weights by default.' }),
    sessions: z
      .int()
      .min(LIMITS.MIN_MODEL_OBSERVATIONS)
      .max(LIMITS.DERIVED_RISK_SESSIONS)
      .nullable()
      .default(null)
      .meta({
        description: `Returns up to the decision; in a derived index ${LIMITS.DERIVED_RISK_SESSIONS} by default, in a run all of its window.`,
      }),
  })
  .meta({ id: 'RiskEstimator', description: 'Settings of a risk model, as an estimate request has them.' });
export type RiskEstimator = z.infer<typeof RiskEstimator>;

/** A stored risk model by its id, or how one is estimated. */
export const RiskModelChoice = z.union([Id.meta({ description: 'Id of a stored risk model.' }), RiskEstimator]);
export type RiskModelChoice = z.infer<typeof RiskModelChoice>;
