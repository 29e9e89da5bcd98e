import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { LIMITS } from '../refusals/limits.js';
import { Id } from '../schema/shape.js';
import { estimatorFields, RiskModelRequest } from './risk-model-document.js';

const { target, intensity, intensity_method } = RiskModelRequest.shape;

/** Settings of the covariance estimator of an optimisation. Default: the standard estimator. */
export const RiskEstimator = defineObject(() => ({
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
    .meta({ description: 'Sessions after which the weight of an observation halves. Default: equal weights.' }),
  sessions: z
    .int()
    .min(LIMITS.MIN_MODEL_OBSERVATIONS)
    .max(LIMITS.DERIVED_RISK_SESSIONS)
    .nullable()
    .default(null)
    .meta({
      description: `Number of returns up to the decision. Default: ${LIMITS.DERIVED_RISK_SESSIONS} in a derived index, the whole window in a run.`,
    }),
})).meta({ id: 'RiskEstimator', description: 'Settings of a risk model, as in an estimate request.' });
export type RiskEstimator = z.infer<typeof RiskEstimator>;

/** Choice of a risk model: the id of a stored model, or the settings of an estimate. */
export const RiskModelChoice = z.union([Id.meta({ description: 'Id of a stored risk model.' }), RiskEstimator]);
export type RiskModelChoice = z.infer<typeof RiskModelChoice>;
