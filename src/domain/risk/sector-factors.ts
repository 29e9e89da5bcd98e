import { compareText } from '../findings.js';
import type { FactorModel } from './factor-risk.js';
import { annualCovariance, annualVariances, type MomentEngine } from './annual-moments.js';

/** The factor every name is exposed to with 1. */
const MARKET = 'MARKET';

/**
 * Market and sectors as factors. Each session's returns are regressed on a constant and sector dummies, every name counting the same and
 * the sector returns averaging zero: a sector's fitted return is the mean of its names, the market's is the mean of the sectors'.
 * @param panel [T x n] returns; spent: becomes the residuals.
 * @param sectors sector of each name, [n].
 */
export function sectorFactors(engine: MomentEngine, panel: Float64Array, sectors: readonly string[]): FactorModel {
  const n = sectors.length;
  const labels = [...new Set(sectors)].toSorted(compareText);
  const sectorAt = Int32Array.from(sectors, (sector) => labels.indexOf(sector));
  const K = labels.length + 1;
  const observations = panel.length / n;
  const factorReturns = new Float64Array(observations * K);
  const counts = new Float64Array(labels.length);
  for (const s of sectorAt) counts[s]!++;
  for (let t = 0; t < observations; t++) regress(panel.subarray(t * n, (t + 1) * n), sectorAt, counts, factorReturns.subarray(t * K, (t + 1) * K));

  const exposures = new Float64Array(n * K);
  for (let i = 0; i < n; i++) exposures[i * K] = exposures[i * K + 1 + sectorAt[i]!] = 1;
  return {
    factors: [MARKET, ...labels.map((label) => (label === MARKET ? `SECTOR ${label}` : label))],
    exposures,
    covariance: annualCovariance(factorReturns, K),
    specific: annualVariances(engine, panel, n),
  };
}

/** One session: factor returns out, residuals in place. */
function regress(returns: Float64Array, sectorAt: Int32Array, counts: Float64Array, factors: Float64Array): void {
  const means = factors.subarray(1).fill(0);
  for (let i = 0; i < returns.length; i++) means[sectorAt[i]!]! += returns[i]!;
  let market = 0;
  for (let s = 0; s < means.length; s++) {
    means[s]! /= counts[s]!;
    market += means[s]! / means.length;
  }
  for (let i = 0; i < returns.length; i++) returns[i]! -= means[sectorAt[i]!]!;
  factors[0] = market;
  for (let s = 0; s < means.length; s++) means[s]! -= market;
}
