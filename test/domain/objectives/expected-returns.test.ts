import { describe, expect, test } from 'vitest';
import { createDenseMetric } from '#kernels/optimisation/program/metric.js';
import { findReturnsClass, type ReturnsContext } from '#domain/definition/expected-returns.js';
import { seeded } from '../../seeded.js';

/**
 * Seven markets of He & Litterman (1999), The intuition behind Black-Litterman model portfolios, tables 1 and 2. The
 * figures are in percent.
 */
const MARKETS = ['AUL', 'CAN', 'FRA', 'GER', 'JAP', 'UKG', 'USA'];
const VOLATILITIES = [16.0, 20.3, 24.8, 27.1, 21.0, 20.0, 18.7];
const WEIGHTS = [1.6, 2.2, 5.2, 5.5, 11.6, 12.4, 61.5];
const CORRELATIONS = [
  [1, 0.488, 0.478, 0.515, 0.439, 0.512, 0.491],
  [0.488, 1, 0.664, 0.655, 0.31, 0.608, 0.779],
  [0.478, 0.664, 1, 0.861, 0.355, 0.783, 0.668],
  [0.515, 0.655, 0.861, 1, 0.354, 0.777, 0.653],
  [0.439, 0.31, 0.355, 0.354, 1, 0.405, 0.306],
  [0.512, 0.608, 0.783, 0.777, 0.405, 1, 0.652],
  [0.491, 0.779, 0.668, 0.653, 0.306, 0.652, 1],
];

function createContext(identifiers: readonly string[], index: Float64Array, matrix: Float64Array) {
  const warnings: string[] = [];
  const context: ReturnsContext = {
    identifiers,
    index,
    metric: createDenseMetric(matrix, identifiers.length),
    cash: 0,
    means: () => Float64Array.from(identifiers, (_, i) => 0.01 * i),
    numbers: () => Float64Array.from(identifiers, (_, i) => (i === 1 ? Number.NaN : 0.1 * i)),
    warn: (message) => warnings.push(message),
  };
  return { context, warnings };
}

const createSevenMarkets = () =>
  createContext(
    MARKETS,
    Float64Array.from(WEIGHTS, (weight) => weight / 100),
    Float64Array.from(
      CORRELATIONS.flatMap((row, i) => row.map((rho, j) => (rho * VOLATILITIES[i]! * VOLATILITIES[j]!) / 1e4)),
    ),
  );

function createReturns(type: string, params: object, context: ReturnsContext): Float64Array {
  const entry = findReturnsClass(type)!;
  return entry.returns(entry.params.parse(params), context);
}

const formatPercents = (values: Float64Array) => Array.from(values, (value) => Math.round(1000 * value) / 10);

describe('Black-Litterman', () => {
  const germany = { weights: { GER: 1, FRA: -0.295, UKG: -0.705 }, value: 0.05, confidence: 0.5 };

  test('has the prior and the posterior of He and Litterman', () => {
    const { context } = createSevenMarkets();
    expect(formatPercents(createReturns('capm', {}, context))).toEqual([3.9, 6.9, 8.4, 9.0, 4.3, 6.8, 7.6]);
    expect(formatPercents(createReturns('black_litterman', { views: [germany] }, context))).toEqual([
      4.3, 7.6, 9.3, 11.0, 4.5, 7.0, 8.1,
    ]);
  });

  test('without views, or with views of no confidence, is the prior', () => {
    const { context } = createSevenMarkets();
    const prior = createReturns('capm', {}, context);
    expect(createReturns('black_litterman', {}, context)).toEqual(prior);
    expect(createReturns('black_litterman', { views: [{ ...germany, confidence: 0 }] }, context)).toEqual(prior);
  });

  test('meets a view that is certain, and repeats of it change nothing', () => {
    const { context } = createSevenMarkets();
    const certainView = { ...germany, confidence: 1 };
    const onceReturns = createReturns('black_litterman', { views: [certainView] }, context);
    expect(onceReturns[3]! - 0.295 * onceReturns[2]! - 0.705 * onceReturns[5]!).toBeCloseTo(0.05, 12);
    const twiceReturns = createReturns(
      'black_litterman',
      { views: [certainView, { ...certainView, weights: { GER: 2, FRA: -0.59, UKG: -1.41 }, value: 0.1 }] },
      context,
    );
    twiceReturns.forEach((value, i) => expect(value).toBeCloseTo(onceReturns[i]!, 12));
  });

  test('refuses views that are certain of two things, with both numbers', () => {
    const { context } = createSevenMarkets();
    const views = [
      { weights: { GER: 1 }, value: 0.1, confidence: 1 },
      { weights: { GER: 1 }, value: 0.2, confidence: 1 },
    ];
    expect(() => createReturns('black_litterman', { views }, context)).toThrow(
      'View 2 states 0.2 with certainty, but the other certain views imply 0.1',
    );
  });

  test('omits a view of an absent security, and reports it', () => {
    const { context, warnings } = createSevenMarkets();
    const views = [germany, { weights: { GER: 1, NZL: -1 }, value: 0.2, confidence: 0.9 }];
    const uncertainReturns = createReturns('black_litterman', { views: [germany] }, createSevenMarkets().context);
    expect(createReturns('black_litterman', { views }, context)).toEqual(uncertainReturns);
    expect(warnings).toEqual(['View 2 is ignored: NZL is not in the problem.']);
  });

  test('is the precision-weighted mean of prior and views, as the other form of its formula has it', () => {
    // The formula mu = ((tau S)^-1 + P' O^-1 P)^-1 ((tau S)^-1 pi + P' O^-1 q), evaluated on a random market.
    const random = seeded(3);
    const n = 4;
    const loadings = Array.from({ length: n }, () => Array.from({ length: n }, () => random() - 0.5));
    const sigma = loadings.map((a, i) =>
      loadings.map((b, j) => a.reduce((sum, value, f) => sum + value * b[f]!, i === j ? 0.1 : 0)),
    );
    const names = ['A', 'B', 'C', 'D'];
    const index = Float64Array.of(0.4, 0.3, 0.2, 0.1);
    const { context } = createContext(names, index, Float64Array.from(sigma.flat()));
    const views = [
      { weights: { A: 1 }, value: 0.07, confidence: 0.3 },
      { weights: { B: 1, C: -0.5, D: -0.5 }, value: 0.02, confidence: 0.8 },
    ];
    const tau = 0.1;
    const prior = createReturns('capm', { risk_aversion: 3 }, context);
    const p = views.map(({ weights }) => names.map((name) => (weights as Record<string, number>)[name] ?? 0));
    const omega = p.map(
      (row, k) =>
        (1 / views[k]!.confidence - 1) *
        tau *
        row.reduce((sum, x, i) => sum + x * row.reduce((inner, y, j) => inner + sigma[i]![j]! * y, 0), 0),
    );
    const inverse = invertMatrix(sigma.map((row) => row.map((value) => tau * value)));
    const precision = inverse.map((row, i) =>
      row.map((value, j) => value + p.reduce((sum, view, k) => sum + (view[i]! * view[j]!) / omega[k]!, 0)),
    );
    const right = inverse.map(
      (row, i) =>
        row.reduce((sum, value, j) => sum + value * prior[j]!, 0) +
        p.reduce((sum, view, k) => sum + (view[i]! * views[k]!.value) / omega[k]!, 0),
    );
    const expected = invertMatrix(precision).map((row) => row.reduce((sum, value, j) => sum + value * right[j]!, 0));
    createReturns('black_litterman', { views, tau, risk_aversion: 3 }, context).forEach((value, i) =>
      expect(value).toBeCloseTo(expected[i]!, 12),
    );
  });
});

/** Inverts a matrix by Gauss-Jordan elimination. */
function invertMatrix(matrix: readonly (readonly number[])[]): number[][] {
  const n = matrix.length;
  const rows = matrix.map((row, i) => [...row, ...matrix.map((_, j) => (i === j ? 1 : 0))]);
  for (let k = 0; k < n; k++) {
    const pivot = rows[k]![k]!;
    rows[k] = rows[k]!.map((value) => value / pivot);
    for (let i = 0; i < n; i++) if (i !== k) rows[i] = rows[i]!.map((value, j) => value - rows[i]![k]! * rows[k]![j]!);
  }
  return rows.map((row) => row.slice(n));
}

test('models of returns above cash add what cash earns, and views have it in them', () => {
  const { context } = createSevenMarkets();
  const cash = 0.03;
  const views = [
    { weights: { GER: 1 }, value: 0.12, confidence: 1 },
    { weights: { GER: 1, FRA: -0.295, UKG: -0.705 }, value: 0.05, confidence: 0.5 },
  ];
  // A view on one security states its total return. If the weights of a view sum to zero, it does not depend on cash.
  const largerViews = [{ ...views[0]!, value: 0.12 - cash }, views[1]!];
  for (const [type, params, without] of [
    ['capm', { shrinkage: 0.3 }, { shrinkage: 0.3 }],
    ['black_litterman', { views }, { views: largerViews }],
  ] as const) {
    const excess = createReturns(type, without, context);
    createReturns(type, params, { ...context, cash }).forEach((value, i) =>
      expect(value).toBeCloseTo(cash + excess[i]!, 12),
    );
  }
  for (const type of ['historical', 'field'])
    expect(createReturns(type, type === 'field' ? { field: 'ALPHA' } : {}, { ...context, cash })).toEqual(
      createReturns(type, type === 'field' ? { field: 'ALPHA' } : {}, context),
    );
});

describe('other models of expected returns', () => {
  test('historical means shrink towards their mean, and are all equal at intensity one', () => {
    const { context } = createSevenMarkets();
    expect(
      [...createReturns('historical', { shrinkage: 0.5 }, context)].map((value) => Math.round(1e6 * value) / 1e6),
    ).toEqual([0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.045]);
    for (const value of createReturns('historical', { shrinkage: 1 }, context)) expect(value).toBeCloseTo(0.03, 15);
  });

  test('the index earns the same whatever its betas are shrunk to', () => {
    const { context } = createSevenMarkets();
    const computeIndexReturns = (shrinkage: number) =>
      createReturns('capm', { shrinkage }, context).reduce((sum, value, i) => sum + value * context.index[i]!, 0) /
      context.index.reduce((sum, value) => sum + value, 0);
    expect(computeIndexReturns(0.4)).toBeCloseTo(computeIndexReturns(0), 12);
    const equalReturns = createReturns('capm', { shrinkage: 1 }, context);
    for (const value of equalReturns) expect(value).toBeCloseTo(equalReturns[0]!, 15);
  });

  test('a missing datapoint counts as the mean of the others, and is reported', () => {
    const { context, warnings } = createSevenMarkets();
    const values = createReturns('field', { field: { node: 'field', name: 'ALPHA' } }, context);
    expect(values[1]).toBeCloseTo((0 + 0.2 + 0.3 + 0.4 + 0.5 + 0.6) / 6, 15);
    expect(warnings[0]).toContain('1 of 7 securities have no ALPHA (CAN)');
    expect(createReturns('field', { field: 'ALPHA' }, createSevenMarkets().context)).toEqual(values);
  });
});
