import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { ESTIMATORS } from '#domain/risk/risk-model-document.js';
import { FACTOR_ESTIMATORS } from '#domain/risk/factor-model.js';
import { FACTOR_MODELS } from '#domain/risk/factor-risk.js';
import { Finding } from '../common.js';
import { runState, type WithoutRunState } from '../run-state.js';
import { ConcentrationPayload, ExposurePayload } from './overview.js';

export const ConstituentRow = defineObject(() => ({
  identifier: z.string(),
  weight: z.number().meta({ description: 'Weight held on as_of.' }),
  decided_weight: z.number().meta({ description: 'Weight of the rebalance in force, after capping.' }),
  raw_weight: z.number().meta({ description: 'Weight of the rebalance in force, before capping.' }),
  capped: z.boolean(),
  active_weight: z.number().nullable(),
  active_risk_contribution: z.number().nullable(),
  risk_contribution: z.number().nullable(),
  delta_since_rebalance: z.number().nullable(),
  shares_outstanding: z.number().nullable(),
})).meta({ id: 'ConstituentRow' });

export const DriftPayload = defineObject(() => ({
  maximum: z.number(),
  since: z.string(),
  total_absolute: z.number(),
  turnover: z.number(),
})).meta({ id: 'DriftPayload' });

const riskWindow = {
  uncovered: z.array(z.string()),
  window_start: z.string().nullable(),
  window_end: z.string().nullable(),
  observations: z.int().nullable().meta({
    description:
      'Number of sessions with a return of every covered security, from which the risk is estimated; null for a stored model.',
  }),
};
const measuredFields = {
  risk_model: z
    .string()
    .nullable()
    .meta({ description: 'Stored risk model; null for a model estimated over the window of the run.' }),
  risk_estimator: z
    .enum(ESTIMATORS)
    .nullable()
    .meta({ description: 'Requested estimator; null for the sample covariance or a stored model.' }),
  ...riskWindow,
};
export const RiskPayload = defineObject(() => ({
  volatility: z.number().meta({
    description:
      'Annualised volatility of the holdings. The weights of the covered securities are scaled to the weight of all securities.',
  }),
  covered_weight: z.number(),
  ...measuredFields,
})).meta({ id: 'RiskPayload' });
export const ActiveRiskPayload = defineObject(() => ({
  benchmark: z.string(),
  tracking_error: z.number().meta({
    description:
      'Annualised tracking error. The active weights of the covered securities are scaled to the gross active weight of all securities.',
  }),
  covered_weight: z.number().meta({ description: 'Fraction of the gross active weight with an estimate.' }),
  contributions_not_held: z.record(z.string(), z.number()),
  ...measuredFields,
})).meta({ id: 'ActiveRiskPayload' });

export const WeightsView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  requested_as_of: z.string().nullable(),
  as_of: z.string(),
  rebalance_date: z.string(),
  cap: z.number().nullable(),
  weights: z.array(ConstituentRow),
  concentration: ConcentrationPayload,
  exposure: ExposurePayload.optional().meta({
    description: 'Long, short, gross and net exposure of the held weights; absent without a short position.',
  }),
  drift: DriftPayload.nullable(),
  risk: RiskPayload.nullable(),
  active_risk: ActiveRiskPayload.nullable(),
})).meta({ id: 'WeightsView' });
export type WeightsView = WithoutRunState<z.infer<typeof WeightsView>>;

/** Members of a variance that is split by factors. */
const createSplitFields = () => ({
  contributions: z
    .record(z.string(), z.number())
    .meta({ description: 'Fraction of the factor variance that the factor contributes. It can be negative.' }),
  factor_share: z.number(),
  factor_variance: z.number(),
  specific_variance: z.number(),
  total_variance: z.number(),
  residual: z.number(),
  reconciles: z.boolean(),
  model: z
    .enum([...FACTOR_MODELS, 'imported'])
    .meta({ description: 'Source of the factors. For a stored model, its estimator, or `imported`.' }),
  factors: z.array(z.string()),
  requested_as_of: z.string().nullable(),
  as_of: z.string().meta({ description: 'Date of the weights.' }),
  ...measuredFields,
  risk_estimator: z
    .enum(FACTOR_ESTIMATORS)
    .nullable()
    .meta({ description: 'Requested estimator; null for `model` or a stored model.' }),
  findings: z.array(Finding).meta({
    description:
      '`LOOK_AHEAD`: the estimate uses returns after as_of. `MODEL_LACKS_NAMES`: the stored model has no estimate for some securities. `NO_EFFECT`: the model does not use `factors`.',
  }),
});

export const RiskDecomposition = defineObject(() => ({
  ...runState,
  ...createSplitFields(),
  tracking_error: z.number(),
  exposures: z.record(z.string(), z.number()).meta({ description: 'Active exposure to each factor.' }),
  benchmark: z.string().meta({ description: 'Index or identifier of the comparison.' }),
  covered_weight: z.number().meta({
    description: 'Fraction of the gross active weight with an estimate. The figures are scaled to the full weight.',
  }),
})).meta({ id: 'RiskDecomposition' });
export type RiskDecomposition = WithoutRunState<z.infer<typeof RiskDecomposition>>;

export const TotalRiskDecomposition = defineObject(() => ({
  ...runState,
  ...createSplitFields(),
  volatility: z
    .number()
    .meta({ description: 'Annualised forecast of the volatility: the root of the total variance.' }),
  exposures: z.record(z.string(), z.number()).meta({ description: 'Exposure to each factor.' }),
  covered_weight: z
    .number()
    .meta({ description: 'Fraction of the gross weight with an estimate. The figures are scaled to the full weight.' }),
})).meta({ id: 'TotalRiskDecomposition' });
export type TotalRiskDecomposition = WithoutRunState<z.infer<typeof TotalRiskDecomposition>>;
