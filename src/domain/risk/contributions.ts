import { isEqual } from '../base/numbers.js';
import type { Engine, EngineName } from '#kernels/engines/engine.js';
import {
  estimateLowRankCovariance,
  type LowRankCovariance,
  multiplyLowRank,
  type SampleMoments,
  type Shrinkage,
} from '#kernels/moments/low-rank-covariance.js';
import { compareText } from '../base/findings.js';
import { estimatePeriodsPerYear } from '../calendars/calendar.js';
import {
  CACHED_COMPONENTS,
  computePrincipalFactors,
  computePrincipalParts,
  computeSectorFactors,
  estimateFactors,
  findSector,
  type PrincipalParts,
} from './factors.js';
import { FACTOR_ESTIMATORS, type FactorModel } from './model-terms.js';
import { assertEstimable, findCoverage, readReturns, type ReturnWindow } from './return-panel.js';
import { type StoredModel, unpackRow } from './stored-models.js';

/** Inputs of a measurement in addition to the growth panel. */
export interface MeasureTerms {
  readonly engine: EngineName;
  /** Number of principal components; only for their measurement. */
  readonly components?: number;
  /** Last session of the window, whose sectors apply. */
  readonly to: number;
  /** Covered securities and sessions. */
  readonly columns: Int32Array;
  readonly sessions: Int32Array;
}

/**
 * Returns the cached measurement of a panel under given terms. If there is none, measures the panel. A cached
 * measurement is bit-identical to a new one.
 */
export type MeasureCache<T> = (growth: Float64Array, terms: MeasureTerms, measure: () => T) => T;

/**
 * Maximum number of cached measurements per panel. It suffices for one index between two rebalances, or for indices
 * with equal securities. Each has less than 0.5 MB.
 */
const ENTRIES_MAX = 8;

interface Entry<T> {
  readonly terms: MeasureTerms;
  readonly value: T;
}

/** Creates a cache of the latest measurements of each panel. The entries exist as long as the panel. */
function createMeasureCache<T>(): MeasureCache<T> {
  /** ordered from least to most recently used */
  const entriesByGrowth = new WeakMap<Float64Array, Entry<T>[]>();
  return (growth, terms, measure) => {
    const entries = entriesByGrowth.get(growth) ?? [];
    const position = entries.findIndex((one) => isSame(one.terms, terms));
    const result = position < 0 ? { terms, value: measure() } : entries.splice(position, 1)[0]!;
    entries.push(result);
    if (entries.length > ENTRIES_MAX) entries.shift();
    entriesByGrowth.set(growth, entries);
    return result.value;
  };
}

function isSame(a: MeasureTerms, b: MeasureTerms): boolean {
  return (
    a.engine === b.engine &&
    a.components === b.components &&
    a.to === b.to &&
    isEqual(a.columns, b.columns) &&
    isEqual(a.sessions, b.sessions)
  );
}

export type WeightByColumn = ReadonlyMap<number, number>;

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
export function computeRisk(engine: Engine, window: ReturnWindow, weights: WeightByColumn, absent = 0): RiskShares {
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
  weights: WeightByColumn,
  benchmark: WeightByColumn,
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
function computeCoveredShare(active: WeightByColumn, covered: Iterable<number>, absent = 0): number {
  const gross = new Map([...active].map(([column, weight]) => [column, Math.abs(weight)]));
  const total = sumOver(gross.keys(), gross) + absent;
  return total === 0 ? 1 : sumOver(covered, gross) / total;
}

function addCoverage(shares: Shares, positions: WeightByColumn, absent: number): RiskShares {
  return { ...scaleToAll(shares, positions, absent), coveredWeight: sumOver(shares.contributions.keys(), positions) };
}

function scaleToAll(shares: Shares, positions: WeightByColumn, absent: number): Shares {
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
function computeFullScale(coveredShare: number): number {
  return coveredShare > 0 ? 1 / coveredShare : 1;
}

/** Returns weight less benchmark weight for each security of either portfolio, by ascending column. */
function computeActivePositions(weights: WeightByColumn, benchmark: WeightByColumn): Map<number, number> {
  const union = [...new Set([...listHoldings(weights).keys(), ...listHoldings(benchmark).keys()])].toSorted(
    (a, b) => a - b,
  );
  return new Map(union.map((column) => [column, (weights.get(column) ?? 0) - (benchmark.get(column) ?? 0)]));
}

/**
 * Returns the securities with a nonzero weight by ascending column. Sums then do not depend on the order of the input.
 */
function listHoldings(weights: WeightByColumn): Map<number, number> {
  return new Map([...weights].filter(([, weight]) => weight !== 0).toSorted(([a], [b]) => a - b));
}

function sumOver(columns: Iterable<number>, weights: WeightByColumn): number {
  let total = 0;
  for (const column of columns) total += weights.get(column)!;
  return total;
}

type Shares = Omit<RiskShares, 'coveredWeight'>;

const cacheMoments = createMeasureCache<SampleMoments>();

/** Decomposes several positions in the same columns with a single covariance. */
function computeShares(
  engine: Engine,
  window: ReturnWindow,
  several: readonly [WeightByColumn, ...WeightByColumn[]],
): Shares[] {
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

export const FACTOR_MODELS = ['market_sector', ...FACTOR_ESTIMATORS] as const;
export type FactorModelName = (typeof FACTOR_MODELS)[number];

/** Variance of total or active weights, split into a factor part and a specific part. */
export interface FactorSplit {
  readonly factors: readonly string[];
  /** Exposure of the weights to each factor, B'w. */
  readonly exposures: Readonly<Record<string, number>>;
  /** Share of each factor in the factor variance. The shares sum to 1, or are 0 if that variance is 0. */
  readonly contributions: Readonly<Record<string, number>>;
  readonly factorVariance: number;
  readonly specificVariance: number;
  readonly totalVariance: number;
  /** Ratio of factor variance to total variance; 0 if the total variance is 0. */
  readonly factorShare: number;
  /** Square root of the total variance; a tracking error for active weights. */
  readonly volatility: number;
}

export interface FactorRisk extends FactorSplit {
  readonly model: FactorModelName;
  /** Covered fraction of the sum of absolute weights, active with a benchmark. */
  readonly coveredWeight: number;
  /** Market columns without an estimate, ascending. */
  readonly uncovered: readonly number[];
  /** Number of sessions whose returns the model is estimated from. */
  readonly observations: number;
}

export interface FactorRiskRequest {
  readonly weights: WeightByColumn;
  /** Weights of the benchmark; empty for the total variance of the holdings. */
  readonly benchmark: WeightByColumn;
  /** Sum of the magnitudes of further weights, of securities that the market does not have. Default: 0. */
  readonly absent?: number;
  readonly model: FactorModelName;
  /** Number of principal components of the statistical model. */
  readonly factors: number;
}

const cacheSectors = createMeasureCache<FactorModel>();
const estimateCaches = { industries: createMeasureCache<FactorModel>(), styles: createMeasureCache<FactorModel>() };
const cacheParts = createMeasureCache<PrincipalParts>();

/**
 * Decomposes the variance of holdings, or their active variance against a benchmark. The weights of the
 * covered securities are scaled to the weight of all securities.
 * Exposures are those known on the last session of the window.
 * @throws Refusal RISK_INSUFFICIENT_DATA
 * @cost four passes over the returns; the statistical model solves an eigenproblem of min(securities, observations).
 * The model is cached by securities and sessions, so other weights need no new estimate.
 */
export function computeFactorRisk(
  engine: Engine,
  window: ReturnWindow,
  { weights, benchmark, absent = 0, model, factors }: FactorRiskRequest,
): FactorRisk {
  const activePositions = computeActivePositions(weights, benchmark);
  const coverage = findCoverage(window, [...activePositions.keys()]);
  assertEstimable(window, coverage);
  if (weights.size > 0) assertEstimable(window, findCoverage(window, [...weights.keys()])); // without holdings, only the benchmark is measured
  const { columns, sessions, excluded } = coverage;
  const periods = estimatePeriodsPerYear(window.sm.sessions);
  const terms = { engine: engine.name, to: window.to, columns, sessions };
  const measurePanel = <T>(measure: (panel: Float64Array) => T): T =>
    engine.scope(() => {
      const panel = engine.room(sessions.length * columns.length);
      readReturns(window, coverage, panel, engine);
      return measure(panel);
    });
  const estimateValue = (estimator: 'industries' | 'styles') =>
    estimateCaches[estimator](window.growth, terms, () =>
      measurePanel((panel) => estimateFactors(engine, window, coverage, { estimator, half_life: null }, panel).model),
    );
  const componentCount = Math.max(factors, CACHED_COMPONENTS);
  const models: Readonly<Record<FactorModelName, () => FactorModel>> = {
    statistical: () =>
      computePrincipalFactors(
        cacheParts(window.growth, { ...terms, components: componentCount }, () =>
          measurePanel((panel) => computePrincipalParts(engine, panel, columns.length, componentCount)),
        ),
        factors,
        periods,
      ),
    market_sector: () =>
      cacheSectors(window.growth, terms, () =>
        measurePanel((panel) =>
          computeSectorFactors(
            engine,
            panel,
            Array.from(columns, (column) => findSector(window, column)),
            periods,
          ),
        ),
      ),
    industries: () => estimateValue('industries'),
    styles: () => estimateValue('styles'),
  };
  const coveredWeight = computeCoveredShare(activePositions, columns, absent);
  const scale = computeFullScale(coveredWeight);
  const split = splitByFactors(
    models[model](),
    Float64Array.from(columns, (column) => scale * activePositions.get(column)!),
  );
  return {
    model,
    ...split,
    coveredWeight,
    uncovered: [...excluded.keys()],
    observations: sessions.length,
  };
}

/**
 * Splits the variance of weights by factor.
 * @param weights total or active weights in the order of the model, [n]
 */
function splitByFactors(
  { factors, exposures: b, covariance, specific }: FactorModel,
  weights: Float64Array,
): FactorSplit {
  const K = factors.length;
  const exposures = new Float64Array(K);
  let specificVariance = 0;
  for (let i = 0; i < weights.length; i++) {
    for (let k = 0; k < K; k++) exposures[k]! += b[i * K + k]! * weights[i]!;
    specificVariance += weights[i]! * weights[i]! * specific[i]!;
  }
  const varianceParts = Float64Array.from(exposures, (exposure, k) => exposure * multiplyRow(covariance, k, exposures));
  const factorVariance = Math.max(
    0,
    varianceParts.reduce((total, part) => total + part, 0),
  );
  const totalVariance = factorVariance + specificVariance;
  return {
    factors,
    exposures: Object.fromEntries(factors.map((factor, k) => [factor, exposures[k]!])),
    contributions: Object.fromEntries(
      factors.map((factor, k) => [factor, factorVariance === 0 ? 0 : varianceParts[k]! / factorVariance]),
    ),
    factorVariance,
    specificVariance,
    totalVariance,
    factorShare: totalVariance === 0 ? 0 : factorVariance / totalVariance,
    volatility: Math.sqrt(totalVariance),
  };
}

function multiplyRow(matrix: Float64Array, row: number, vector: Float64Array): number {
  let total = 0;
  for (let k = 0; k < vector.length; k++) total += matrix[row * vector.length + k]! * vector[k]!;
  return total;
}

/** Volatility under a stored model, with the contribution of each security. */
export interface ModelShares {
  /** Annualised volatility. The weights of the securities in the model are scaled to the weight of all securities. */
  readonly volatility: number;
  /** Contribution of each security in the model. The contributions sum to the volatility, and are 0 if it is 0. */
  readonly contributions: ReadonlyMap<string, number>;
  /** Securities without an estimate, ascending. */
  readonly uncovered: readonly string[];
}

/**
 * Computes the volatility of weights and its Euler decomposition: w_i (Sigma w)_i / sigma.
 * @param weights weights by security; active weights give a tracking error
 * @cost n of the N rows of the model
 */
export function computeModelShares(
  { names, ...model }: StoredModel,
  weights: ReadonlyMap<string, number>,
): ModelShares {
  const covariance = model.covariance();
  const scale = computeFullScale(computeCoveredFraction(names, weights));
  const w = Float64Array.from(names, (name) => scale * (weights.get(name) ?? 0));
  const row = new Float64Array(names.length);
  const varianceParts = new Map<string, number>();
  let variance = 0;
  names.forEach((name, i) => {
    if (!weights.has(name)) return;
    let marginal = 0;
    if (w[i] !== 0) {
      unpackRow(covariance, i, row);
      for (let j = 0; j < w.length; j++) marginal += row[j]! * w[j]!;
    }
    varianceParts.set(name, w[i]! * marginal);
    variance += w[i]! * marginal;
  });
  const volatility = Math.sqrt(Math.max(variance, 0));
  return {
    volatility,
    contributions: new Map([...varianceParts].map(([name, part]) => [name, volatility === 0 ? 0 : part / volatility])),
    uncovered: [...weights.keys()].filter((name) => !varianceParts.has(name)).toSorted(compareText),
  };
}

/** Returns the fraction of the sum of absolute weights that some securities have; 1 without weights. */
function computeCoveredFraction(names: Iterable<string>, weights: ReadonlyMap<string, number>): number {
  const sumGross = (identifiers: Iterable<string>): number => {
    let sum = 0;
    for (const name of identifiers) sum += Math.abs(weights.get(name) ?? 0);
    return sum;
  };
  const total = sumGross([...weights.keys()].toSorted(compareText));
  const isCovered = new Set(names);
  const covered = sumGross([...weights.keys()].filter((name) => isCovered.has(name)).toSorted(compareText));
  return total === 0 ? 1 : covered / total;
}

/** Returns weight less benchmark weight for each security of either portfolio, ascending. */
export function computeActiveByName(
  weights: ReadonlyMap<string, number>,
  benchmark: ReadonlyMap<string, number>,
): Map<string, number> {
  const identifiers = [...new Set([...weights.keys(), ...benchmark.keys()])].toSorted(compareText);
  return new Map(identifiers.map((name) => [name, (weights.get(name) ?? 0) - (benchmark.get(name) ?? 0)]));
}

/** Variance of total or active weights, decomposed by the factors of a stored model. */
export interface ModelFactorRisk extends FactorSplit {
  /** Covered fraction of the sum of absolute weights. */
  readonly coveredWeight: number;
  /** Securities without an estimate, ascending. */
  readonly uncovered: readonly string[];
}

/**
 * Decomposes the variance of weights with a factor model. The weights of the securities in the model are scaled to the
 * weight of all securities.
 * @param names securities of the model, [n]
 * @param weights total weights, or weights less benchmark weights
 */
export function computeModelFactorRisk(
  model: FactorModel,
  names: readonly string[],
  weights: ReadonlyMap<string, number>,
): ModelFactorRisk {
  const modelNames = new Set(names);
  const coveredWeight = computeCoveredFraction(names, weights);
  const scale = computeFullScale(coveredWeight);
  return {
    ...splitByFactors(
      model,
      Float64Array.from(names, (name) => scale * (weights.get(name) ?? 0)),
    ),
    coveredWeight,
    uncovered: [...weights.keys()].filter((name) => !modelNames.has(name)).toSorted(compareText),
  };
}
