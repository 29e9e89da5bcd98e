import { z } from 'zod';
import { RiskModelRequest } from '#domain/risk/risk-model-document.js';
import { PORTFOLIO_FAMILIES } from '#domain/risk/validation/trial-portfolios.js';
import { TableFrame } from './common.js';
import { jobStatus } from './jobs.js';

const number = (description: string) => z.number().meta({ description });
const family = z.enum(PORTFOLIO_FAMILIES).meta({
  description:
    'equal_weight: of every covered name. index: as the index held them. random: long, of 20 names. active: a random one less the equally weighted. eigenportfolio: an eigenvector of the covariance.',
});

const measures = {
  bias: number('Standard deviation of outcomes, each over its forecast: above 1 risk was underestimated.'),
  q_statistic: z.number().nullable().meta({
    description:
      'Mean of z^2 - ln z^2 of the standardised outcomes; 2.27 where forecasts are right and returns normal.',
  }),
  qlike: number('Mean of ln s^2 + z^2, s the forecast over the horizon: the lower of two models forecast better.'),
  mean_rolling_deviation: z.number().nullable().meta({
    description:
      'Mean of |bias - 1| over rolling windows of 12 outcomes; null with fewer. 0.17 where forecasts are right.',
  }),
};

const ValidatedPortfolio = z
  .strictObject({
    family,
    number: z.int().meta({ description: 'From 1 within its family; eigenportfolios from the largest eigenvalue on.' }),
    observations: z.int().meta({ description: 'Forecasts with their outcomes.' }),
    ...measures,
    bias_low: number('Lower end of the 95 % band of the bias of right forecasts: 1 - sqrt(2 / observations).'),
    bias_high: number('Upper end of that band.'),
    in_band: z.boolean().meta({ description: 'True if the bias is within the band.' }),
    forecast_volatility: number('Root mean square of the forecasts, annualised.'),
    realised_volatility: number('Standard deviation of the outcomes, annualised.'),
  })
  .meta({ id: 'ValidatedPortfolio' });

const ValidatedFamily = z
  .strictObject({
    family,
    portfolios: z.int().meta({ description: 'Portfolios of the family.' }),
    share_in_band: number('Share of portfolios with a bias within the band; 0.95 for unbiased forecasts.'),
    ...measures,
  })
  .meta({ id: 'ValidatedFamily', description: 'Means over the portfolios of a family.' });

export const RiskValidationView = z
  .strictObject({
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
    }).meta({ description: 'How every forecast was estimated.' }),
    sessions: z.int().meta({ description: 'Returns behind each forecast.' }),
    horizon: z.int().meta({ description: 'Sessions of an outcome.' }),
    index_id: z.string().nullable().meta({ description: 'Index whose weights are tested as a portfolio.' }),
    start: z.string().meta({ description: 'Day of the first forecast.' }),
    end: z.string().meta({ description: 'Last day of the last outcome.' }),
    forecasts: z.int().meta({ description: 'Days that forecasts were made on.' }),
    skipped: z.int().meta({ description: 'Days on which too little was known for an estimate.' }),
    families: z.array(ValidatedFamily).meta({ description: 'Means over the portfolios of each family.' }),
    portfolios: z.array(ValidatedPortfolio).meta({ description: 'Each portfolio over all of its forecasts.' }),
    by_date: TableFrame.meta({
      description:
        'By day of the forecast: names with an estimate; forecast volatility and outcome, over the horizon, of the equally weighted portfolio and of the index; and the root mean square of the standardised outcomes of each family.',
    }),
  })
  .meta({ id: 'RiskValidationView' });
export type RiskValidationView = z.infer<typeof RiskValidationView>;

export const RiskValidationJobStatus = jobStatus('RiskValidationJobStatus', 'validate', RiskValidationView);
