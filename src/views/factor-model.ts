import type { EstimatedFactors } from '#domain/risk/factors.js';
import type { FactorModel } from '#domain/risk/model-terms.js';
import type { FactorModelPayload } from '#domain/risk/risk-models.js';

/** Converts the factors of an imported model to their form in the API. */
export function toImportedFactors({ factors, covariance }: FactorModel): FactorModelPayload {
  const K = factors.length;
  return {
    r_squared: null,
    factors: factors.map((factor, k) => ({
      factor,
      volatility: Math.sqrt(covariance[k * (K + 1)]!),
      mean_t_statistic: null,
      significant_share: null,
    })),
  };
}

/** Converts the factors of an estimated risk model to their form in the API. */
export function createFactorModelPayload({ model, fit }: EstimatedFactors): FactorModelPayload {
  const K = model.factors.length;
  return {
    r_squared: fit.rSquared,
    factors: model.factors.map((factor, k) => ({
      factor,
      volatility: Math.sqrt(model.covariance[k * (K + 1)]!),
      mean_t_statistic: fit.tStatistics?.[k] ?? null,
      significant_share: fit.significant?.[k] ?? null,
    })),
  };
}
