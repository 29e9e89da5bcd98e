import { plainAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { createDenseMetric } from '#kernels/optimisation/program/metric.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import { ConstraintRow } from '#domain/definition/constraint-class.js';
import { findObjectiveClass, type Objective } from '#domain/definition/objectives.js';
import { solveConvex } from '#domain/optimisation/convex-solve.js';
import { createProblem, type Problem, type Solvers } from '#domain/optimisation/problem.js';
import { seeded } from '../../seeded.js';

export const solvers: Solvers = { solver: createSolver(plainAlgebra), algebra: plainAlgebra };

export const requireSolution = (problem: Problem) => {
  const solution = solveConvex(solvers.solver, problem);
  if (solution === undefined) throw new Error('no answer');
  return solution;
};

export interface SmallMarket {
  readonly names: number;
  readonly seed: number;
  readonly rows: readonly object[];
  /** True if the problem has previous weights. Trades are measured from them. */
  readonly hasPrevious?: boolean;
  /** Objective in the form that clients send. Default: minimum tracking error. */
  readonly objective?: { readonly type: string } & Readonly<Record<string, unknown>>;
  /**
   * Costs of trades from the previous weights. `bps` is in basis points; `impact` is the coefficient of the market
   * impact.
   */
  readonly costs?: { readonly bps: number; readonly impact: number };
  /** Name of a security whose expected return is raised, and the increase. */
  readonly raised?: { readonly name: string; readonly by: number };
}

/**
 * Returns a problem with a factor covariance, five alternating sectors `S0` to `S4`, and one numeric datapoint. `GAPS`
 * is the same datapoint, but every fourth value is missing.
 */
export function buildProblem(market: SmallMarket): Problem {
  const { names: n, seed, rows, hasPrevious = false, objective, costs, raised } = market;
  const random = seeded(seed);
  const k = Math.min(10, n);
  const loadings = Float64Array.from({ length: n * k }, () => (random() - 0.5) * 0.3);
  const matrix = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let total = i === j ? 0.02 + 0.05 * random() : 0;
      for (let f = 0; f < k; f++) total += loadings[i * k + f]! * loadings[j * k + f]!;
      matrix[i * n + j] = matrix[j * n + i] = total;
    }
  }
  const index = normalise(Array.from({ length: n }, () => random() ** 3 + 0.01));
  const values = Float64Array.from({ length: n }, () => 100 * random());
  const gaps = values.map((value, i) => (i % 4 === 3 ? Number.NaN : value));
  const previous = normalise(Array.from({ length: n }, () => random()));
  const identifiers = Array.from({ length: n }, (_, i) => `N${String(i).padStart(3, '0')}`);
  const expectedReturns = Float64Array.from({ length: n }, () => 0.15 * random() - 0.02);
  if (raised !== undefined) expectedReturns[identifiers.indexOf(raised.name)]! += raised.by;
  const scenarios = drawScenarioReturns(random, loadings, n);
  return createProblem({
    scenarios: () => ({ returns: scenarios, counts: null }),
    ...(objective === undefined ? {} : { objective: createObjective(objective) }),
    expectedReturns,
    costs:
      costs === undefined
        ? null
        : { linear: costs.bps / 1e4, impact: costs.impact, reference: hasPrevious ? previous : index, fixed: 0 },
    identifiers,
    index,
    previous: hasPrevious ? { weights: previous, outside: 0 } : null,
    metric: createDenseMetric(matrix, n),
    rows: rows.map((row) => ConstraintRow.parse(row)),
    datapoints: {
      numbers: (field) => (field === 'GAPS' ? gaps : values),
      categories: () => identifiers.map((_, i) => `S${i % 5}`),
      medianValueTraded: () => values.map((value) => 1e6 * value),
    },
  });
}

/** Number of sessions in the scenarios. It is chosen so that 5 % of it is not a whole number. */
const SCENARIOS = 50;

/**
 * Returns random returns by session, [T x N]. Each consists of the factor returns of the model and a specific return.
 */
function drawScenarioReturns(random: () => number, loadings: Float64Array, n: number): Float64Array {
  const k = loadings.length / n;
  const returns = new Float64Array(SCENARIOS * n);
  for (let t = 0; t < SCENARIOS; t++) {
    const factors = Array.from({ length: k }, () => 0.2 * (random() + random() - 1));
    for (let i = 0; i < n; i++) {
      let total = 0.0005 + 0.03 * (random() + random() - 1);
      for (let f = 0; f < k; f++) total += loadings[i * k + f]! * factors[f]!;
      returns[t * n + i] = total;
    }
  }
  return returns;
}

/** Parses an objective as a client writes it. */
export function createObjective({ type, ...params }: NonNullable<SmallMarket['objective']>): Objective {
  const entry = findObjectiveClass(type);
  if (entry === undefined) throw new Error(`there is no objective ${type}`);
  return { entry, params: entry.params.parse(params) };
}

function normalise(raw: readonly number[]): Float64Array {
  const total = raw.reduce((sum, value) => sum + value, 0);
  return Float64Array.from(raw, (value) => value / total);
}
