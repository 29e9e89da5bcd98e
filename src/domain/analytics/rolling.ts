import { referenceEngine } from '#kernels/engines/reference.js';
import { visitExponentialCovariances, visitRollingCovariances } from '#kernels/moments/sample-covariance.js';
import { LIMITS } from '../base/limits.js';
import { isConstant } from '../base/numbers.js';
import { toCivilDate } from '../base/time.js';
import { computeDeviation } from './returns.js';

/** Rolling risk of a run: a value for each date with enough earlier returns, [n] each. */
export interface RollingRisk {
  /** Index of the first value in the levels; later values follow without a gap. */
  readonly from: number;
  readonly volatility: Float64Array;
  readonly indexVolatility: Float64Array;
  readonly trackingError: Float64Array;
  /** Beta of the run to the index; 0 if the index is constant. */
  readonly beta: Float64Array;
  /** Correlation of the run with the index; 0 if either of them is constant. */
  readonly correlation: Float64Array;
}

/** Default window of returns: a quarter. */
export const DEFAULT_RISK_WINDOW = 63;

/** Window of returns, or half-life in sessions. */
export type RiskMemory = { readonly window: number } | { readonly halfLife: number };

/** Reference of a run: the index it tracks, or its external benchmark. */
export const RISK_REFERENCES = ['index', 'benchmark'] as const;
export type RiskReference = (typeof RISK_REFERENCES)[number];

/** Number of series: run, index, and active return of the run. */
const SERIES_COUNT = 3;

/**
 * Variance below which a variance may consist of rounding errors. The moments of a window are updated from those of the
 * window before, so that their rounding errors are in proportion to the returns that left it.
 */
const VARIANCE_MIN = 1e-18;

/**
 * Computes rolling risk of a level relative to the index it tracks, on the same dates. Active returns are a third
 * series: if tracking is close, active risk computed from the moments of the other two is only rounding noise. Plain
 * loops update the 3 x 3 matrix in place, because no kernel engine is faster at this size.
 * @param level run, [T].
 * @param index tracked index, [T].
 * @param periodsPerYear sessions of a year.
 * @cost O(T), independent of the window
 */
export function computeRollingRisk(
  level: Float64Array,
  index: Float64Array,
  memory: RiskMemory,
  periodsPerYear: number = LIMITS.PERIODS_PER_YEAR,
): RollingRisk {
  const returns = new Float64Array(SERIES_COUNT * Math.max(0, level.length - 1));
  for (let t = 0, position = 0; t + 1 < level.length; t++, position += SERIES_COUNT) {
    returns[position] = level[t + 1]! / level[t]! - 1;
    returns[position + 1] = index[t + 1]! / index[t]! - 1;
    returns[position + 2] = returns[position]! - returns[position + 1]!;
  }
  const first = 'window' in memory ? memory.window : 2;
  const risk = allocateRisk(first, Math.max(0, level.length - first));
  /** Returns the annualised deviation of a series. One that may be only rounding is computed again from its returns. */
  const annualise = (series: number, last: number, variance: number): number => {
    if (variance >= VARIANCE_MIN) return Math.sqrt(variance * periodsPerYear);
    if (!('window' in memory)) {
      const square = Math.max(0, variance);
      return isConstant(Math.sqrt(square)) ? 0 : Math.sqrt(square * periodsPerYear);
    }
    const start = last + 1 - memory.window;
    const seriesReturns = Float64Array.from(
      { length: memory.window },
      (_, i) => returns[(start + i) * SERIES_COUNT + series]!,
    );
    return computeDeviation(seriesReturns) * Math.sqrt(periodsPerYear);
  };
  const visitWindow = (last: number, _means: Float64Array, covariance: Float64Array): void => {
    const k = last + 1 - first;
    risk.volatility[k] = annualise(0, last, covariance[0]!);
    risk.indexVolatility[k] = annualise(1, last, covariance[SERIES_COUNT + 1]!);
    risk.trackingError[k] = annualise(2, last, covariance[2 * SERIES_COUNT + 2]!);
    writeComovementAt(risk, k, covariance);
  };
  if ('window' in memory) visitRollingCovariances(referenceEngine, returns, SERIES_COUNT, memory.window, visitWindow);
  else visitExponentialCovariances(referenceEngine, returns, SERIES_COUNT, memory.halfLife, visitWindow);
  return risk;
}

function allocateRisk(from: number, count: number): RollingRisk {
  const allocateValues = (): Float64Array => new Float64Array(count);
  return {
    from,
    volatility: allocateValues(),
    indexVolatility: allocateValues(),
    trackingError: allocateValues(),
    beta: allocateValues(),
    correlation: allocateValues(),
  };
}

/**
 * Writes beta and correlation at index `k`.
 * @param covariance covariances of run, index and their difference, [3 x 3]
 */
function writeComovementAt(risk: RollingRisk, k: number, covariance: Float64Array): void {
  const runVariance = covariance[0]!;
  const crossCovariance = covariance[1]!;
  const indexVariance = covariance[SERIES_COUNT + 1]!;
  risk.beta[k] = indexVariance < VARIANCE_MIN ? 0 : crossCovariance / indexVariance;
  risk.correlation[k] =
    runVariance < VARIANCE_MIN || indexVariance < VARIANCE_MIN
      ? 0
      : Math.min(1, Math.max(-1, crossCovariance / Math.sqrt(runVariance * indexVariance)));
}

/**
 * Computes the annualised standard deviation of the trailing returns at each date.
 * @param returns [n]
 * @param window number of returns, at least 2
 * @param periodsPerYear sessions of a year
 * @returns one value per complete window, the first at return `window - 1`, [n - window + 1]; none with fewer returns
 * @cost O(n window)
 */
export function computeRollingVolatility(
  returns: Float64Array,
  window: number,
  periodsPerYear: number = LIMITS.PERIODS_PER_YEAR,
): Float64Array {
  const scale = Math.sqrt(periodsPerYear);
  const values = new Float64Array(Math.max(0, returns.length - window + 1));
  for (let i = 0; i < values.length; i++) values[i] = computeDeviation(returns.subarray(i, i + window)) * scale;
  return values;
}

export interface MonthReturn {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly value: number;
}

/**
 * Computes the return of each calendar month. It is the last level of the month over the last level of the previous
 * month. For the first month it is the last level over the first level.
 * @returns months ascending; they compound to the total return.
 */
export function computeMonthlyReturns(days: Int32Array, level: Float64Array): MonthReturn[] {
  const months: MonthReturn[] = [];
  let start = level[0]!;
  for (let t = 1; t < level.length; t++) {
    const { year, month } = toCivilDate(days[t]!);
    const next = t + 1 < level.length ? toCivilDate(days[t + 1]!) : null;
    if (next?.month === month && next.year === year) continue;
    months.push({ year, month, value: level[t]! / start - 1 });
    start = level[t]!;
  }
  return months;
}
