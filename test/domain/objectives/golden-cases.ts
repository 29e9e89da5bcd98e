import { readFileSync } from 'node:fs';
import { createDenseMetric } from '#kernels/optimisation/program/metric.js';
import { ConstraintRow } from '#domain/definition/constraint-class.js';
import { createProblem, type Problem } from '#domain/optimisation/problem.js';
import { createObjective } from '../optimisation/small-problems.js';

/**
 * A problem of test/golden/objectives with the optimum of each objective. make.py in that folder computes the optima.
 */
export interface GoldenCase {
  readonly seed: number;
  readonly covariance: readonly (readonly number[])[];
  readonly index: readonly number[];
  readonly previous: readonly number[];
  readonly expected_returns: readonly number[];
  readonly scenarios: readonly (readonly number[])[];
  readonly sectors: readonly string[];
  readonly rows: readonly object[];
  readonly costs: { readonly bps: number; readonly impact: number } | null;
  readonly answers: readonly GoldenAnswer[];
}

export interface GoldenAnswer {
  readonly objective: { readonly type: string };
  readonly value: number;
  readonly weights: readonly number[];
}

const file = new URL('../../../../test/golden/objectives/objectives.json', import.meta.url);

export const goldenCases: readonly GoldenCase[] = (JSON.parse(readFileSync(file, 'utf8')) as { cases: GoldenCase[] })
  .cases; // written by make.py

export function createGoldenProblem(golden: GoldenCase, { type, ...params }: GoldenAnswer['objective']): Problem {
  const n = golden.index.length;
  const previous = Float64Array.from(golden.previous);
  const objective = createObjective({ type, ...params });
  const costs = createCostsWith(type, golden.costs);
  return createProblem({
    identifiers: golden.index.map((_, i) => `N${String(i).padStart(2, '0')}`),
    index: Float64Array.from(golden.index),
    previous: { weights: previous, outside: 0 },
    metric: createDenseMetric(Float64Array.from(golden.covariance.flat()), n),
    rows: golden.rows.map((row) => ConstraintRow.parse(row)),
    datapoints: {
      numbers: () => previous,
      categories: () => golden.sectors,
      medianValueTraded: () => previous,
    },
    objective,
    expectedReturns: Float64Array.from(golden.expected_returns),
    scenarios: () => ({ returns: Float64Array.from(golden.scenarios.flat()), counts: null }),
    costs: costs === null ? null : { linear: costs.bps / 1e4, impact: costs.impact, reference: previous, fixed: 0 },
  });
}

/** Returns the costs of a case as make.py uses them. Risk budgets have no costs there. */
function createCostsWith(type: string, costs: GoldenCase['costs']): GoldenCase['costs'] {
  return type === 'risk_parity' ? null : costs;
}
