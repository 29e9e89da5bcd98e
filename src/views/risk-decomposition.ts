import type { RiskDecomposition } from '#contract/analytics/weights.js';
import type { FactorRisk } from '#domain/risk/factor-risk.js';

/** Parts of a variance that differ from the whole by no more than this add up. */
const RECONCILES_WITHIN = 1e-12;

/** Context of an active variance. */
export type DecompositionOf = Pick<
  RiskDecomposition,
  'benchmark' | 'requested_as_of' | 'as_of' | 'uncovered' | 'window_start' | 'window_end'
>;

/** An active variance by factors as the wire shows it. */
export function riskDecomposition(
  { model, factors, exposures, contributions, ...risk }: FactorRisk,
  of: DecompositionOf,
): RiskDecomposition {
  const residual = risk.totalVariance - risk.factorVariance - risk.specificVariance;
  return {
    contributions: { ...contributions },
    factor_share: risk.factorShare,
    factor_variance: risk.factorVariance,
    specific_variance: risk.specificVariance,
    total_variance: risk.totalVariance,
    tracking_error: risk.trackingError,
    residual,
    reconciles: Math.abs(residual) <= RECONCILES_WITHIN,
    model,
    factors: [...factors],
    exposures: { ...exposures },
    covered_weight: risk.coveredWeight,
    ...of,
  };
}
