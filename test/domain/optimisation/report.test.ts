import { describe, expect, test } from 'vitest';
import { assembleProgram } from '#domain/optimisation/assembly.js';
import { findConflict } from '#domain/optimisation/conflicts.js';
import { listRowSides } from '#domain/optimisation/report.js';
import { solveConvex } from '#domain/optimisation/convex-solve.js';
import { buildProblem, solvers } from './small-problems.js';

const listSides = (rows: object[], options: { names?: number; seed?: number; hasPrevious?: boolean } = {}) => {
  const problem = buildProblem({ names: 20, seed: 4, ...options, rows });
  const solution = solveConvex(solvers.solver, problem);
  if (solution === undefined) throw new Error('no answer');
  return { problem, solution, sides: listRowSides(problem, solution) };
};

describe('shadow prices', () => {
  /** Class, parameters, and the name of the parameter that is relaxed. */
  const cases: [string, Record<string, unknown>, string][] = [
    ['PositionBounds', { upper: 0.09 }, 'upper'],
    ['GroupBounds', { field: 'SECTOR', groups: ['S0'], upper: 0.1 }, 'upper'],
    ['ActiveGroupBounds', { field: 'SECTOR', groups: ['S1'], lower: 0.03, upper: 0.2 }, 'lower'],
    ['Turnover', { limit: 0.25, reference: 'previous' }, 'limit'],
    ['Volatility', { limit: 0.1 }, 'limit'],
    ['EffectiveNumber', { minimum: 14 }, 'minimum'],
    ['WeightedAverage', { field: 'X', upper: 30 }, 'upper'],
    ['WeightedAverage', { field: 'X', lower: 1.3, relative: true }, 'lower'],
    ['FactorExposure', { field: 'X', lower: 0.5 }, 'lower'],
    ['Beta', { upper: 0.9 }, 'upper'],
    ['WeightSum', { lower: 0.9, upper: 0.95 }, 'upper'],
    ['LinearConstraint', { coefficients: { N001: 1, N002: -1 }, lower: 0.1 }, 'lower'],
  ];

  test.each(cases)('%s %j: the price of %s is the change of the objective', (type, params, parameter) => {
    const options = { hasPrevious: true };
    const { sides, solution, problem } = listSides([{ type, params }], options);
    const side = parameter === 'minimum' ? 'lower' : parameter === 'limit' ? 'upper' : parameter;
    const rowSides = sides.filter(({ placed, side: at }) => placed.origin.index === 0 && at === side);
    expect(rowSides.some(({ isBinding }) => isBinding)).toBe(true);
    const value = params[parameter] as number;
    const step = 1e-5 * Math.max(Math.abs(value), 1e-2);
    const solveAtBound = (to: number) =>
      solveConvex(solvers.solver, problem, { changes: [{ origin: problem.origins[0]!, parameter, to }] })!.objective;
    const difference = (solveAtBound(value + step) - solveAtBound(value - step)) / (2 * step);
    // A relative bound is a multiple of the index average.
    const scale = params['relative'] === true ? computeRelativeScale(problem) : 1;
    const price = rowSides.reduce((sum, { shadowPrice }) => sum + shadowPrice, 0) * scale;
    expect(Math.abs(price / difference - 1)).toBeLessThan(0.01);
    expect(solution.objective).toBeGreaterThan(0);
  });

  function computeRelativeScale({ rows }: ReturnType<typeof buildProblem>): number {
    const row = rows[0]!.row;
    return row.form === 'linear' ? row.average!.scale : 1;
  }
});

describe('a tracking error of nothing', () => {
  const noTracking = { type: 'TrackingError', params: { limit: 0 } };
  const costs = { bps: 5, impact: 0 };

  test.each(['min_variance', 'max_utility', 'max_sharpe', 'max_return', 'risk_parity', 'min_cvar'])(
    'leaves %s the index, at the price of the next bit of it',
    (type) => {
      const createProblemWith = (limit: number, more: object[] = []) => {
        const rows = [{ ...noTracking, params: { limit } }, ...more];
        return buildProblem({ names: 20, seed: 4, rows, objective: { type }, costs });
      };
      const problem = createProblemWith(0);
      const solution = solveConvex(solvers.solver, problem)!;
      solution.weights.forEach((weight, i) => expect(Math.abs(weight - problem.index[i]!)).toBeLessThan(1e-8));
      const [side] = listRowSides(problem, solution).filter(({ placed }) => placed.origin.index === 0);
      expect(side).toMatchObject({ limit: 0, slack: 0, isBinding: true });
      const step = 1e-5;
      const looserSolution = solveConvex(solvers.solver, createProblemWith(step))!;
      const better = solution.objective - looserSolution.objective; // the solver minimises every objective
      expect(Math.abs((Math.abs(side!.shadowPrice) * step) / better - 1)).toBeLessThan(0.02);
      // The largest security exceeds a bound. The other securities could absorb the excess.
      const cappedRow = { type: 'PositionBounds', params: { upper: 0.9 * Math.max(...problem.index) } };
      expect(
        findConflict(solvers.solver, createProblemWith(0, [cappedRow]))?.origins.map((origin) => origin.type),
      ).toEqual(['TrackingError', 'PositionBounds']);
    },
  );
});

describe('slacks', () => {
  test('are the distances of the weights from every bound', () => {
    const { sides, solution, problem } = listSides([
      { id: 'pos', type: 'PositionBounds', params: { upper: 0.12 } },
      { id: 'sec', type: 'GroupBounds', params: { field: 'SECTOR', lower: 0.1, upper: 0.3 } },
      { id: 'te', type: 'TrackingError', params: { limit: 0.2 } },
      { id: 'share', type: 'ActiveShare', params: { limit: 0.6 } },
    ]);
    const { weights } = solution;
    for (const { placed, side, slack, label } of sides) {
      const { row } = placed;
      if (row.form === 'name')
        expect(slack).toBeCloseTo(
          Math.max(0, side === 'upper' ? row.upper!.value - weights[row.name]! : weights[row.name]! - row.lower!.value),
          14,
        );
      if (label.startsWith('GroupBounds[sec]:upper')) {
        const sum = weights.filter((_, i) => `S${i % 5}` === row.member).reduce((total, weight) => total + weight, 0);
        expect(slack).toBeCloseTo(Math.max(0, 0.3 - sum), 14);
      }
    }
    expect(sides.find(({ label }) => label === 'TrackingError[te]:upper')!.slack).toBeCloseTo(
      0.2 - Math.sqrt(solution.objective),
      12,
    );
    const share = weights.reduce((sum, weight, i) => sum + Math.abs(weight - problem.index[i]!), 0) / 2;
    expect(sides.find(({ label }) => label === 'ActiveShare[share]:upper')!.slack).toBeCloseTo(0.6 - share, 12);
  });

  test('labels carry row, side and member; equalities bind', () => {
    const { sides } = listSides([
      { type: 'Exclude', params: { identifiers: ['N003'] } },
      { id: 'pos', type: 'PositionBounds', params: { lower: -0.1, upper: 0.5, identifiers: ['N001'] } },
    ]);
    const labels = sides.map(({ label }) => label);
    expect(labels.slice(0, 4)).toEqual([
      'Exclude[0]:eq:N003',
      'PositionBounds[pos]:lower:N001',
      'PositionBounds[pos]:upper:N001',
      'FullInvestment[default]:eq',
    ]);
    expect(labels).toContain('LongOnly[default]:lower:N002');
    expect(labels).not.toContain('LongOnly[default]:lower:N001');
    expect(sides.filter(({ side }) => side === 'eq').every(({ isBinding }) => isBinding)).toBe(true);
  });
});

describe('defaults', () => {
  test('a sum of weights replaces full investment, a long-only row its default', () => {
    const listNames = (rows: object[]) => buildProblem({ names: 5, seed: 1, rows }).origins.map(({ name }) => name);
    expect(listNames([])).toEqual(['FullInvestment[default]', 'LongOnly[default]']);
    expect(listNames([{ type: 'WeightSum', params: {} }])).toEqual(['WeightSum[0]', 'LongOnly[default]']);
    expect(listNames([{ id: 'l', type: 'LongOnly' }])).toEqual(['LongOnly[l]', 'FullInvestment[default]']);
    expect(listNames([{ type: 'PositionBounds', params: { lower: -0.1 } }])).toEqual([
      'PositionBounds[0]',
      'FullInvestment[default]',
    ]);
  });

  test('soft rows carry their price, norms their metric', () => {
    const { program } = assembleProgram(
      buildProblem({
        names: 5,
        seed: 1,
        rows: [
          { type: 'GroupBounds', params: { field: 'S', upper: 0.1, soft: 3 } },
          { type: 'PositionBounds', params: { upper: 0.1, soft: 2 } },
          { type: 'Turnover', params: { limit: 0.1, soft: 4 } },
        ],
      }),
    );
    expect(program.rows.penalty.slice(0, 5)).toEqual(Float64Array.of(3, 3, 3, 3, 3));
    expect(program.kinks.map(({ limit, penalty }) => [limit, penalty])).toEqual([
      [null, 1],
      [null, 1],
      [0.2, 2],
    ]);
    expect(program.kinks[1]!.right[0]).toBe(2);
  });
});
