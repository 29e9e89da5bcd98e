import { describe, expect, test } from 'vitest';
import { createDenseMetric } from '#kernels/optimisation/program/metric.js';
import { checkKkt, isOptimal } from '#kernels/optimisation/program/optimality.js';
import { ConstraintRow } from '#domain/definition/constraint-class.js';
import { computeOutcomes, computeTailAverage, type TailGoal } from '#domain/definition/tail-risk.js';
import {
  describeInfeasibility,
  explainChoice,
  explainInfeasibility,
  explainRows,
} from '#domain/optimisation/infeasibility.js';
import { createProblem, type Problem } from '#domain/optimisation/problem.js';
import { solveProblem } from '#domain/optimisation/search.js';
import { seeded } from '../../seeded.js';
import { buildProblem, solvers } from './small-problems.js';

interface Tails {
  readonly names: number;
  /** Simple returns by scenario, [T x N]. */
  readonly returns: Float64Array;
  readonly rows: readonly object[];
}

/** Returns a problem with equal index weights, equal variances, and the given scenarios. */
function createTailProblem({ names, returns, rows }: Tails): Problem {
  const identifiers = Array.from({ length: names }, (_, i) => `N${i}`);
  const matrix = new Float64Array(names * names);
  for (let i = 0; i < names; i++) matrix[i * names + i] = 0.04 + 0.001 * i;
  return createProblem({
    identifiers,
    index: new Float64Array(names).fill(1 / names),
    previous: null,
    metric: createDenseMetric(matrix, names),
    scenarios: () => ({ returns, counts: null }),
    rows: rows.map((row) => ConstraintRow.parse(row)),
    datapoints: {
      numbers: () => new Float64Array(names),
      categories: () => identifiers.map(() => 'G'),
      medianValueTraded: () => new Float64Array(names),
    },
  });
}

/**
 * Returns one scenario per security. In it this security has its entry of `losses`, and the other securities have no
 * loss.
 */
function computeOwnLosses(losses: readonly number[]): Float64Array {
  const n = losses.length;
  const returns = new Float64Array(n * n);
  losses.forEach((loss, i) => (returns[i * n + i] = -loss));
  return returns;
}

/** Returns random returns from one common factor and a shock per security, [T x N]. */
function drawReturns(names: number, scenarios: number, seed: number): Float64Array {
  const random = seeded(seed);
  const drawNormal = () => random() + random() + random() - 1.5;
  const betas = Float64Array.from({ length: names }, () => 0.5 + random());
  const returns = new Float64Array(names * scenarios);
  for (let t = 0; t < scenarios; t++) {
    const market = 0.02 * drawNormal();
    for (let i = 0; i < names; i++) returns[t * names + i] = 0.0003 + betas[i]! * market + 0.03 * drawNormal();
  }
  return returns;
}

const computeLossAverage = (goal: TailGoal, weights: Float64Array) =>
  computeTailAverage(goal, computeOutcomes(goal, weights));

const LOSSES = [0.01, 0.02, 0.03, 0.05, 0.02, 0.04, 0.01, 0.06];

describe('a limit below the least of a tail', () => {
  test.each([
    // The largest w_i a_i is smallest if all products are equal: 1 / sum(1 / a_i).
    ['CVaR', 1 / LOSSES.reduce((sum, loss) => sum + 1 / loss, 0)],
    // The last drawdown is the sum of w_i a_i, and no other drawdown is larger. So the minimum is the smallest loss.
    ['CDaR', Math.min(...LOSSES)],
  ] as const)('%s of a single worst scenario: the least is reported, and is sufficient', (type, leastLimit) => {
    const names = LOSSES.length;
    const params = { limit: leastLimit / 3, confidence: 0.99 };
    const problem = createTailProblem({
      names,
      returns: computeOwnLosses(LOSSES),
      rows: [{ id: 'tail', type, params }],
    });
    const { detail, remaining } = explainRows(solvers, problem)!;
    expect(detail.proven).toBe(true);
    expect(detail.conflict.map(({ id }) => id)).toContain('tail');
    expect(detail.relaxations).toHaveLength(1);
    expect(Math.abs(detail.relaxations[0]!.to - leastLimit)).toBeLessThan(2e-9);
    expect(detail.all_rows_relaxation).toEqual(detail.relaxations);
    expect(detail).not.toHaveProperty('exhaustive');
    expect(describeInfeasibility(problem, detail, remaining)).toContain(
      `the lowest that the other constraints allow is ${Number((100 * leastLimit).toPrecision(4))}%.`,
    );
    const [origin] = problem.origins;
    const changedProblem = problem.withParameters([
      { origin: origin!, parameter: 'limit', to: detail.relaxations[0]!.to },
    ]);
    expect(solveProblem(solvers, changedProblem).kind).toBe('solved');
  });

  test.each(['CVaR', 'CDaR'] as const)(
    '%s of many scenarios: a dual portfolio of scenarios proves the least',
    (type) => {
      const [names, scenarios] = [20, 80];
      const params = { limit: 0.001, confidence: 0.95 };
      const problem = createTailProblem({
        names,
        returns: drawReturns(names, scenarios, 3),
        rows: [{ id: 'tail', type, params }],
      });
      const { relaxations, conflict } = explainInfeasibility(solvers, problem)!;
      const { to } = relaxations[0]!;
      // The plane is below the tail average, and its minimum over the simplex is the limit. So no weights have a
      // smaller tail average.
      const { goal } = problem.tails.known[0]!;
      const highestLoss = Math.max(...problem.tails.known.map(({ slopes }) => Math.min(...slopes)));
      expect(Math.abs(highestLoss - to)).toBeLessThan(2e-8);
      expect(conflict.map(({ id }) => id)).toContain('tail');
      const random = seeded(11);
      for (let k = 0; k < 50; k++) {
        const raw = Float64Array.from({ length: names }, () => random() ** 8);
        const sum = raw.reduce((total, value) => total + value, 0);
        const weights = raw.map((value) => value / sum);
        for (const { slopes } of problem.tails.known)
          expect(slopes.reduce((total, slope, i) => total + slope * weights[i]!, 0)).toBeLessThan(
            computeLossAverage(goal, weights) + 1e-9,
          );
      }
    },
  );
});

describe('a limit at the least of a tail, where planes that touch it at single weights are many', () => {
  test.each([
    ['CVaR', 60, 300],
    ['CDaR', 20, 80],
  ] as const)(
    '%s: the answer is the optimum of a program whose planes are below the tail',
    (type, names, scenarios) => {
      const createRows = (limit: number) => [{ id: 'tail', type, params: { limit, confidence: 0.95 } }];
      const returns = drawReturns(names, scenarios, 5);
      const { to } = explainInfeasibility(solvers, createTailProblem({ names, returns, rows: createRows(0.0001) }))!
        .relaxations[0]!;
      const problem = createTailProblem({ names, returns, rows: createRows(to) });
      const outcome = solveProblem(solvers, problem);
      if (outcome.kind !== 'solved') throw new Error(outcome.kind);
      const { weights, assembled, answer } = outcome.solution;
      const [row] = problem.rows;
      const goal = (row!.row as { readonly goal: TailGoal }).goal; // the first row limits the tail
      expect(computeLossAverage(goal, weights)).toBeLessThan(to + 1.1e-9);
      expect(isOptimal(checkKkt(assembled.program, answer.point))).toBe(true);
      const { n, rows: ownRows } = assembled.program;
      for (let r = ownRows.count - assembled.planes; r < ownRows.count; r++) {
        expect(Math.abs(ownRows.upper[r]! - to)).toBeLessThan(2e-9);
        // The plane is below the tail average everywhere: at the corners of the simplex, and at the solution.
        const slopes = ownRows.coefficients.subarray(r * n, r * n + n);
        for (let i = 0; i < n; i++) {
          const corner = new Float64Array(n).with(i, 1);
          expect(slopes[i]!).toBeLessThan(computeLossAverage(goal, corner) + 1e-9);
        }
        const value = slopes.reduce((sum, slope, i) => sum + slope * weights[i]!, 0);
        expect(value).toBeLessThan(computeLossAverage(goal, weights) + 1e-9);
      }
    },
  );
});

describe('the work of an explanation', () => {
  const rows = [
    { id: 'tail', type: 'CVaR', params: { limit: 0.0001, confidence: 0.95 } },
    { id: 'te', type: 'TrackingError', params: { limit: 0.01 } },
    { id: 'pos', type: 'PositionBounds', params: { upper: 0.05 } },
  ];
  const createWideProblem = () => createTailProblem({ names: 24, returns: drawReturns(24, 100, 7), rows });

  test('ends with a finding: no necessary row is lost, and its offer is sufficient', () => {
    const wholeDetail = explainInfeasibility(solvers, createWideProblem())!;
    expect(wholeDetail).not.toHaveProperty('exhaustive');
    for (const workMax of [0, 1e7, 3e7]) {
      const wideProblem = createWideProblem();
      const { detail, remaining } = explainRows(solvers, wideProblem, workMax)!;
      expect(detail).toMatchObject({ proven: true, exhaustive: false });
      expect(detail.conflict.map(({ id, type }) => id || type)).toEqual(
        expect.arrayContaining(wholeDetail.conflict.map(({ id, type }) => id || type)),
      );
      expect(describeInfeasibility(wideProblem, detail, remaining)).toContain(
        'The work limit of this explanation was reached',
      );
      for (const { index, parameter, to } of detail.relaxations) {
        const changedProblem = wideProblem.withParameters([{ origin: wideProblem.origins[index!]!, parameter, to }]);
        expect(solveProblem(solvers, changedProblem).kind).toBe('solved');
      }
    }
    expect(explainInfeasibility(solvers, createWideProblem(), 0)!.relaxations).toEqual([]);
  });
});

describe('what the sentences promise', () => {
  const problem = buildProblem({
    names: 15,
    seed: 1,
    rows: [
      { id: 'te', type: 'TrackingError', params: { limit: 0.001 } },
      { id: 'turn', type: 'Turnover', params: { limit: 0.05, reference: 'index' } },
      { id: 'cap', type: 'PositionBounds', params: { upper: 0.075 } },
    ],
  });

  test('a second conflict is reported with the row without which it remains', () => {
    const { detail, remaining } = explainRows(solvers, problem)!;
    const sentence = describeInfeasibility(problem, detail, remaining);
    const conflictRows = detail.conflict.flatMap(({ index }) => (index === null ? [] : [index]));
    for (const index of conflictRows) {
      const remainingDetail = explainInfeasibility(solvers, problem.without(problem.origins[index]!));
      expect(remaining.some((each) => each.without.index === index)).toBe(remainingDetail !== undefined);
      expect(sentence.includes(`Without ${problem.origins[index]!.id} there is still a conflict`)).toBe(
        remainingDetail !== undefined,
      );
    }
    expect(remaining.length).toBeGreaterThan(0);
  });

  test('every change is reported with the possible value, whatever the row is', () => {
    const { detail } = explainRows(solvers, problem)!;
    const sentence = describeInfeasibility(problem, detail);
    expect(detail.relaxations.length).toBeGreaterThan(0);
    for (const { to } of detail.relaxations)
      expect(sentence).toContain(
        `the lowest that the other constraints allow is ${Number((100 * to).toPrecision(4))}%.`,
      );
    expect(sentence).toContain(detail.relaxations[0]!.id);
  });

  test('an effective number is never offered above the number of securities', () => {
    for (const rows of [
      [{ id: 'n', type: 'EffectiveNumber', params: { minimum: 40 } }],
      [
        { id: 'n', type: 'EffectiveNumber', params: { minimum: 40 } },
        { id: 'cap', type: 'PositionBounds', params: { upper: 0.1 } },
      ],
    ]) {
      const detail = explainInfeasibility(solvers, buildProblem({ names: 25, seed: 2, rows }))!;
      for (const { id, to } of [...detail.relaxations, ...detail.all_rows_relaxation!]) {
        if (id !== 'n') continue;
        expect(to).toBeLessThanOrEqual(25);
        expect(to).toBeGreaterThan(25 - 1e-6);
      }
    }
  });
});

describe('a number of securities that caps do not let reach the whole', () => {
  const rows = [
    { id: 'n', type: 'Cardinality', params: { maximum: 20 } },
    { id: 'cap', type: 'PositionBounds', params: { upper: 0.02 } },
  ];

  test('is proven, with the least cap and the least number', () => {
    const problem = buildProblem({ names: 70, seed: 4, rows });
    const outcome = solveProblem(solvers, problem);
    expect(outcome).toEqual({ kind: 'no-choice', isProven: true });
    const detail = explainChoice(solvers, problem, true);
    expect(detail).toMatchObject({
      proven: true,
      relaxations: [
        { id: 'cap', parameter: 'upper', from: 0.02, to: 0.05 },
        { id: 'n', parameter: 'maximum', from: 20, to: 50 },
      ],
    });
    for (const relaxation of detail.relaxations) expect(relaxation).not.toHaveProperty('bound');
  });

  test('counts by groups add up, and securities outside of them count in full', () => {
    const createGroupedProblem = (maximum: number, upper: number) =>
      buildProblem({
        names: 50,
        seed: 4,
        rows: [
          { id: 'g', type: 'GroupCardinality', params: { field: 'SECTOR', groups: ['S0', 'S1'], maximum } },
          { id: 'cap', type: 'PositionBounds', params: { upper } },
        ],
      });
    // Each of two sectors may hold two of its ten securities. With all of the thirty others, these are thirty-four
    // securities.
    expect(solveProblem(solvers, createGroupedProblem(2, 0.99 / 34))).toEqual({ kind: 'no-choice', isProven: true });
    expect(solveProblem(solvers, createGroupedProblem(2, 1.001 / 34)).kind).toBe('solved');
  });
});
