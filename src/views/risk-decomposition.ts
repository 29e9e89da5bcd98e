import type { RiskDecomposition, TotalRiskDecomposition } from '#contract/analytics/weights.js';
import type { Finding } from '#domain/refusals/findings.js';
import type { FactorEstimator } from '#domain/risk/factor-model.js';
import type { FactorModelName, FactorSplit } from '#domain/risk/factor-risk.js';

/** Maximum difference at which the parts of a variance count as adding up to the whole. */
const RECONCILES_WITHIN = 1e-12;

/** Variance split by factors, and the risk model that was used. */
export interface MeasuredFactors extends FactorSplit {
  readonly model: FactorModelName | 'imported';
  readonly coveredWeight: number;
  readonly uncovered: readonly string[];
  /** Id of a stored risk model; null for a model estimated over the window of the run. */
  readonly riskModel: string | null;
  /** Estimator selected by name; null if none was selected. */
  readonly estimator: FactorEstimator | null;
  /** Number of sessions whose returns the model is estimated from; null for a stored model. */
  readonly observations: number | null;
  readonly window: { readonly window_start: string; readonly window_end: string };
  readonly findings: readonly Finding[];
}

/** Benchmark and dates of a variance. */
export interface DecompositionOf extends Pick<TotalRiskDecomposition, 'requested_as_of' | 'as_of'> {
  /** Benchmark of the active variance; null for the total variance of the holdings. */
  readonly benchmark: string | null;
}

/** Decomposition with findings of the domain, whose lists are read-only. */
type WithFindings<D> = Omit<D, 'findings'> & { readonly findings: readonly Finding[] };

/** Converts a variance split by factors to its form in the API. */
export function decomposeRisk(
  { model, factors, exposures, contributions, window, ...risk }: MeasuredFactors,
  { benchmark, ...dates }: DecompositionOf,
): WithFindings<RiskDecomposition> | WithFindings<TotalRiskDecomposition> {
  const residual = risk.totalVariance - risk.factorVariance - risk.specificVariance;
  return {
    contributions: { ...contributions },
    factor_share: risk.factorShare,
    factor_variance: risk.factorVariance,
    specific_variance: risk.specificVariance,
    total_variance: risk.totalVariance,
    ...(benchmark === null ? { volatility: risk.volatility } : { tracking_error: risk.volatility, benchmark }),
    residual,
    reconciles: Math.abs(residual) <= RECONCILES_WITHIN,
    model,
    factors: [...factors],
    exposures: { ...exposures },
    covered_weight: risk.coveredWeight,
    risk_model: risk.riskModel,
    risk_estimator: risk.estimator,
    uncovered: [...risk.uncovered],
    ...window,
    observations: risk.observations,
    findings: risk.findings,
    ...dates,
  };
}
