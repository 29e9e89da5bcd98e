import { describe, expect, test } from 'vitest';
import type { FactorModel } from '#domain/risk/model-terms.js';
import {
  computeFactorRisk,
  computeModelFactorRisk,
  FACTOR_MODELS,
  type FactorSplit,
} from '#domain/risk/contributions.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import { computeCovarianceByDefinition, createRandomReturns, createWindow } from './window.js';

/** Market, two sectors and a style. */
const FOUR_FACTORS: FactorModel = {
  factors: ['MARKET', 'Energy', 'Health', 'VALUE'],
  exposures: Float64Array.of(1, 1, 0, 0.5, 1, 1, 0, -1, 1, 0, 1, 1),
  covariance: Float64Array.from(
    [
      [0.04, 0.002, 0.001, -0.001],
      [0.002, 0.01, -0.003, 0.0005],
      [0.001, -0.003, 0.02, 0.002],
      [-0.001, 0.0005, 0.002, 0.005],
    ].flat(),
  ),
  specific: Float64Array.of(0.01, 0.02, 0.03),
};
const ONE_FACTOR: FactorModel = {
  factors: ['MARKET'],
  exposures: Float64Array.of(1, 0.5),
  covariance: Float64Array.of(0.04),
  specific: Float64Array.of(0.01, 0.0225),
};
const WEIGHTS = new Map([
  ['A', 0.5],
  ['B', 0.3],
  ['C', 0.2],
]);
const NO_BENCHMARK = new Map<number, number>();
const sum = (values: Iterable<number>) => [...values].reduce((a, b) => a + b, 0);

const listContributions = ({ factors, contributions, factorVariance, specificVariance, volatility }: FactorSplit) => [
  ...factors.map((factor) => (contributions[factor]! * factorVariance) / volatility),
  specificVariance / volatility,
];

describe('total risk by the factors of a model', () => {
  test('of four factors in three groups is that of a calculation by hand', () => {
    const risk = computeModelFactorRisk(FOUR_FACTORS, ['A', 'B', 'C'], WEIGHTS);
    const exposures = { MARKET: 1, Energy: 0.8, Health: 0.2, VALUE: 0.15 };
    const parts = { MARKET: 0.04165, Energy: 0.00758, Health: 0.00058, VALUE: 0.0000825 };
    for (const factor of FOUR_FACTORS.factors as readonly (keyof typeof parts)[]) {
      expect(risk.exposures[factor]).toBeCloseTo(exposures[factor], 15);
      expect(risk.contributions[factor]).toBeCloseTo(parts[factor] / 0.0498925, 14);
    }
    expect(risk.factorVariance).toBeCloseTo(0.0498925, 16);
    expect(risk.specificVariance).toBeCloseTo(0.0055, 16);
    expect(risk.volatility).toBeCloseTo(Math.sqrt(0.0553925), 15);
    expect(risk).toMatchObject({ coveredWeight: 1, uncovered: [] });
  });

  test('of a single factor is that of a calculation by hand', () => {
    const weights = new Map([
      ['A', 0.6],
      ['B', 0.4],
    ]);
    const risk = computeModelFactorRisk(ONE_FACTOR, ['A', 'B'], weights);
    expect(risk.contributions).toEqual({ MARKET: 1 });
    expect(risk.exposures['MARKET']).toBeCloseTo(0.8, 15);
    expect(risk.factorVariance).toBeCloseTo(0.0256, 16);
    expect(risk.specificVariance).toBeCloseTo(0.0072, 16);
    expect(sum(listContributions(risk))).toBeCloseTo(Math.sqrt(0.0328), 15);
  });

  test('has contributions of exposure times marginal volatility, which add up to the volatility of the securities', () => {
    const risk = computeModelFactorRisk(FOUR_FACTORS, ['A', 'B', 'C'], WEIGHTS);
    const [K, x] = [4, FOUR_FACTORS.factors.map((factor) => risk.exposures[factor]!)];
    const f = (i: number, j: number) => FOUR_FACTORS.covariance[i * K + j]!;
    const b = (i: number, k: number) => FOUR_FACTORS.exposures[i * K + k]!;
    const computeVolatility = (at: readonly number[]) =>
      Math.sqrt(0.0055 + sum(at.map((xi, i) => xi * sum(at.map((xj, j) => f(i, j) * xj)))));
    const STEP = 1e-5;
    const contributions = listContributions(risk);
    x.forEach((exposure, k) => {
      const [up, down] = [STEP, -STEP].map((step) => computeVolatility(x.with(k, exposure + step)));
      expect(contributions[k]).toBeCloseTo((exposure * (up! - down!)) / (2 * STEP), 9);
    });
    const w = [...WEIGHTS.values()];
    const covarianceOf = (i: number, j: number) =>
      sum(x.flatMap((_, k) => x.map((__, l) => b(i, k) * f(k, l) * b(j, l)))) +
      (i === j ? FOUR_FACTORS.specific[i]! : 0);
    const variance = sum(w.flatMap((wi, i) => w.map((wj, j) => wi * wj * covarianceOf(i, j))));
    expect(sum(contributions)).toBeCloseTo(Math.sqrt(variance), 14);
  });

  test('covers a fraction of the weight and is scaled to the full weight, and is 0 if the model has none of the securities', () => {
    const partial = new Map([
      ['A', 0.75],
      ['Z', 0.25],
    ]);
    expect(computeModelFactorRisk(ONE_FACTOR, ['A', 'B'], partial)).toMatchObject({
      coveredWeight: 0.75,
      uncovered: ['Z'],
      volatility: Math.sqrt(0.04 + 0.01), // the weight of A stands for the whole weight
    });
    expect(computeModelFactorRisk(ONE_FACTOR, ['A', 'B'], new Map([['Z', 1]]))).toMatchObject({
      coveredWeight: 0,
      uncovered: ['Z'],
      contributions: { MARKET: 0 },
      exposures: { MARKET: 0 },
      factorShare: 0,
      volatility: 0,
    });
  });
});

describe('total risk by factors over a window', () => {
  const returns = createRandomReturns(90, 5);
  const sectors = ['Energy', 'Energy', 'Health', 'Health', 'Health'];
  const weights = new Map([
    [0, 0.5],
    [1, 0.3],
    [2, 0.2],
  ]);
  const w = [...weights.values()];

  test('by market and sectors has the variances of the fitted and the residual returns of the holdings', () => {
    const risk = computeFactorRisk(referenceEngine, createWindow({ returns, sectors }), {
      weights,
      benchmark: NO_BENCHMARK,
      model: 'market_sector',
      factors: 5,
    });
    // Only held securities are estimated: two in Energy and one in Health, whose fitted returns are the sector means.
    const rows = returns.slice(1).map(([first, second, third]) => {
      const energy = (first! + second!) / 2;
      return { fitted: 0.8 * energy + 0.2 * third!, residuals: [first! - energy, second! - energy, 0] };
    });
    const [[factorVariance]] = computeCovarianceByDefinition([[], ...rows.map(({ fitted }) => [fitted])]) as [[number]];
    const d = computeCovarianceByDefinition([[], ...rows.map(({ residuals }) => residuals)]);
    expect(risk.factorVariance).toBeCloseTo(factorVariance, 13);
    expect(risk.specificVariance).toBeCloseTo(sum(w.map((wi, i) => wi * wi * d[i]![i]!)), 13);
    expect(risk.exposures).toMatchObject({ MARKET: 1, Energy: 0.8, Health: 0.2 });
    expect(sum(listContributions(risk))).toBeCloseTo(risk.volatility, 14);
    expect(risk.coveredWeight).toBe(1);
  });

  test('by as many principal components as securities is the variance of the holdings', () => {
    const s = computeCovarianceByDefinition(returns);
    const variance = sum(w.flatMap((wi, i) => w.map((wj, j) => wi * wj * s[i]![j]!)));
    const risk = computeFactorRisk(referenceEngine, createWindow({ returns }), {
      weights,
      benchmark: NO_BENCHMARK,
      model: 'statistical',
      factors: 20,
    });
    expect(risk.factors).toEqual(['PC1', 'PC2', 'PC3']);
    expect(sum(listContributions(risk))).toBeCloseTo(Math.sqrt(variance), 12);
  });

  test.each(FACTOR_MODELS)('is refused without a security with enough returns: %s', (model) => {
    const shortReturns = returns.map((row, s) => row.map((value, i) => (i === 3 && s < 60 ? null : value)));
    expect(() =>
      computeFactorRisk(referenceEngine, createWindow({ returns: shortReturns, sectors }), {
        weights: new Map([[3, 1]]),
        benchmark: NO_BENCHMARK,
        model,
        factors: 5,
      }),
    ).toThrow(expect.objectContaining({ code: 'RISK_INSUFFICIENT_DATA' }) as Error);
  });
});
