import { expect, test } from 'vitest';
import { ConstraintRow } from '#domain/definition/constraint-class.js';
import { readObjective } from '#domain/definition/optimisation.js';
import { createProblem } from '#domain/optimisation/problem.js';
import { solveConvex } from '#domain/optimisation/convex-solve.js';
import { createDenseMetric } from '#kernels/optimisation/program/metric.js';
import { seeded } from '../../seeded.js';
import { solvers } from './small-problems.js';

const NAMES = 60;
const SCENARIOS = 300;

/** Returns random returns from one common factor and a shock per security, [T x N]. */
function drawReturns(seed: number): Float64Array {
  const random = seeded(seed);
  const drawNormal = () => random() + random() + random() - 1.5;
  const betas = Float64Array.from({ length: NAMES }, () => 0.5 + random());
  const returns = new Float64Array(SCENARIOS * NAMES);
  for (let t = 0; t < SCENARIOS; t++) {
    const market = 0.02 * drawNormal();
    for (let i = 0; i < NAMES; i++) returns[t * NAMES + i] = 0.0003 + betas[i]! * market + 0.03 * drawNormal();
  }
  return returns;
}

test.each([1, 2, 4])(
  'the largest return within a CVaR and a turnover is the same in a repeated solve, draw %i',
  (seed) => {
    const returns = drawReturns(seed);
    const createTailProblem = (type: string, rows: readonly object[]) =>
      createProblem({
        objective: readObjective(type === 'min_cvar' ? { type, confidence: 0.95 } : { type }),
        expectedReturns: Float64Array.from({ length: NAMES }, (_, i) => {
          let sum = 0;
          for (let t = 0; t < SCENARIOS; t++) sum += returns[t * NAMES + i]!;
          return sum / SCENARIOS;
        }),
        algebra: solvers.algebra,
        identifiers: Array.from({ length: NAMES }, (_, i) => `N${i}`),
        index: new Float64Array(NAMES).fill(1 / NAMES),
        metric: createDenseMetric(
          Float64Array.from({ length: NAMES * NAMES }, (_, e) => (e % (NAMES + 1) === 0 ? 0.05 : 0.02)),
          NAMES,
        ),
        previous: null,
        scenarios: () => ({ returns, counts: null }),
        rows: rows.map((row) => ConstraintRow.parse(row)),
        datapoints: {
          numbers: () => new Float64Array(NAMES),
          categories: () => Array.from({ length: NAMES }, () => 'G'),
          medianValueTraded: () => new Float64Array(NAMES),
        },
      });
    const bounds = [
      { type: 'PositionBounds', params: { upper: 0.03 } },
      { type: 'Turnover', params: { limit: 0.3 } },
    ];
    const leastTail = solveConvex(solvers.solver, createTailProblem('min_cvar', bounds))!.value;
    const limit = { type: 'CVaR', params: { confidence: 0.95, limit: 1.01 * leastTail } };
    const problem = createTailProblem('max_return', [...bounds, limit]);
    const values = Array.from({ length: 2 }, () => solveConvex(solvers.solver, problem)?.value);
    expect(values[0]).toBeDefined();
    for (const value of values) expect(Math.abs(value! - values[0]!)).toBeLessThanOrEqual(1e-7 * Math.abs(values[0]!));
  },
);
