import { describe, expect, test } from 'vitest';
import { createDenseMetric } from '#kernels/optimisation/program/metric.js';
import { createProblem } from '#domain/optimisation/problem.js';
import { solveConvex } from '#domain/optimisation/convex-solve.js';
import { createObjective, solvers } from '../domain/optimisation/small-problems.js';
import { hasRealSets, readWideTable } from '../market/real-sets.js';

/** Number of returns in the tests of Riskfolio-Lib. They are the last returns of the panel. */
const SESSIONS = 200;
const YEAR = 252;

/**
 * Weights that Riskfolio-Lib publishes with its tests, for the last 200 returns of its prices, sample moments, long
 * only. Their accuracy depends on the solvers of Riskfolio-Lib. So each tolerance is a multiple of the difference that
 * was measured.
 */
const PUBLISHED = [
  { objective: { type: 'min_variance' }, file: 'Classic_MinRisk', column: 'MV', near: 1e-6 },
  { objective: { type: 'min_cvar', confidence: 0.95 }, file: 'Classic_MinRisk', column: 'CVaR', near: 1e-7 },
  { objective: { type: 'min_cdar', confidence: 0.95 }, file: 'Classic_MinRisk', column: 'CDaR', near: 1e-7 },
  { objective: { type: 'max_sharpe' }, file: 'Classic_Sharpe', column: 'MV', near: 1e-6 },
  { objective: { type: 'risk_parity' }, file: 'Classic_RP', column: 'MV', near: 1e-5 },
];

/** Returns the weights of a method, by security. */
function readWeights(file: string, column: string): ReadonlyMap<string, number> {
  const { names, rows } = readWideTable(`small-11/${file}.csv`);
  const position = names.indexOf(column);
  return new Map(rows.map(([name, cells]) => [name, Number(cells[position])]));
}

describe.skipIf(!hasRealSets)('portfolios published by others', () => {
  test.each(PUBLISHED)('$objective.type', ({ objective, file, column, near }) => {
    const weights = readWeights(file, column);
    const identifiers = [...weights.keys()];
    const n = identifiers.length;
    const { names, rows } = readWideTable('small-11/stock_prices.csv');
    const positions = identifiers.map((name) => names.indexOf(name));
    const closes = rows.slice(-SESSIONS - 1).map(([, cells]) => positions.map((place) => Number(cells[place])));
    const returns = closes.slice(1).map((row, t) => row.map((close, i) => close / closes[t]![i]! - 1));
    const means = positions.map((_, i) => returns.reduce((sum, row) => sum + row[i]!, 0) / SESSIONS);
    const covariance = means.flatMap((mean, i) =>
      means.map(
        (other, j) =>
          (YEAR * returns.reduce((sum, row) => sum + (row[i]! - mean) * (row[j]! - other), 0)) / (SESSIONS - 1),
      ),
    );
    const evenWeights = new Float64Array(n).fill(1 / n);
    const problem = createProblem({
      identifiers,
      index: evenWeights,
      previous: null,
      metric: createDenseMetric(Float64Array.from(covariance), n),
      rows: [],
      datapoints: { numbers: () => evenWeights, categories: () => identifiers, medianValueTraded: () => evenWeights },
      objective: createObjective(objective),
      expectedReturns: Float64Array.from(means, (mean) => YEAR * mean),
      scenarios: () => ({ returns: Float64Array.from(returns.flat()), counts: null }),
      costs: null,
    });
    const { weights: own } = solveConvex(solvers.solver, problem)!;
    for (const [i, name] of identifiers.entries())
      expect(Math.abs(own[i]! - weights.get(name)!), name).toBeLessThan(near);
  });
});
