import { LIMITS } from '../refusals/limits.js';
import type { Engine } from '#kernels/engines/engine.js';
import { compareText } from '../refusals/findings.js';
import type { FactorModel } from './factor-model.js';
import { computeAnnualCovariance, computeAnnualVariances } from './annual-moments.js';

/** Engine functions for regressions on groups. */
type GroupEngine = Pick<Engine, 'centreGroups' | 'columnDeviations'>;

/** Factor to which every security has exposure 1. */
const MARKET_FACTOR = 'MARKET';

/**
 * Estimates market and sector factors. The returns of each session are regressed on a constant and sector dummies, with
 * equal weights. Sector returns average zero. The fitted return of a sector is therefore the mean over its securities,
 * and the market return is the mean over sectors.
 * @param panel [T x n] returns; overwritten by the residuals.
 * @param sectors sector of each security, [n].
 * @param periodsPerYear sessions of a year.
 */
export function computeSectorFactors(
  engine: GroupEngine,
  panel: Float64Array,
  sectors: readonly string[],
  periodsPerYear: number = LIMITS.PERIODS_PER_YEAR,
): FactorModel {
  const n = sectors.length;
  const labels = [...new Set(sectors)].toSorted(compareText);
  const sectorPositions = Int32Array.from(sectors, (sector) => labels.indexOf(sector));
  const K = labels.length + 1;
  const observationCount = panel.length / n;
  const means = new Float64Array(observationCount * (K - 1));
  engine.centreGroups(panel, { groupAt: sectorPositions, count: K - 1 }, means);

  const exposures = new Float64Array(n * K);
  for (let i = 0; i < n; i++) exposures[i * K] = exposures[i * K + 1 + sectorPositions[i]!] = 1;
  return {
    factors: [MARKET_FACTOR, ...labels.map((label) => (label === MARKET_FACTOR ? `SECTOR ${label}` : label))],
    exposures,
    covariance: computeAnnualCovariance(computeFactorReturns(means, K - 1), K, periodsPerYear),
    specific: computeAnnualVariances(engine, panel, n, periodsPerYear),
  };
}

/**
 * Computes the returns of the market and of each sector relative to the market, [T x K]. They follow from the mean
 * returns of the sectors, [T x K - 1].
 */
function computeFactorReturns(means: Float64Array, sectorCount: number): Float64Array {
  const observationCount = means.length / sectorCount;
  const factors = new Float64Array(observationCount * (sectorCount + 1));
  for (let t = 0; t < observationCount; t++) {
    const position = t * (sectorCount + 1);
    let market = 0;
    for (let s = 0; s < sectorCount; s++) market += means[t * sectorCount + s]! / sectorCount;
    factors[position] = market;
    for (let s = 0; s < sectorCount; s++) factors[position + 1 + s] = means[t * sectorCount + s]! - market;
  }
  return factors;
}
