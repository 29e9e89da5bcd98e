import { describe, expect, test } from 'vitest';
import { RiskEstimator, RiskModelRequest } from '#domain/risk/risk-models.js';
import { estimateRisk } from '#domain/optimisation/decision-problem.js';
import { applyMetric } from '#domain/optimisation/problem.js';
import { estimateRiskModel } from '#domain/risk/estimation.js';
import { computeFactorRisk } from '#domain/risk/contributions.js';
import { computeStyleExposures } from '#domain/risk/factors.js';
import type { ReturnWindow } from '#domain/risk/return-panel.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { createTableMarket } from '../../rules/rule-market.js';
import { golden, N, names, createStyleMarket, createStyleWindow, T } from './style-market.js';
import { computeCovarianceByDefinition, createRandomReturns, createWindow } from '../window.js';

function estimateModel(window: ReturnWindow, settings: Partial<RiskModelRequest>, columns: readonly number[] = names) {
  const { covariance, factors } = estimateRiskModel(
    openWasmEngine(),
    window,
    columns,
    RiskModelRequest.parse(settings),
  );
  return { covariance: covariance.slice(), ...factors! };
}

const expectAll = (actual: ArrayLike<number>, expected: readonly number[], digits = 10) =>
  expected.forEach((value, k) => expect(actual[k], String(k)).toBeCloseTo(value, digits));

describe('a style model', () => {
  const { covariance, model, fit } = estimateModel(createStyleWindow(createStyleMarket()), { estimator: 'styles' });

  test('has the factors with available datapoints, with the values of lstsq of numpy', () => {
    const styles = ['SIZE', 'VALUE', 'MOMENTUM', 'VOLATILITY', 'LIQUIDITY', 'QUALITY']; // without DIVIDEND, because no security pays a dividend
    expect(model.factors).toEqual(['MARKET', 'Sector 0', 'Sector 1', 'Sector 2', ...styles]);
    const K = model.factors.length;
    expectAll(
      model.factors.map((_, k) => Math.sqrt(model.covariance[k * (K + 1)]!)),
      golden.volatilities,
    );
    expectAll(fit.tStatistics!, golden.t_statistics, 7);
    expectAll(fit.significant!, golden.significant, 12);
    expect(fit.rSquared).toBeCloseTo(golden.r_squared, 10);
    expectAll(covariance, golden.covariance.flat());
  });

  test('with adjusted eigenvalues forecasts more risk for portfolios that its factors leave nearly riskless', () => {
    const settings = { estimator: 'styles', eigenvalue_simulations: 20 } as const;
    const adjustedModel = estimateModel(createStyleWindow(createStyleMarket()), settings);
    expect(adjustedModel.model.specific).toEqual(model.specific);
    const K = model.factors.length;
    const findLeastEigenvalue = (matrix: Float64Array) => {
      const values = new Float64Array(K);
      referenceEngine.symmetricEigenvalues(matrix, K, values);
      return values[1]!; // the smallest eigenvalue is 0, because sector returns sum to zero
    };
    expect(findLeastEigenvalue(adjustedModel.model.covariance)).toBeGreaterThan(findLeastEigenvalue(model.covariance));
    const inlineRisk = estimateRisk(openWasmEngine(), createStyleWindow(createStyleMarket()), Int32Array.from(names), {
      estimator: RiskEstimator.parse(settings),
    });
    const product = applyMetric(
      inlineRisk.metric,
      Float64Array.from(names, () => 1),
    );
    names.forEach((_, i) =>
      expect(product[i]).toBeCloseTo(
        names.reduce((sum, j) => sum + adjustedModel.covariance[i * N + j]!, 0),
        12,
      ),
    );
  });

  test('clips descriptors at three deviations and standardises them again, as numpy does; a missing value is 0', () => {
    const values = [10, 1, -1, ...Array.from({ length: 10 }, () => 0), null];
    const market = createTableMarket({
      identifiers: names.map((i) => `N${String(i).padStart(2, '0')}`),
      fields: { CLOSE: Array.from({ length: 30 }, () => names.map(() => 50)) },
      reference: { RETURN_ON_EQUITY: values },
    });
    const { datapoints, to } = createStyleWindow(market, [0, 29]);
    const scores = computeStyleExposures(
      datapoints.at(to, Int32Array.from(names)),
      ['QUALITY'],
      Int32Array.from(names),
    );
    // Computed in numpy with z = lambda x: (x - np.nanmean(x)) / np.nanstd(x) as z(np.clip(z(x), -3, 3)). The first
    // score is 3.427 before it is clipped.
    expectAll(scores, [3.41715321, 0.13355883, -0.70308436, ...Array.from({ length: 10 }, () => -0.28476277), 0], 7);
  });

  test('is the same whatever the order of the securities', () => {
    const turnedNames = names.toReversed();
    const other = estimateModel(
      createStyleWindow(createStyleMarket()),
      { estimator: 'styles' },
      turnedNames,
    ).covariance;
    turnedNames.forEach((a, i) =>
      turnedNames.forEach((b, j) => expect(other[i * N + j]).toBeCloseTo(covariance[a * N + b]!, 12)),
    );
  });

  test('uses no data after its last session', () => {
    const until = [200, 380] as const;
    const earlierModel = estimateModel(createStyleWindow(createStyleMarket(), until), { estimator: 'styles' });
    const changedModel = estimateModel(createStyleWindow(createStyleMarket({ after: 380 }), until), {
      estimator: 'styles',
    });
    expect(changedModel.covariance).toEqual(earlierModel.covariance);
  });

  test('begins where its styles begin', () => {
    // Momentum and volatility require half a year of returns. Exposures must be known before the returns that they
    // explain.
    const { from } = estimateModel(createStyleWindow(createStyleMarket(), [0, T - 1]), { estimator: 'styles' });
    expect(from).toBeGreaterThan(100);
    expect(from).toBeLessThan(T / 2);
  });

  test('splits an active variance as its covariance does', () => {
    const weights = new Map(
      names.map((i) => [i, i % 4 === 0 ? 0.25 : 0]).filter(([, weight]) => weight! > 0) as [number, number][],
    );
    const benchmark = new Map(names.map((i) => [i, 1 / N]));
    const risk = computeFactorRisk(openWasmEngine(), createStyleWindow(createStyleMarket()), {
      weights,
      benchmark,
      model: 'styles',
      factors: 5,
    });
    const activeWeights = names.map((i) => (weights.get(i) ?? 0) - 1 / N);
    const variance = activeWeights.reduce(
      (sum, a, i) => sum + a * activeWeights.reduce((row, b, j) => row + covariance[i * N + j]! * b, 0),
      0,
    );
    expect(risk.totalVariance).toBeCloseTo(variance, 12);
    expect(risk.factors).toEqual(model.factors);
    const K = model.factors.length;
    for (const factorName of ['SIZE', 'MOMENTUM', 'Sector 1']) {
      const k = model.factors.indexOf(factorName);
      const exposure = activeWeights.reduce((sum, a, i) => sum + a * model.exposures[i * K + k]!, 0);
      expect(risk.exposures[factorName]).toBeCloseTo(exposure, 12);
    }
  });

  test('is of low rank in an optimisation, with the same covariance', () => {
    const { metric } = estimateRisk(openWasmEngine(), createStyleWindow(createStyleMarket()), Int32Array.from(names), {
      estimator: RiskEstimator.parse({ estimator: 'styles' }),
    });
    expect(metric).toMatchObject({ form: 'factor', factors: model.factors.length });
    const weights = Float64Array.from(names, (i) => Math.sin(i + 1));
    const product = applyMetric(metric, weights);
    names.forEach((_, i) => {
      const totalCovariance = names.reduce((sum, j) => sum + covariance[i * N + j]! * weights[j]!, 0);
      expect(product[i]).toBeCloseTo(totalCovariance, 12);
    });
  });
});

describe('a model of industries', () => {
  test('has the variance of market and sectors for any weights', () => {
    const sectors = ['Energy', 'Energy', 'Health', 'Health', 'Health'];
    const window = createWindow({ returns: createRandomReturns(90, 5), sectors });
    const { covariance, fit } = estimateModel(window, { estimator: 'industries' }, [0, 1, 2, 3, 4]);
    const weights = new Map([0.4, 0.3, -0.2, 0.1, 0.4].map((weight, i) => [i, weight]));
    const risk = computeFactorRisk(referenceEngine, window, {
      weights,
      benchmark: new Map(),
      model: 'market_sector',
      factors: 5,
    });
    let variance = 0;
    for (const [i, a] of weights) for (const [j, b] of weights) variance += a * covariance[i * 5 + j]! * b;
    expect(variance).toBeCloseTo(risk.totalVariance, 12);
    expect(fit.rSquared).toBeGreaterThan(0);
    expect(fit.rSquared).toBeLessThan(1);
  });
});

describe('a statistical model', () => {
  const returns = createRandomReturns(90, 6);
  const sample = computeCovarianceByDefinition(returns);

  test('with as many components as securities is the sample covariance', () => {
    const { covariance, fit } = estimateModel(
      createWindow({ returns }),
      { estimator: 'statistical', factors: 6 },
      [0, 1, 2, 3, 4, 5],
    );
    expectAll(covariance, sample.flat(), 12);
    expect(fit.rSquared).toBeCloseTo(1, 10);
  });

  test('with fewer components keeps the variances, and is closer to the sample with every component', () => {
    const distances = [1, 3, 5].map((factors) => {
      const { covariance } = estimateModel(
        createWindow({ returns }),
        { estimator: 'statistical', factors },
        [0, 1, 2, 3, 4, 5],
      );
      sample.forEach((row, i) => expect(covariance[i * 7]).toBeCloseTo(row[i]!, 12));
      return sample.flat().reduce((sum, value, k) => sum + (value - covariance[k]!) ** 2, 0);
    });
    expect(distances).toEqual(distances.toSorted((a, b) => b - a));
  });
});
