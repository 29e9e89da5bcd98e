import { estimatePeriodsPerYear } from '../calendars/periods-per-year.js';
import type { Engine } from '#kernels/engines/engine.js';
import { FACTOR_ESTIMATORS, type FactorModel } from './factor-model.js';
import { createMeasureCache } from './measure-cache.js';
import {
  CACHED_COMPONENTS,
  computePrincipalFactors,
  computePrincipalParts,
  type PrincipalParts,
} from './principal-factors.js';
import { assertEstimable, findCoverage, readReturns, type ReturnWindow } from './return-panel.js';
import { computeActivePositions, computeCoveredShare, computeFullScale, type Positions } from './risk-contributions.js';
import { computeSectorFactors } from './sector-factors.js';
import { estimateFactors } from './factors/estimate-factors.js';
import { findSector } from './factors/sectors.js';

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
  readonly weights: Positions;
  /** Weights of the benchmark; empty for the total variance of the holdings. */
  readonly benchmark: Positions;
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
export function splitByFactors(
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
