import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { RiskModelRequest } from '#domain/risk/risk-model-document.js';
import { PORTFOLIO_FAMILIES } from '#domain/risk/validation/trial-portfolios.js';
import { TableFrame } from './common.js';
import { createJobStatus } from './jobs.js';

const defineNumber = (description: string) => z.number().meta({ description });
const family = z.enum(PORTFOLIO_FAMILIES).meta({
  description:
    'equal_weight: all covered securities. index: the weights of the index. random: long-only, 20 securities. active: a random portfolio less the equally weighted portfolio. eigenportfolio: an eigenvector of the covariance.',
});

const measures = {
  bias: defineNumber(
    'Standard deviation of the outcomes, each divided by its forecast. Above 1, risk was underestimated.',
  ),
  q_statistic: z.number().nullable().meta({
    description: 'Mean of z^2 - ln z^2 of the standardised outcomes; 2.27 for correct forecasts and normal returns.',
  }),
  qlike: defineNumber(
    'Mean of ln s^2 + z^2, where s is the forecast over the horizon. The model with the lower value forecasts better.',
  ),
  mean_rolling_deviation: z.number().nullable().meta({
    description:
      'Mean of |bias - 1| over rolling windows of 12 outcomes; null with fewer outcomes. It is 0.17 for correct forecasts.',
  }),
};

const ValidatedPortfolio = defineObject(() => ({
  family,
  number: z
    .int()
    .meta({ description: 'Number within the family, from 1. Eigenportfolios are sorted by decreasing eigenvalue.' }),
  observations: z.int().meta({ description: 'Number of forecasts with an outcome.' }),
  ...measures,
  bias_low: defineNumber('Lower end of the 95% band of the bias of unbiased forecasts: 1 - sqrt(2 / observations).'),
  bias_high: defineNumber('Upper end of the 95% band of the bias: 1 + sqrt(2 / observations).'),
  in_band: z.boolean().meta({ description: 'True if the bias is within the band.' }),
  forecast_volatility: defineNumber('Root mean square of the forecasts, annualised.'),
  realised_volatility: defineNumber('Standard deviation of the outcomes, annualised.'),
})).meta({ id: 'ValidatedPortfolio' });

const ValidatedFamily = defineObject(() => ({
  family,
  portfolios: z.int().meta({ description: 'Portfolios of the family.' }),
  share_in_band: defineNumber('Fraction of the portfolios with a bias within the band; 0.95 for unbiased forecasts.'),
  ...measures,
})).meta({ id: 'ValidatedFamily', description: 'Means over the portfolios of a family.' });

export const RiskValidationView = defineObject(() => ({
  model_id: z.string(),
  settings: RiskModelRequest.pick({
    estimator: true,
    factors: true,
    eigenvalue_simulations: true,
    threshold: true,
    lags: true,
    target: true,
    intensity: true,
    intensity_method: true,
    half_life: true,
  }).meta({ description: 'Estimator of every forecast.' }),
  sessions: z.int().meta({ description: 'Number of returns of each forecast.' }),
  horizon: z.int().meta({ description: 'Number of sessions of an outcome.' }),
  index_id: z.string().nullable().meta({ description: 'Index whose weights are tested as a portfolio.' }),
  start: z.string().meta({ description: 'Day of the first forecast.' }),
  end: z.string().meta({ description: 'Last day of the last outcome.' }),
  forecasts: z.int().meta({ description: 'Number of days with forecasts.' }),
  skipped: z.int().meta({ description: 'Number of days with too little data for an estimate.' }),
  families: z.array(ValidatedFamily).meta({ description: 'Means over the portfolios of each family.' }),
  portfolios: z.array(ValidatedPortfolio).meta({ description: 'Each portfolio over all of its forecasts.' }),
  by_date: TableFrame.meta({
    description:
      'Rows by day of the forecast: number of securities with an estimate; forecast volatility and outcome over the horizon for the equally weighted portfolio and the index; root mean square of the standardised outcomes of each family.',
  }),
})).meta({ id: 'RiskValidationView' });
export type RiskValidationView = z.infer<typeof RiskValidationView>;

export const RiskValidationJobStatus = createJobStatus('RiskValidationJobStatus', 'validate', RiskValidationView);
