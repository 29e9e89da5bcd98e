import { describe, expect, test } from 'vitest';
import { computeFactorRisk } from '#domain/risk/contributions.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { computeCovarianceByDefinition, createRandomReturns, createWindow } from './window.js';

const weights = new Map([
  [0, 0.5],
  [1, 0.3],
  [2, 0.2],
]);
const benchmark = new Map([
  [1, 0.25],
  [2, 0.25],
  [3, 0.25],
  [4, 0.25],
]);
const activeWeights = [0.5, 0.05, -0.05, -0.25, -0.25];
const sectors = ['Energy', 'Energy', 'Health', 'Health', 'Health'];
const returns = createRandomReturns(90, 5);
const sum = (values: Iterable<number>) => [...values].reduce((a, b) => a + b, 0);

describe('market and sector factors', () => {
  const risk = computeFactorRisk(referenceEngine, createWindow({ returns, sectors }), {
    weights,
    benchmark,
    model: 'market_sector',
    factors: 5,
  });

  test('have the exposures of the active weights', () => {
    expect(risk.factors).toEqual(['MARKET', 'Energy', 'Health']);
    expect(risk.exposures.MARKET).toBeCloseTo(0, 15);
    expect(risk.exposures.Energy).toBeCloseTo(0.55, 15);
    expect(risk.exposures.Health).toBeCloseTo(-0.55, 15);
  });

  test('are the least-squares fit of each session with sector returns averaging zero', () => {
    // Normal equations for two sectors, by hand. The fitted returns are the sector means. The market factor is the mean
    // of both.
    const rows = returns.slice(1).map((row) => {
      const energy = (row[0]! + row[1]!) / 2;
      const health = (row[2]! + row[3]! + row[4]!) / 3;
      const market = (energy + health) / 2;
      return {
        factors: [market, energy - market, health - market],
        residuals: row.map((value, i) => value - (i < 2 ? energy : health)),
      };
    });
    const x = [sum(activeWeights), 0.55, -0.55];
    const f = computeCovarianceByDefinition([[], ...rows.map(({ factors }) => factors)]);
    const factorVariance = sum(x.map((xi, i) => xi * sum(x.map((xj, j) => xj * f[i]![j]!))));
    const d = computeCovarianceByDefinition([[], ...rows.map(({ residuals }) => residuals)]).map((row, i) => row[i]!);
    expect(risk.factorVariance).toBeCloseTo(factorVariance, 13);
    expect(risk.specificVariance).toBeCloseTo(sum(activeWeights.map((a, i) => a * a * d[i]!)), 13);
    expect(risk.contributions.Energy).toBeCloseTo((0.55 * sum(x.map((xj, j) => xj * f[1]![j]!))) / factorVariance, 12);
  });

  test('split the total variance without remainder', () => {
    expect(risk.totalVariance).toBe(risk.factorVariance + risk.specificVariance);
    expect(risk.volatility).toBe(Math.sqrt(risk.totalVariance));
    expect(risk.factorShare).toBeCloseTo(risk.factorVariance / risk.totalVariance, 15);
    expect(sum(Object.values(risk.contributions))).toBeCloseTo(1, 12);
  });

  test('put securities without a sector in a separate one', () => {
    const { factors } = computeFactorRisk(referenceEngine, createWindow({ returns, sectors: ['Energy'] }), {
      weights,
      benchmark,
      model: 'market_sector',
      factors: 5,
    });
    expect(factors).toEqual(['MARKET', 'Energy', 'UNCLASSIFIED']);
  });
});

test('a security without a history is omitted and reported', () => {
  const shortReturns = returns.map((row, s) => row.map((value, i) => (i === 3 && s < 60 ? null : value)));
  for (const model of ['market_sector', 'statistical'] as const) {
    const risk = computeFactorRisk(openWasmEngine(), createWindow({ returns: shortReturns, sectors }), {
      weights,
      benchmark,
      model,
      factors: 5,
    });
    expect(risk.uncovered).toEqual([3]);
    expect(risk.coveredWeight).toBeCloseTo(1 - 0.25 / 1.1, 14);
  }
});

describe('statistical factors', () => {
  const computeRiskOf = (factors: number, from = returns, engine = openWasmEngine()) =>
    computeFactorRisk(engine, createWindow({ returns: from }), { weights, benchmark, model: 'statistical', factors });

  test('explain everything if there are as many factors as securities', () => {
    const s = computeCovarianceByDefinition(returns);
    const variance = sum(activeWeights.map((ai, i) => ai * sum(activeWeights.map((aj, j) => aj * s[i]![j]!))));
    const all = computeRiskOf(20);
    expect(all.factors).toEqual(['PC1', 'PC2', 'PC3', 'PC4', 'PC5']);
    expect(all.factorVariance).toBeCloseTo(variance, 12);
    expect(all.specificVariance).toBeCloseTo(0, 12);
  });

  test('leave each security its own variance: with active weight in one security the total is its variance', () => {
    const s = computeCovarianceByDefinition(returns);
    const factorRisk = computeFactorRisk(referenceEngine, createWindow({ returns }), {
      weights: new Map([[0, 1]]),
      benchmark: new Map([[1, 1e-300]]),
      model: 'statistical',
      factors: 1,
    });
    expect(factorRisk.totalVariance).toBeCloseTo(s[0]![0]!, 12);
  });

  test('agree whether there are more securities or more observations', () => {
    // There are 30 securities. With 22 returns, the program uses the product over observations. With 60 returns, it
    // uses the product over securities.
    const wideReturns = createRandomReturns(23, 30);
    const fewWeights = new Map(Array.from({ length: 30 }, (_, i) => [i, i % 2 === 0 ? 1 / 15 : 0]));
    const evenWeights = new Map(Array.from({ length: 30 }, (_, i) => [i, 1 / 30]));
    const request = { weights: fewWeights, benchmark: evenWeights, model: 'statistical' as const, factors: 20 };
    const s = computeCovarianceByDefinition(wideReturns);
    const a = Array.from({ length: 30 }, (_, i) => (i % 2 === 0 ? 1 / 15 : 0) - 1 / 30);
    const exactVariance = sum(a.map((ai, i) => ai * sum(a.map((aj, j) => aj * s[i]![j]!))));
    const split = computeFactorRisk(referenceEngine, createWindow({ returns: wideReturns }), request);
    expect(split.factorVariance).toBeLessThanOrEqual(exactVariance * (1 + 1e-12));
    expect(split.factorVariance).toBeGreaterThan(0.9 * exactVariance);
    const fastRisk = computeFactorRisk(openWasmEngine(), createWindow({ returns: wideReturns }), request);
    expect(fastRisk.factorVariance).toBeCloseTo(split.factorVariance, 12);
    expect(fastRisk.specificVariance).toBeCloseTo(split.specificVariance, 12);
  });

  test('report no risk without active weights', () => {
    const singleWeight = new Map([[0, 1]]);
    const emptyRisk = computeFactorRisk(referenceEngine, createWindow({ returns }), {
      weights: singleWeight,
      benchmark: singleWeight,
      model: 'statistical',
      factors: 3,
    });
    expect(emptyRisk).toMatchObject({
      factorVariance: 0,
      specificVariance: 0,
      totalVariance: 0,
      factorShare: 0,
      volatility: 0,
      contributions: { PC1: 0 },
    });
  });
});

test.each(['market_sector', 'statistical'] as const)(
  'of the same securities with other weights equals the risk on a panel that was not used before: %s',
  (model) => {
    const window = createWindow({ returns, sectors });
    const otherWeights = new Map([
      [0, 0.1],
      [1, 0.1],
      [2, 0.8],
    ]);
    for (const [held, factors] of [
      [weights, 2],
      [otherWeights, 2],
      [otherWeights, 3],
      [weights, 2],
    ] as const) {
      const request = { weights: held, benchmark, model, factors };
      expect(computeFactorRisk(referenceEngine, window, request)).toEqual(
        computeFactorRisk(referenceEngine, createWindow({ returns, sectors }), request),
      );
    }
    // Another security or another last session leads to another model.
    const fewerTerms = {
      weights,
      benchmark: new Map([
        [1, 0.5],
        [3, 0.5],
      ]),
      model,
      factors: 2,
    };
    expect(computeFactorRisk(referenceEngine, window, fewerTerms)).toEqual(
      computeFactorRisk(referenceEngine, createWindow({ returns, sectors }), fewerTerms),
    );
    const shorterTerms = { weights, benchmark, model, factors: 2 };
    expect(computeFactorRisk(referenceEngine, { ...window, to: window.to - 7 }, shorterTerms)).toEqual(
      computeFactorRisk(referenceEngine, { ...createWindow({ returns, sectors }), to: window.to - 7 }, shorterTerms),
    );
    expect(computeFactorRisk(referenceEngine, { ...window, to: window.to - 7 }, shorterTerms)).not.toEqual(
      computeFactorRisk(referenceEngine, window, shorterTerms),
    );
  },
);
