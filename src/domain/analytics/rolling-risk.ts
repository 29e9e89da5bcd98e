import type { Engine } from '#kernels/engines/engine.js';
import { exponentialCovariance, rollingCovariance } from '#kernels/moments/running-covariance.js';
import { LIMITS } from '../limits.js';

/** How risk moves along a run, a value for each date that has enough returns behind it. */
export interface RollingRisk {
  /** Position of each value in the levels. */
  readonly at: readonly number[];
  readonly volatility: readonly number[];
  readonly indexVolatility: readonly number[];
  readonly trackingError: readonly number[];
  /** Of the run on the index; 0 where the index does not move. */
  readonly beta: readonly number[];
  /** 0 where one of them does not move. */
  readonly correlation: readonly number[];
}

/** Either a window of returns or a half-life in sessions. */
export type RiskMemory = { readonly window: number } | { readonly halfLife: number };

/** Variance of an index below which it does not move. */
const STILL = 1e-18;

/**
 * Rolling risk of a level beside the index it tracks, on the same dates.
 * @param level run, [T].
 * @param index tracked index, [T].
 * @cost O(T), whatever the window
 */
export function rollingRisk(engine: Engine, level: Float64Array, index: Float64Array, memory: RiskMemory): RollingRisk {
  const returns = new Float64Array(2 * Math.max(0, level.length - 1));
  for (let t = 0; t + 1 < level.length; t++) {
    returns[2 * t] = level[t + 1]! / level[t]! - 1;
    returns[2 * t + 1] = index[t + 1]! / index[t]! - 1;
  }
  const at: number[] = [];
  const covariances: number[][] = [];
  const visit = (last: number, _means: Float64Array, covariance: Float64Array): void => {
    at.push(last + 1);
    covariances.push([covariance[0]!, covariance[1]!, covariance[3]!]);
  };
  if ('window' in memory) rollingCovariance(engine, returns, 2, memory.window, visit);
  else exponentialCovariance(engine, returns, 2, memory.halfLife, visit);

  const annual = (variance: number): number => Math.sqrt(Math.max(0, variance) * LIMITS.PERIODS_PER_YEAR);
  return {
    at,
    volatility: covariances.map(([own]) => annual(own!)),
    indexVolatility: covariances.map(([, , other]) => annual(other!)),
    trackingError: covariances.map(([own, both, other]) => annual(own! - 2 * both! + other!)),
    beta: covariances.map(([, both, other]) => (other! < STILL ? 0 : both! / other!)),
    correlation: covariances.map(([own, both, other]) => (own! < STILL || other! < STILL ? 0 : Math.min(1, Math.max(-1, both! / Math.sqrt(own! * other!))))),
  };
}
