import { describe, expect, test } from 'vitest';
import { createDenseMetric, createMetricMatrix } from '#kernels/optimisation/program/metric.js';
import { solveConvex } from '#domain/optimisation/convex-solve.js';
import { computeTrackingVariance, createProblem, type Problem } from '#domain/optimisation/problem.js';
import { solveProblem } from '#domain/optimisation/search.js';
import { createRestriction } from '#domain/optimisation/restriction.js';
import { createDoubles, createTrackingProgram, trackingCases } from '../../kernels/optimisation/tracking-cases.js';
import { OBJECTIVE_CLASSES } from '#domain/definition/objectives.js';
import { ConstraintRow } from '#domain/definition/constraint-class.js';
import { IS_SOAK } from '../../soak.js';
import { buildProblem, solvers, type SmallMarket } from './small-problems.js';

const requireSolution = (problem: Problem) => {
  const outcome = solveProblem(solvers, problem);
  if (outcome.kind !== 'solved') throw new Error(`no answer: ${outcome.kind}`);
  return outcome.solution;
};

/** Solves a problem. @returns the problem and the weights of its solution */
const measureIn = (market: SmallMarket): [Problem, Float64Array] => {
  const problem = buildProblem(market);
  return [problem, requireSolution(problem).weights];
};

const countHeld = (weights: Float64Array) =>
  weights.reduce((count, weight) => count + (Math.abs(weight) > 1e-9 ? 1 : 0), 0);

/** Returns the minimum over all choices of `size` securities. It solves each choice separately. */
function computeByEnumeration(problem: Problem, size: number): number {
  const n = problem.index.length;
  let best = Infinity;
  const choose = (from: number, chosen: number[]): void => {
    if (chosen.length === size) {
      const choice = {
        held: Uint8Array.from({ length: n }, (_, i) => (chosen.includes(i) ? 1 : 0)),
        short: new Uint8Array(n),
        large: [],
        isFinal: false,
      };
      best = Math.min(
        best,
        solveConvex(solvers.solver, problem, { restriction: createRestriction([], choice), effort: 'quick' })?.value ??
          Infinity,
      );
      return;
    }
    for (let i = from; i <= n - (size - chosen.length); i++) choose(i + 1, [...chosen, i]);
  };
  choose(0, []);
  return best;
}

describe('a number of securities', () => {
  test('securities with a positive lower bound are never dropped: too many of them are reported without a solve each', () => {
    let solves = 0;
    const { solver, algebra } = solvers;
    const solve: typeof solver.solve = (...solveTerms) => {
      solves++;
      return solver.solve(...solveTerms);
    };
    const rows = [
      { type: 'RelativePositionBounds', params: { lower: 0.3, upper: 3 } },
      { type: 'Cardinality', params: { maximum: 30 } },
    ];
    const countedSolvers = { solver: { ...solver, solve }, algebra };
    expect(solveProblem(countedSolvers, buildProblem({ names: 60, seed: 3, rows })).kind).toBe('no-choice');
    expect(solves).toBeLessThan(5);
  });

  test('the reference case with five of fourteen is the enumerated optimum', () => {
    const problem = trackingCases.find(({ id }) => id === 'o10_cardinality')!;
    const { program } = createTrackingProgram(problem);
    const builtProblem = createProblem({
      identifiers: Array.from({ length: problem.N }, (_, i) => `N${String(i).padStart(2, '0')}`),
      index: program.centre,
      previous: null,
      metric: createDenseMetric(createMetricMatrix(program.metric!), problem.N),
      rows: [
        { type: 'PositionBounds', params: { upper: 0.4 } },
        { type: 'Cardinality', params: { maximum: 5 } },
      ].map((row) => ConstraintRow.parse(row)),
      datapoints: { numbers: () => program.centre, categories: () => [], medianValueTraded: () => program.centre },
    });
    const solution = requireSolution(builtProblem);
    expect(solution.objective / problem.expected.tracking_variance).toBeCloseTo(1, 9);
    const expected = createDoubles(problem.expected.weights.data);
    solution.weights.forEach((weight, i) => expect(Math.abs(weight - expected[i]!)).toBeLessThan(1e-8));
    expect([solution.isHeuristic, countHeld(solution.weights)]).toEqual([false, problem.expected.holdings]);
  });

  test('few names are chosen as enumeration chooses them', () => {
    for (let seed = 1; seed <= 3; seed++) {
      const problem = buildProblem({ names: 12, seed, rows: [{ type: 'Cardinality', params: { maximum: 4 } }] });
      const solution = requireSolution(problem);
      expect(solution.isHeuristic).toBe(false);
      expect(Math.abs(solution.objective / computeByEnumeration(problem, 4) - 1), `seed ${seed}`).toBeLessThan(1e-9);
    }
  });

  const BESIDE = [
    { type: 'Cardinality', params: { maximum: 4 } },
    { type: 'MinimumHolding', params: { threshold: 0.12 } },
    { type: 'GroupCardinality', params: { field: 'SECTOR', maximum: 1 } },
  ];

  test.each(BESIDE)('$type leaves the tracking error within its limit, whatever is the objective', (row) => {
    for (const { type } of OBJECTIVE_CLASSES) {
      const isSlow = type === 'min_cdar' || (type === 'min_cvar' && row.type !== 'Cardinality');
      if (type === 'risk_parity' || (isSlow && !IS_SOAK)) continue; // equal risk holds every security
      const isSmall = type === 'min_cvar' || row.type !== 'GroupCardinality'; // among six securities, two belong to one group
      const market = { names: IS_SOAK ? 8 : isSmall ? 5 : 6, seed: 4 };
      const nearest = { ...market, rows: [row], objective: { type: 'min_tracking_error' } };
      const limit = {
        type: 'TrackingError',
        params: { limit: 1.1 * Math.sqrt(computeTrackingVariance(...measureIn(nearest))) },
      };
      const objective = type === 'max_sharpe' ? { type, risk_free_rate: -0.01 } : { type };
      const [problem, weights] = measureIn({ ...market, rows: [limit, row], objective });
      const error = Math.sqrt(computeTrackingVariance(problem, weights));
      expect(error / limit.params.limit, type).toBeLessThan(1 + 1e-7);
    }
  });

  test('few securities little above the least turnover that so few can have', () => {
    const market = { names: 45, seed: 5, hasPrevious: true, objective: { type: 'min_variance' } };
    const { weights } = buildProblem({ ...market, rows: [] }).previous!;
    const largest = weights.toSorted().subarray(-12);
    const leastRest = 1 - largest.reduce((sum, weight) => sum + weight, 0);
    const limit = leastRest + 0.002;
    const rows = [
      { type: 'Turnover', params: { limit, reference: 'previous' } },
      { type: 'Cardinality', params: { maximum: 12 } },
    ];
    const [, chosen] = measureIn({ ...market, rows });
    const turnover = chosen.reduce((sum, weight, i) => sum + Math.abs(weight - weights[i]!), 0) / 2;
    expect([countHeld(chosen), turnover <= limit + 1e-9]).toEqual([12, true]);
  });

  test('securities under a tracking error, hard or soft, are chosen as enumeration chooses them', () => {
    for (const soft of [undefined, 0.3]) {
      const limit = { type: 'TrackingError', params: { limit: 0.12, ...(soft === undefined ? {} : { soft }) } };
      const rows = [limit, { type: 'Cardinality', params: { maximum: 3 } }];
      const problem = buildProblem({ names: 6, seed: 4, rows, objective: { type: 'min_variance' } });
      expect(
        Math.abs(requireSolution(problem).value / computeByEnumeration(problem, 3) - 1),
        `penalty ${soft}`,
      ).toBeLessThan(1e-8);
    }
  });

  test.each(['min_cvar', 'min_cdar'])('the names of the least tail are those of all 56 choices: %s', (type) => {
    const rows = [{ type: 'Cardinality', params: { maximum: 3 } }];
    const problem = buildProblem({ names: 8, seed: 2, rows, objective: { type, confidence: 0.8 } });
    const solution = requireSolution(problem);
    expect([solution.isHeuristic, countHeld(solution.weights)]).toEqual([false, 3]);
    expect(Math.abs(solution.objective / computeByEnumeration(problem, 3) - 1)).toBeLessThan(1e-7);
  });

  test('a limit on a tail that few choices keep is kept by the names of the least', () => {
    const rows = [{ type: 'Cardinality', params: { maximum: 3 } }];
    const leastSolution = requireSolution(
      buildProblem({ names: 45, seed: 6, rows, objective: { type: 'min_cvar', confidence: 0.9 } }),
    );
    expect(leastSolution.isHeuristic).toBe(true);
    expect(leastSolution.bound).toBeLessThan(leastSolution.objective);
    const limit = { type: 'CVaR', params: { limit: 1.001 * leastSolution.objective, confidence: 0.9 } };
    const utility = { type: 'max_utility', risk_aversion: 1 };
    const solution = requireSolution(buildProblem({ names: 45, seed: 6, rows: [...rows, limit], objective: utility }));
    const freeSolution = requireSolution(buildProblem({ names: 45, seed: 6, rows, objective: utility }));
    expect(countHeld(solution.weights)).toBeLessThanOrEqual(3);
    expect(solution.objective).toBeGreaterThanOrEqual(solution.bound);
    expect(solution.bound).toBeGreaterThanOrEqual(freeSolution.bound);
  });

  test('five of thirteen names are those of all 1,287 choices', () => {
    const problem = buildProblem({
      names: 13,
      seed: 1,
      rows: [
        { type: 'Cardinality', params: { maximum: 5 } },
        { type: 'PositionBounds', params: { upper: 0.3 } },
      ],
    });
    const solution = requireSolution(problem);
    expect(solution.isHeuristic).toBe(false);
    expect(Math.abs(solution.objective / computeByEnumeration(problem, 5) - 1)).toBeLessThan(1e-9);
  });

  test('a choice weighs the price of soft rows with the tracking variance', () => {
    for (let seed = 1; seed <= 2; seed++) {
      const rows = [
        { type: 'Cardinality', params: { maximum: 3 } },
        { type: 'GroupBounds', params: { field: 'SECTOR', upper: 0.25, soft: 0.02 } },
        { type: 'Turnover', params: { limit: 0.3, reference: 'previous', soft: 0.01 } },
      ];
      const problem = buildProblem({ names: 10, seed, rows, hasPrevious: true });
      const solution = requireSolution(problem);
      expect(solution.value).toBeGreaterThan(solution.objective);
      expect(Math.abs(solution.value / computeByEnumeration(problem, 3) - 1), `seed ${seed}`).toBeLessThan(1e-7);
    }
  });

  test('forty names are chosen from exactly, in fewer nodes than the search may have', () => {
    const cases = [
      [25, 0],
      [12, 0],
      [10, 0.03],
    ] as const;
    for (const [maximum, threshold] of IS_SOAK ? cases : cases.slice(0, 1)) {
      const rows = [
        { type: 'Cardinality', params: { maximum } },
        ...(threshold > 0 ? [{ type: 'MinimumHolding', params: { threshold } }] : []),
      ];
      const solution = requireSolution(buildProblem({ names: 40, seed: 1, rows }));
      expect([solution.isHeuristic, solution.bound]).toEqual([false, solution.objective]);
    }
  });

  test('a security that is held short is one of them, as enumeration has it', () => {
    for (let seed = 1; seed <= (IS_SOAK ? 2 : 1); seed++) {
      const shortNames = ['N002', 'N007'];
      const rows = [
        { type: 'Cardinality', params: { minimum: 4, maximum: 5 } },
        { type: 'PositionBounds', params: { lower: -0.1, upper: -0.05, identifiers: shortNames } },
      ];
      const problem = buildProblem({ names: 10, seed, rows });
      const solution = requireSolution(problem);
      expect(countHeld(solution.weights)).toBeLessThanOrEqual(5);
      for (const place of [2, 7]) expect(solution.weights[place]).toBeLessThanOrEqual(-0.05 + 1e-9);
      expect(solution.isHeuristic).toBe(false);
      expect(solution.value / Math.min(computeByEnumeration(problem, 4), computeByEnumeration(problem, 5))).toBeCloseTo(
        1,
        7,
      );
    }
  });

  test('a threshold of held securities leaves short ones alone', () => {
    const rows = [
      { type: 'MinimumHolding', params: { threshold: 0.12 } },
      { type: 'PositionBounds', params: { lower: -0.1, upper: -0.02, identifiers: ['N003'] } },
    ];
    const { weights } = requireSolution(buildProblem({ names: 11, seed: 4, rows }));
    expect(weights[3]).toBeLessThanOrEqual(-0.02 + 1e-9);
    expect(weights.every((weight, i) => i === 3 || weight < 1e-9 || weight > 0.12 - 1e-9)).toBe(true);
  });

  test('many names are chosen better than by keeping the largest, and honestly', () => {
    const problem = buildProblem({ names: 120, seed: 5, rows: [{ type: 'Cardinality', params: { maximum: 25 } }] });
    const solution = requireSolution(problem);
    expect(solution.isHeuristic).toBe(true);
    expect(countHeld(solution.weights)).toBeLessThanOrEqual(25);
    expect(solution.bound).toBeLessThanOrEqual(solution.objective);
    const largest = Array.from(problem.index.keys())
      .toSorted((a, b) => problem.index[b]! - problem.index[a]!)
      .slice(0, 25);
    const choice = {
      held: Uint8Array.from(problem.index, (_, i) => (largest.includes(i) ? 1 : 0)),
      short: new Uint8Array(120),
      large: [],
      isFinal: false,
    };
    const retainedSolution = solveConvex(solvers.solver, problem, { restriction: createRestriction([], choice) })!;
    expect(Math.sqrt(solution.objective)).toBeLessThan(0.95 * Math.sqrt(retainedSolution.objective));
  });

  test('a minimum number of securities, and one of each sector', () => {
    const problem = buildProblem({
      names: 20,
      seed: 2,
      rows: [
        { type: 'Cardinality', params: { minimum: 6, maximum: 8 } },
        { type: 'GroupCardinality', params: { field: 'SECTOR', minimum: 1, maximum: 2 } },
        { type: 'PositionBounds', params: { upper: 0.5 } },
      ],
    });
    const { weights } = requireSolution(problem);
    expect(countHeld(weights)).toBeGreaterThanOrEqual(6);
    expect(countHeld(weights)).toBeLessThanOrEqual(8);
    for (let group = 0; group < 5; group++) {
      const count = countHeld(weights.filter((_, i) => i % 5 === group));
      expect(count).toBeGreaterThanOrEqual(1);
      expect(count).toBeLessThanOrEqual(2);
    }
  });
});

describe('other choices', () => {
  test('no security is held below a threshold, in small problems at the least cost', () => {
    for (let seed = 1; seed <= 3; seed++) {
      const problem = buildProblem({ names: 9, seed, rows: [{ type: 'MinimumHolding', params: { threshold: 0.08 } }] });
      const solution = requireSolution(problem);
      expect(solution.weights.every((weight) => weight <= 1e-9 || weight >= 0.08 - 1e-9)).toBe(true);
      let best = Infinity;
      for (let code = 1; code < 512; code++) {
        const lows = Float64Array.from({ length: 9 }, (_, i) => ((code >> i) & 1 ? 0.08 : 0));
        const highs = Float64Array.from({ length: 9 }, (_, i) => ((code >> i) & 1 ? Infinity : 0));
        best = Math.min(
          best,
          solveConvex(solvers.solver, problem, { restriction: { least: lows, most: highs, sums: [] }, effort: 'quick' })
            ?.objective ?? Infinity,
        );
      }
      expect(Math.abs(solution.objective / best - 1), `seed ${seed}`).toBeLessThan(1e-8);
    }
  });

  test('the names above the trigger sum to at most the aggregate', () => {
    for (const [type, single, trigger, aggregate] of [
      ['Concentration5_10_40', 0.1, 0.05, 0.4],
      ['ConcentrationRIC', 0.25, 0.05, 0.5],
    ] as const) {
      for (const names of [30, 60]) {
        const { weights, isHeuristic, objective } = requireSolution(
          buildProblem({ names, seed: 7, rows: [{ type, params: {} }] }),
        );
        const largeSum = weights.filter((weight) => weight > trigger + 1e-9).reduce((sum, weight) => sum + weight, 0);
        expect(Math.max(...weights)).toBeLessThanOrEqual(single + 1e-9);
        expect(largeSum).toBeLessThanOrEqual(aggregate + 1e-9);
        expect(isHeuristic).toBe(names > 40 && objective > 0);
      }
    }
  });

  test('a relaxation that satisfies the row is no heuristic', () => {
    const solution = requireSolution(
      buildProblem({ names: 50, seed: 3, rows: [{ type: 'Cardinality', params: { maximum: 50 } }] }),
    );
    expect([solution.isHeuristic, solution.objective, solution.bound]).toEqual([false, 0, 0]);
  });

  test('too few securities for the caps is proven where every choice can be ruled out', () => {
    const outcome = solveProblem(
      solvers,
      buildProblem({
        names: 10,
        seed: 1,
        rows: [
          { type: 'PositionBounds', params: { upper: 0.2 } },
          { type: 'Cardinality', params: { maximum: 4 } },
        ],
      }),
    );
    expect(outcome).toMatchObject({ kind: 'no-choice', isProven: true });
  });
});
