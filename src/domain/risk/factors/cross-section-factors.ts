import { regressCrossSection } from '#kernels/moments/cross-section-regression.js';
import { compareText } from '../../refusals/findings.js';
import { LIMITS } from '../../refusals/limits.js';
import type { FactorFit, FactorModel } from '../factor-model.js';

/** Factor to which every security has exposure 1. */
export const MARKET_FACTOR = 'MARKET';

/** Magnitude of a t-statistic that counts as significant. */
const SIGNIFICANT_T = 2;

/** Rows of a return panel. They are regressed on exposures that were known before the first of them. */
export interface RegressedSpan {
  /** Range of panel rows: first row, and row after the last. */
  readonly from: number;
  readonly to: number;
  /** Style exposures, [n x P]. */
  readonly styles: Float64Array;
  /** Regression weights of the securities, above 0, [n]. */
  readonly weights: Float64Array;
}

export interface CrossSectionFactorsInput {
  /** Returns, [T x n]; overwritten by the residuals. */
  readonly panel: Float64Array;
  /** Sector of each security, [n]. */
  readonly sectors: readonly string[];
  readonly styleNames: readonly string[];
  /** Spans that together cover all panel rows. */
  readonly spans: readonly RegressedSpan[];
  /** Style exposures at the end of the panel, [n x P]. */
  readonly exposures: Float64Array;
  /** Observation weights, [T], with sum 1. */
  readonly weights: Float64Array;
  /** Sessions of a year. Default: 252. */
  readonly periods?: number;
}

/**
 * Estimates a factor model with market, sector and style factors. The returns of each session are regressed on a
 * constant, sector dummies and style exposures. Sector returns average zero.
 * @cost of the regressions: T n (S + P), and n (S + P)^2 per span
 */
export function estimateCrossSectionFactors(
  input: CrossSectionFactorsInput,
): FactorModel & { readonly fit: FactorFit } {
  const { panel, sectors, styleNames, exposures: styleExposures, weights, periods = LIMITS.PERIODS_PER_YEAR } = input;
  const scale = computeUnbiasedScale(weights, periods);
  const n = sectors.length;
  const { labels, sectorAt } = labelSectors(sectors);
  const [S, P] = [labels.length, styleNames.length];
  const K = 1 + S + P;
  const { returns, fit } = estimateFactorReturns(input, sectorAt, S);
  return {
    factors: listFactorNames(labels, styleNames),
    exposures: createExposures(sectorAt, styleExposures, S, P),
    covariance: computeWeightedCovariance(returns, K, { weights, scale }),
    specific: computeWeightedVariances(panel, n, { weights, scale }),
    fit,
  };
}

/** Returns the sector labels, ascending, and for each security the position of its label. */
export function labelSectors(sectors: readonly string[]): { readonly labels: string[]; readonly sectorAt: Int32Array } {
  const labels = [...new Set(sectors)].toSorted(compareText);
  const positionByLabel = new Map(labels.map((label, place) => [label, place]));
  return { labels, sectorAt: Int32Array.from(sectors, (sector) => positionByLabel.get(sector)!) };
}

export function listFactorNames(sectors: readonly string[], styles: readonly string[]): string[] {
  const otherNames = new Set([MARKET_FACTOR, ...styles]);
  return [MARKET_FACTOR, ...sectors.map((label) => (otherNames.has(label) ? `SECTOR ${label}` : label)), ...styles];
}

/** Returns the exposures to market, sectors and styles, [n x (1 + S + P)]. */
export function createExposures(sectorAt: Int32Array, styles: Float64Array, S: number, P: number): Float64Array {
  const K = 1 + S + P;
  const exposures = new Float64Array(sectorAt.length * K);
  sectorAt.forEach((sector, i) => {
    exposures[i * K] = exposures[i * K + 1 + sector] = 1;
    exposures.set(styles.subarray(i * P, (i + 1) * P), i * K + 1 + S);
  });
  return exposures;
}

/** Computes the returns of market, sectors and styles, [T x K], and the fit. Overwrites the panel by the residuals. */
export function estimateFactorReturns(
  { panel, styleNames: { length: P }, spans }: Pick<CrossSectionFactorsInput, 'panel' | 'styleNames' | 'spans'>,
  sectorAt: Int32Array,
  S: number,
): { readonly returns: Float64Array; readonly fit: FactorFit } {
  const n = sectorAt.length;
  const [p, K] = [S + P, 1 + S + P];
  const observationCount = panel.length / n;
  const returns = new Float64Array(observationCount * K);
  const tSums = new Float64Array(K);
  const significant = new Float64Array(K);
  const coefficients = new Float64Array(p);
  let rSquared = 0;
  for (const { from, to, styles, weights } of spans) {
    const regression = regressCrossSection(createDesign(sectorAt, styles, S, P), weights);
    const spread = combineVariances(regression.inverse, S, P);
    for (let t = from; t < to; t++) {
      const { residualVariance, rSquared: share } = regression.fit(panel.subarray(t * n, (t + 1) * n), coefficients);
      rSquared += share / observationCount;
      const row = returns.subarray(t * K, (t + 1) * K);
      combineCoefficients(coefficients, S, row);
      for (let k = 0; k < K; k++) {
        const error = Math.sqrt(residualVariance * spread[k]!);
        const magnitude = error > 0 ? Math.abs(row[k]!) / error : 0;
        tSums[k]! += magnitude / observationCount;
        if (magnitude > SIGNIFICANT_T) significant[k]! += 1 / observationCount;
      }
    }
  }
  return { returns, fit: { rSquared, tStatistics: tSums, significant } };
}

/** Returns the regression design: sector dummies and style exposures, [n x (S + P)]. */
function createDesign(sectorAt: Int32Array, styles: Float64Array, S: number, P: number): Float64Array {
  const p = S + P;
  const design = new Float64Array(sectorAt.length * p);
  sectorAt.forEach((sector, i) => {
    design[i * p + sector] = 1;
    design.set(styles.subarray(i * P, (i + 1) * P), i * p + S);
  });
  return design;
}

/**
 * Writes factor returns from regression coefficients. The market return is the mean of the sector returns. A sector
 * factor return is the sector return in excess of it.
 */
function combineCoefficients(coefficients: Float64Array, S: number, out: Float64Array): void {
  let market = 0;
  for (let s = 0; s < S; s++) market += coefficients[s]! / S;
  out[0] = market;
  for (let k = 0; k < coefficients.length; k++) out[1 + k] = coefficients[k]! - (k < S ? market : 0);
}

/** Returns the variances of the factor returns relative to the residual variance, [K]. */
function combineVariances(inverse: Float64Array, S: number, P: number): Float64Array {
  const p = S + P;
  const variances = new Float64Array(1 + p);
  const row = new Float64Array(p);
  for (let k = 0; k <= p; k++) {
    // weights of the regression coefficients in factor k
    row.fill(0);
    if (k === 0) row.fill(1 / S, 0, S);
    else {
      if (k <= S) row.fill(-1 / S, 0, S);
      row[k - 1]! += 1;
    }
    let variance = 0;
    for (let i = 0; i < p; i++) for (let j = 0; j < p; j++) variance += row[i]! * inverse[i * p + j]! * row[j]!;
    variances[k] = Math.max(0, variance);
  }
  return variances;
}

interface ObservationWeights {
  /** [T]. */
  readonly weights: Float64Array;
  /** Factor on the weighted sum of squares. */
  readonly scale: number;
}

/** Returns the annualised covariance of factor returns: sum w (f - m)(f - m)' / (1 - sum w^2). */
function computeWeightedCovariance(
  returns: Float64Array,
  K: number,
  { weights, scale }: ObservationWeights,
): Float64Array {
  const centredReturns = centreColumns(returns, K, weights);
  const covariance = new Float64Array(K * K);
  for (let t = 0; t < weights.length; t++)
    for (let k = 0; k < K; k++) {
      const value = scale * weights[t]! * centredReturns[t * K + k]!;
      for (let l = 0; l < K; l++) covariance[k * K + l]! += value * centredReturns[t * K + l]!;
    }
  // The matrix is mirrored. Products in either order may differ in their last digit.
  for (let k = 0; k < K; k++) for (let l = 0; l < k; l++) covariance[k * K + l] = covariance[l * K + k]!;
  return covariance;
}

function computeWeightedVariances(
  residuals: Float64Array,
  n: number,
  { weights, scale }: ObservationWeights,
): Float64Array {
  const centredResiduals = centreColumns(residuals, n, weights);
  const variances = new Float64Array(n);
  for (let t = 0; t < weights.length; t++)
    for (let i = 0; i < n; i++) variances[i]! += scale * weights[t]! * centredResiduals[t * n + i]! ** 2;
  return variances;
}

function centreColumns(panel: Float64Array, columnCount: number, weights: Float64Array): Float64Array {
  const means = new Float64Array(columnCount);
  for (let t = 0; t < weights.length; t++)
    for (let k = 0; k < columnCount; k++) means[k]! += weights[t]! * panel[t * columnCount + k]!;
  return panel.map((value, position) => value - means[position % columnCount]!);
}

/** Returns the scale of an unbiased annual variance: periods of a year over 1 - sum w^2. */
function computeUnbiasedScale(weights: Float64Array, periodsPerYear: number): number {
  return periodsPerYear / (1 - weights.reduce((sum, weight) => sum + weight * weight, 0));
}
