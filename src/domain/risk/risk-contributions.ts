import { estimatePeriodsPerYear } from '../calendars/periods-per-year.js';
import type { Engine } from '#kernels/engines/engine.js';
import {
  estimateLowRankCovariance,
  multiplyLowRank,
  type LowRankCovariance,
  type SampleMoments,
  type Shrinkage,
} from '#kernels/moments/low-rank-covariance.js';
import { createMeasureCache } from './measure-cache.js';
import { assertEstimable, findCoverage, readReturns, type ReturnWindow } from './return-panel.js';

/** Weights by market column. */
export type Positions = ReadonlyMap<number, number>;

/** Volatility with the contribution of each security. */
export interface RiskShares {
  /**
   * Annualised volatility. The weights of the covered securities are scaled to the weight of all securities, so that
   * securities without an estimate do not count as riskless.
   */
  readonly volatility: number;
  /**
   * Weight of the covered holdings. For active positions, it is the covered fraction of the sum of their magnitudes.
   */
  readonly coveredWeight: number;
  /** Contribution of each covered security by column. The contributions sum to the volatility, and are 0 if it is 0. */
  readonly contributions: ReadonlyMap<number, number>;
  /** Market columns without an estimate, ascending. */
  readonly uncovered: readonly number[];
  /** Number of sessions whose returns the covariance is estimated from; 0 without positions. */
  readonly observations: number;
}

/**
 * Computes the volatility of holdings and its decomposition RC_i = w_i (Sigma w)_i / sigma. Sigma is the default
 * covariance of the window (constant correlation, intensity by shape, total returns). Allocates no n x n matrix. Cash
 * has no risk.
 * @param weights weights of the holdings; securities of weight 0 are excluded.
 * @param absent sum of the magnitudes of further weights, of securities that the market does not have
 * @throws Refusal RISK_INSUFFICIENT_DATA
 * @cost four passes over the returns, [T x n]; three for securities whose returns on these sessions were measured
 * before
 */
export function computeRisk(engine: Engine, window: ReturnWindow, weights: Positions, absent = 0): RiskShares {
  const positions = listHoldings(weights);
  return addCoverage(computeShares(engine, window, [positions])[0]!, positions, absent);
}

/**
 * Computes the volatility as `computeRisk` does. Also computes the tracking error against a benchmark and decomposes it
 * by active weights over the securities of both portfolios. A benchmark without further securities adds no cost.
 * @throws Refusal RISK_INSUFFICIENT_DATA
 * @cost four passes over the returns, [T x n], and four more if the benchmark has further securities
 */
export function computeRisks(
  engine: Engine,
  window: ReturnWindow,
  weights: Positions,
  benchmark: Positions,
  absent: { readonly risk: number; readonly active: number } = { risk: 0, active: 0 },
): { readonly risk: RiskShares; readonly active: RiskShares } {
  const holdings = listHoldings(weights);
  const activePositions = computeActivePositions(weights, benchmark);
  const [ofOwn, ofActive] =
    holdings.size === activePositions.size
      ? computeShares(engine, window, [holdings, activePositions])
      : [...computeShares(engine, window, [holdings]), ...computeShares(engine, window, [activePositions])];
  return {
    risk: addCoverage(ofOwn!, holdings, absent.risk),
    active: {
      ...scaleToAll(ofActive!, activePositions, absent.active),
      coveredWeight: computeCoveredShare(activePositions, ofActive!.contributions.keys(), absent.active),
    },
  };
}

/** Returns the covered fraction of the total absolute active weight. Returns 1 if no weight is active. */
export function computeCoveredShare(active: Positions, covered: Iterable<number>, absent = 0): number {
  const gross = new Map([...active].map(([column, weight]) => [column, Math.abs(weight)]));
  const total = sumOver(gross.keys(), gross) + absent;
  return total === 0 ? 1 : sumOver(covered, gross) / total;
}

function addCoverage(shares: Shares, positions: Positions, absent: number): RiskShares {
  return { ...scaleToAll(shares, positions, absent), coveredWeight: sumOver(shares.contributions.keys(), positions) };
}

/** Scales volatility and contributions of the covered securities to the weights of all securities. */
function scaleToAll(shares: Shares, positions: Positions, absent: number): Shares {
  const coveredShare = computeCoveredShare(positions, shares.contributions.keys(), absent);
  const scale = computeFullScale(coveredShare);
  if (scale === 1) return shares;
  const contributions = new Map([...shares.contributions].map(([column, part]) => [column, scale * part]));
  return { ...shares, volatility: scale * shares.volatility, contributions };
}

/**
 * Returns the factor by which the weights of covered securities are multiplied to stand for all securities. It is 1 if
 * nothing is covered.
 * @param coveredShare covered fraction of the sum of absolute weights
 */
export function computeFullScale(coveredShare: number): number {
  return coveredShare > 0 ? 1 / coveredShare : 1;
}

/** Returns weight less benchmark weight for each security of either portfolio, by ascending column. */
export function computeActivePositions(weights: Positions, benchmark: Positions): Map<number, number> {
  const union = [...new Set([...listHoldings(weights).keys(), ...listHoldings(benchmark).keys()])].toSorted(
    (a, b) => a - b,
  );
  return new Map(union.map((column) => [column, (weights.get(column) ?? 0) - (benchmark.get(column) ?? 0)]));
}

/**
 * Returns the securities with a nonzero weight by ascending column. Sums then do not depend on the order of the input.
 */
function listHoldings(weights: Positions): Map<number, number> {
  return new Map([...weights].filter(([, weight]) => weight !== 0).toSorted(([a], [b]) => a - b));
}

function sumOver(columns: Iterable<number>, weights: Positions): number {
  let total = 0;
  for (const column of columns) total += weights.get(column)!;
  return total;
}

type Shares = Omit<RiskShares, 'coveredWeight'>;

const cacheMoments = createMeasureCache<SampleMoments>();

/** Decomposes several positions in the same columns with a single covariance. */
function computeShares(engine: Engine, window: ReturnWindow, several: readonly [Positions, ...Positions[]]): Shares[] {
  if (several[0].size === 0)
    return several.map(() => ({ volatility: 0, contributions: new Map(), uncovered: [], observations: 0 }));
  const coverage = findCoverage(window, [...several[0].keys()]);
  assertEstimable(window, coverage);
  const { columns } = coverage;
  return engine.scope(() => {
    const panel = engine.room(coverage.sessions.length * columns.length);
    readReturns(window, coverage, panel, engine);
    const terms = { engine: engine.name, to: window.to, columns, sessions: coverage.sessions };
    const covariance = estimateDefaultCovariance(engine, panel, columns.length, {
      scale: estimatePeriodsPerYear(window.sm.sessions),
      remember: (measure) => cacheMoments(window.growth, terms, measure),
    });
    return several.map((positions) => {
      const { volatility, shares } = computeContributions(
        engine,
        covariance,
        Float64Array.from(columns, (column) => positions.get(column)!),
      );
      return {
        volatility,
        contributions: new Map(Array.from(columns, (column, k) => [column, shares[k]!])),
        uncovered: [...coverage.excluded.keys()],
        observations: coverage.sessions.length,
      };
    });
  });
}

/** Estimates the default covariance: constant correlation, intensity by shape, annualised. Overwrites the panel. */
function estimateDefaultCovariance(
  engine: Engine,
  panel: Float64Array,
  assetCount: number,
  { scale, remember }: Required<Pick<Shrinkage, 'scale' | 'remember'>>,
): LowRankCovariance {
  return estimateLowRankCovariance(engine, panel, assetCount, {
    target: 'constant_correlation',
    intensity: null,
    method: 'shape',
    scale,
    remember,
  });
}

function computeContributions(
  engine: Engine,
  covariance: LowRankCovariance,
  weights: Float64Array,
): { readonly volatility: number; readonly shares: Float64Array } {
  const shares = new Float64Array(weights.length);
  multiplyLowRank(engine, covariance, weights, shares);
  let variance = 0;
  for (let i = 0; i < weights.length; i++) {
    shares[i]! *= weights[i]!;
    variance += shares[i]!;
  }
  // Rounding may make a variance of 0 slightly negative. There is then no risk to decompose.
  const volatility = Math.sqrt(Math.max(variance, 0));
  if (volatility === 0) return { volatility: 0, shares: shares.fill(0) };
  for (let i = 0; i < weights.length; i++) shares[i]! /= volatility;
  return { volatility, shares };
}
