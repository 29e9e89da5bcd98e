import { referenceEngine } from '#kernels/engines/reference.js';
import { exponentialCovariance, rollingCovariance } from '#kernels/moments/running-covariance.js';
import { LIMITS } from '../refusals/limits.js';

/** How risk moves along a run, a value for each date that has enough returns behind it, [n] each. */
export interface RollingRisk {
  /** Position in the levels of the first value; the others follow it without a gap. */
  readonly from: number;
  readonly volatility: Float64Array;
  readonly indexVolatility: Float64Array;
  readonly trackingError: Float64Array;
  /** Of the run on the index; 0 where the index does not move. */
  readonly beta: Float64Array;
  /** 0 where one of them does not move. */
  readonly correlation: Float64Array;
}

/** Returns of a window that nobody chose: a quarter. */
export const DEFAULT_RISK_WINDOW = 63;

/** Either a window of returns or a half-life in sessions. */
export type RiskMemory = { readonly window: number } | { readonly halfLife: number };

/** What a run is measured against: the index it tracks, or its external benchmark. */
export const RISK_REFERENCES = ['index', 'benchmark'] as const;
export type RiskReference = (typeof RISK_REFERENCES)[number];

/** Run, index, and what the run returns beyond it. */
const SERIES = 3;

/** Variance of an index below which it does not move. */
const STILL = 1e-18;

/**
 * Rolling risk of a level beside the index it tracks, on the same dates. The differences of returns are followed as a
 * third series: taken from the moments of the two they would be what rounding leaves wherever the index is tracked
 * closely. A matrix of order three is updated where it is: no engine is faster than plain loops on it.
 * @param level run, [T].
 * @param index tracked index, [T].
 * @param periods sessions of a year.
 * @cost O(T), whatever the window
 */
export function rollingRisk(
  level: Float64Array,
  index: Float64Array,
  memory: RiskMemory,
  periods: number = LIMITS.PERIODS_PER_YEAR,
): RollingRisk {
  const returns = new Float64Array(SERIES * Math.max(0, level.length - 1));
  for (let t = 0, at = 0; t + 1 < level.length; t++, at += SERIES) {
    returns[at] = level[t + 1]! / level[t]! - 1;
    returns[at + 1] = index[t + 1]! / index[t]! - 1;
    returns[at + 2] = returns[at]! - returns[at + 1]!;
  }
  const first = 'window' in memory ? memory.window : 2;
  const risk = emptyRisk(first, Math.max(0, level.length - first));
  const visit = (last: number, _means: Float64Array, covariance: Float64Array): void => {
    measure(risk, last + 1 - first, covariance, periods);
  };
  if ('window' in memory) rollingCovariance(referenceEngine, returns, SERIES, memory.window, visit);
  else exponentialCovariance(referenceEngine, returns, SERIES, memory.halfLife, visit);
  return risk;
}

function emptyRisk(from: number, count: number): RollingRisk {
  const values = (): Float64Array => new Float64Array(count);
  return {
    from,
    volatility: values(),
    indexVolatility: values(),
    trackingError: values(),
    beta: values(),
    correlation: values(),
  };
}

/** @param covariance of run, index and their difference, [3 x 3] */
function measure(risk: RollingRisk, k: number, covariance: Float64Array, periods: number): void {
  const annual = (variance: number): number => Math.sqrt(Math.max(0, variance) * periods);
  const own = covariance[0]!;
  const both = covariance[1]!;
  const other = covariance[SERIES + 1]!;
  risk.volatility[k] = annual(own);
  risk.indexVolatility[k] = annual(other);
  risk.trackingError[k] = annual(covariance[2 * SERIES + 2]!);
  risk.beta[k] = other < STILL ? 0 : both / other;
  risk.correlation[k] = own < STILL || other < STILL ? 0 : Math.min(1, Math.max(-1, both / Math.sqrt(own * other)));
}
