import { estimatePeriodsPerYear } from '../../calendars/periods-per-year.js';
import { expandCovariance, estimateLowRankCovariance } from '#kernels/moments/low-rank-covariance.js';
import type { ShrinkageTarget } from '#kernels/moments/shrinkage-target.js';
import { LIMITS } from '../../refusals/limits.js';
import { findCoverage, readReturns, type ReturnWindow } from '../../risk/return-panel.js';
import type { WeightingRefusal, WeightingScope } from '../weighting-class.js';

export interface RiskRequest {
  /** Number of trailing returns. */
  readonly window: number;
  readonly target: ShrinkageTarget;
  /** Weight on the shrinkage target. Default (null): securities / (securities + observations). */
  readonly intensity: number | null;
}

export interface RiskEstimate {
  readonly kind: 'estimated';
  /** Covered securities, as positions among the selected securities. */
  readonly positions: Int32Array;
  /** Annualised covariance, [n x n]. */
  readonly covariance: Float64Array;
}

/**
 * Estimates the shrunk covariance of the trailing returns of the selected securities as known at the decision.
 * @cost window * n^2 / 2 multiply-adds
 */
export function estimateRisk(
  { engine, cross, columns }: WeightingScope,
  { window, target, intensity }: RiskRequest,
): RiskEstimate | WeightingRefusal {
  const { market, session } = cross;
  const returns: ReturnWindow = {
    sm: market,
    growth: cross.growth(columns),
    from: Math.max(0, session - window),
    to: session,
  };
  const coverage = findCoverage(returns, columns);
  const n = coverage.columns.length;
  const observationCount = coverage.sessions.length;
  if (n < 1 || observationCount < LIMITS.MIN_MODEL_OBSERVATIONS) {
    return {
      kind: 'refused',
      code: 'RISK_INSUFFICIENT_DATA',
      finding: {
        code: 'NO_WEIGHT_DATA',
        message: `${n} of ${columns.length} securities are covered, with ${observationCount} complete observations over ${window} sessions; at least 1 security and ${LIMITS.MIN_MODEL_OBSERVATIONS} observations are required.`,
        path: 'params.window',
      },
    };
  }
  const covariance = new Float64Array(n * n);
  engine.scope(() => {
    const panel = engine.allocate(observationCount * n);
    readReturns(returns, coverage, panel);
    const shrinkage = {
      target,
      intensity,
      method: 'shape' as const,
      scale: estimatePeriodsPerYear(market.calendar.sessions),
    };
    expandCovariance(engine, estimateLowRankCovariance(engine, panel, n, shrinkage), covariance);
  });
  const coveredColumns = new Set(coverage.columns);
  const positions = Int32Array.from(columns.keys()).filter((position) => coveredColumns.has(columns[position]!));
  return { kind: 'estimated', positions, covariance };
}
