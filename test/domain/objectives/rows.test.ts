import { describe, expect, test } from 'vitest';
import { createMetricMatrix } from '#kernels/optimisation/program/metric.js';
import { CONSTRAINT_CLASSES } from '#domain/definition/constraints.js';
import { OBJECTIVE_CLASSES } from '#domain/definition/objectives.js';
import { computeGoalValue } from '#domain/optimisation/goals.js';
import { listRowSides } from '#domain/optimisation/report.js';
import { createRestriction } from '#domain/optimisation/restriction.js';
import { solveProblem } from '#domain/optimisation/search.js';
import { solveConvex } from '#domain/optimisation/convex-solve.js';
import { IS_SOAK } from '../../soak.js';
import { certify } from '../../kernels/optimisation/duality-gap.js';
import { buildProblem, solvers } from '../optimisation/small-problems.js';

const NAMES = 20;

/** One constraint row for each convex class. Most objectives satisfy it. */
const ROWS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  FullInvestment: {},
  WeightSum: { lower: 0.9, upper: 0.95 },
  GrossExposure: { upper: 1.1 },
  LongOnly: {},
  PositionBounds: { lower: 0.01, upper: 0.08 },
  RelativePositionBounds: { lower: 0.5, upper: 2 },
  ActiveBounds: { lower: -0.02, upper: 0.03 },
  GroupBounds: { field: 'SECTOR', lower: 0.15, upper: 0.25 },
  ActiveGroupBounds: { field: 'SECTOR', groups: ['S3'], lower: 0.04, upper: 0.1 },
  RelativeGroupBounds: { field: 'SECTOR', groups: ['S3'], lower: 1.2, upper: 2 },
  Turnover: { limit: 0.2, reference: 'previous' },
  TradeSize: { upper: 0.03, reference: 'previous' },
  TrackingError: { limit: 0.06 },
  Volatility: { limit: 0.1 },
  CVaR: { limit: 0.02, confidence: 0.9 },
  CDaR: { limit: 0.06, confidence: 0.9 },
  ActiveShare: { limit: 0.2 },
  EffectiveNumber: { minimum: 15 },
  FactorExposure: { field: 'X', lower: 0.4 },
  WeightedAverage: { field: 'X', upper: 35 },
  Beta: { lower: 0.95, upper: 1 },
  ExpectedReturn: { lower: 0.07 },
  Liquidity: { notional: 1e9, participation: 0.5, days: 2 },
  LinearConstraint: { coefficients: { N000: 2, N001: -1 }, lower: 0.1, upper: 0.2 },
  Exclude: { identifiers: ['N003'] },
  Freeze: { identifiers: ['N006'], reference: 'previous' },
};

const OBJECTIVES = OBJECTIVE_CLASSES.map(({ type }) =>
  type === 'max_sharpe' ? { type, risk_free_rate: -0.01 } : { type },
);

/**
 * Objective of drawdowns. It takes ten times as long as others, so it is tested with one row and its shadow price. The
 * soak tests it with every row.
 */
const DRAWDOWNS = 'min_cdar';

/** Classes that limit a quadratic measure. They become cones in the problem. */
const CONES = new Set(['Volatility', 'TrackingError', 'EffectiveNumber']);

interface Costs {
  readonly bps: number;
  readonly impact: number;
}

/**
 * Returns the costs of a case. Tail losses together with a cone have non-linear costs only in the soak, because each
 * solve takes seconds.
 */
const selectCosts = (objective: { type: string }, row: string, costs: Costs): Costs =>
  objective.type === 'min_cvar' && CONES.has(row) && !IS_SOAK ? { ...costs, impact: 0 } : costs;

const createRowProblem = (objective: { type: string }, rows: readonly object[], costs?: Costs) =>
  buildProblem({
    names: NAMES,
    seed: 21,
    hasPrevious: true,
    rows,
    objective,
    ...(costs === undefined ? {} : { costs }),
  });

test('the list has every convex class', () => {
  expect(Object.keys(ROWS)).toEqual(CONSTRAINT_CLASSES.filter(({ convex }) => convex).map(({ type }) => type));
});

const MEASURED_OBJECTIVES = IS_SOAK ? 'every objective' : 'every other objective in turns';

describe(`a convex row holds with ${MEASURED_OBJECTIVES}, at an optimum that nothing feasible is better than`, () => {
  const all = Object.entries(ROWS).map(([type, params], i) => ({
    type,
    params,
    objectives: OBJECTIVES.filter((entry, k) =>
      entry.type === DRAWDOWNS ? IS_SOAK || i === 0 : IS_SOAK || (i + k) % 2 === 0,
    ),
  }));
  test.each(all)('$type', ({ type, params, objectives }) => {
    const rows = [{ type, params }];
    const answers = objectives.map((objective) => {
      const problem = createRowProblem(objective, rows, selectCosts(objective, type, { bps: 5, impact: 0.005 }));
      const solution = solveConvex(solvers.solver, problem);
      expect(solution, objective.type).toBeDefined();
      return { problem, solution: solution! };
    });
    for (const { problem, solution } of answers) {
      const { type: objective } = problem.objective.entry;
      const { violation } = certify(addFiniteBounds(solution.assembled.program), solution.answer.point);
      expect(violation, objective).toBeLessThan(2e-9);
      const leastValue = computeGoalValue(problem, solution.weights);
      // The optima of the other objectives and all points on the lines to them are feasible.
      for (const other of answers) {
        for (const share of [0.01, 1]) {
          const mixedWeights = solution.weights.map(
            (weight, i) => weight + share * (other.solution.weights[i]! - weight),
          );
          expect(computeGoalValue(problem, mixedWeights), objective).toBeGreaterThanOrEqual(
            leastValue - 1e-10 * (1 + Math.abs(leastValue)),
          );
        }
      }
    }
  });
});

function addFiniteBounds<P extends { lower: Float64Array; upper: Float64Array }>(program: P): P {
  const clampValues = (values: Float64Array) => values.map((value) => Math.min(Math.max(value, -10), 10));
  return { ...program, lower: clampValues(program.lower), upper: clampValues(program.upper) };
}

describe('a shadow price is the change of the objective, in its own terms', () => {
  const shortRow = { type: 'PositionBounds', params: { lower: -0.1, upper: 1 } };
  const cases: [string, Record<string, unknown>, string, object[]?][] = [
    ['PositionBounds', { upper: 0.09 }, 'upper'],
    ['GroupBounds', { field: 'SECTOR', groups: ['S0'], upper: 0.1 }, 'upper'],
    ['Turnover', { limit: 0.2, reference: 'previous' }, 'limit'],
    ['Volatility', { limit: 0.1 }, 'limit'],
    ['TrackingError', { limit: 0.06 }, 'limit'],
    ['EffectiveNumber', { minimum: 16 }, 'minimum'],
    ['CVaR', { limit: 0.006, confidence: 0.9 }, 'limit'],
    ['WeightedAverage', { field: 'X', upper: 30 }, 'upper'],
    ['ExpectedReturn', { lower: 0.07 }, 'lower'],
    ['GrossExposure', { upper: 1.1 }, 'upper', [shortRow]],
  ];

  const costTerms = { bps: 10, impact: 0.01 };

  test.each(cases)('%s %j', (type, params, parameter, otherRows = []) => {
    let binding = 0;
    const first = cases.findIndex((each) => each[0] === type);
    const hasDrawdowns = IS_SOAK || first === 0;
    const pricedObjectives = OBJECTIVES.filter(
      (entry) => entry.type !== 'min_tracking_error' && (hasDrawdowns || entry.type !== DRAWDOWNS),
    );
    for (const [i, objective] of pricedObjectives.entries()) {
      // Cases with and without costs alternate, so that each objective and each row has both. A limit on volatility
      // binds for only one objective. This objective is solved with and without costs.
      for (const costs of IS_SOAK || type === 'Volatility'
        ? [undefined, costTerms]
        : [(first + i) % 2 === 0 ? undefined : costTerms]) {
        const problem = createRowProblem(
          objective,
          [{ type, params }, ...otherRows],
          costs && selectCosts(objective, type, costs),
        );
        const solution = solveConvex(solvers.solver, problem)!;
        const side = parameter === 'minimum' || parameter === 'lower' ? 'lower' : 'upper';
        const rowSides = listRowSides(problem, solution).filter(
          ({ placed, side: at }) => placed.origin.index === 0 && at === side,
        );
        const price = rowSides.reduce((sum, { shadowPrice }) => sum + shadowPrice, 0);
        const value = params[parameter] as number;
        // The smallest tail average with market impact is accurate to 1e-9. A smaller step would measure this error.
        const step = (objective.type === 'min_cvar' && costs !== undefined ? 1e-4 : 1e-5) * value;
        const sign = problem.objective.entry.sense === 'maximise' ? -1 : 1;
        const solveAtLimit = (to: number) =>
          sign *
          solveConvex(solvers.solver, problem, { changes: [{ origin: problem.origins[0]!, parameter, to }] })!
            .objective;
        const difference = (solveAtLimit(value + step) - solveAtLimit(value - step)) / (2 * step);
        if (Math.abs(price) > 1e-6) binding++;
        expect(Math.abs(price - difference), objective.type).toBeLessThan(0.01 * Math.abs(price) + 1e-7);
      }
    }
    expect(binding).toBeGreaterThan(1);
  });
});

describe('a choice of securities', () => {
  const SMALL = 10;
  const createChoiceProblem = (objective: { type: string }, maximum: number) =>
    buildProblem({ names: SMALL, seed: 3, rows: [{ type: 'Cardinality', params: { maximum } }], objective });

  function computeByEnumeration(problem: ReturnType<typeof createChoiceProblem>, size: number): number {
    let best = Infinity;
    for (let subset = 0; subset < 1 << SMALL; subset++) {
      const heldFlags = Uint8Array.from({ length: SMALL }, (_, i) => (subset >> i) & 1);
      if (heldFlags.reduce((sum, value) => sum + value, 0) !== size) continue;
      const choice = { held: heldFlags, short: new Uint8Array(SMALL), large: [], isFinal: false };
      const options = { restriction: createRestriction([], choice), effort: 'quick' } as const;
      best = Math.min(best, solveConvex(solvers.solver, problem, options)?.value ?? Infinity);
    }
    return best;
  }

  // Objectives that are tested over selections of securities. Drawdowns are left out: they are minimised like tail
  // losses, at three times the cost.
  const CHOSEN = OBJECTIVES.filter(({ type }) => type !== 'risk_parity' && type !== 'min_cdar');

  test.each(CHOSEN)('is the best of all: $type', (objective) => {
    const problem = createChoiceProblem(objective, 3);
    const outcome = solveProblem(solvers, problem);
    if (outcome.kind !== 'solved') throw new Error(outcome.kind);
    expect(outcome.solution.isHeuristic).toBe(false);
    expect(Math.abs(outcome.solution.value / computeByEnumeration(problem, 3) - 1)).toBeLessThan(1e-9);
  });

  test('has no answer where every security has a budget of risk', () => {
    expect(solveProblem(solvers, createChoiceProblem({ type: 'risk_parity' }, 3))).toMatchObject({
      kind: 'no-choice',
      isProven: true,
    });
  });

  test('has a bound that the answer keeps, where it is not proven', () => {
    for (const type of ['min_variance', 'max_sharpe', 'max_diversification']) {
      const problem = buildProblem({
        names: 60,
        seed: 2,
        rows: [{ type: 'Cardinality', params: { maximum: 5 } }],
        objective: { type },
      });
      const outcome = solveProblem(solvers, problem);
      if (outcome.kind !== 'solved') throw new Error(outcome.kind);
      expect(outcome.solution.weights.filter((weight) => weight !== 0).length).toBeLessThanOrEqual(5);
      expect(outcome.solution.bound, type).toBeLessThanOrEqual(outcome.solution.objective);
    }
  });
});

test('the diversification ratio with loadings is that of the matrix', () => {
  const problem = createRowProblem({ type: 'max_decorrelation' }, []);
  const { weights } = solveConvex(solvers.solver, problem)!;
  const matrix = createMetricMatrix(problem.metric);
  let variance = 0;
  let average = 0;
  for (let i = 0; i < NAMES; i++) {
    average += weights[i]! * Math.sqrt(matrix[i * NAMES + i]!);
    for (let j = 0; j < NAMES; j++) variance += weights[i]! * weights[j]! * matrix[i * NAMES + j]!;
  }
  expect(computeGoalValue(problem, weights)).toBeCloseTo(-average / Math.sqrt(variance), 12);
});
