import { describe, expect, test } from 'vitest';
import {
  describeInfeasibility,
  explainChoice,
  explainInfeasibility,
  explainRows,
  type Infeasibility,
} from '#domain/optimisation/infeasibility.js';
import { findConflict, proveInfeasibility } from '#domain/optimisation/conflicts.js';
import { listMovableParameters } from '#domain/optimisation/assembly.js';
import { solveProblem } from '#domain/optimisation/search.js';
import { meterSolver } from '#domain/optimisation/work-meter.js';
import { seeded } from '../../seeded.js';
import { buildProblem, solvers } from './small-problems.js';

/** Number of random problems; `npm run soak` uses more. */
const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 4);
const SEED = 167;

describe('explainInfeasibility', () => {
  test('fifteen names at five per cent reach three quarters: the row, the budget, the least cap', () => {
    const problem = buildProblem({
      names: 15,
      seed: 1,
      rows: [{ id: 'pos', type: 'PositionBounds', params: { lower: 0, upper: 0.05 } }],
    });
    const detail = explainInfeasibility(solvers, problem)!;
    expect(detail).toEqual({
      proven: true,
      conflict: [
        { id: 'pos', index: 0, type: 'PositionBounds', label: 'PositionBounds[pos]:upper', multiplier: 0.5 },
        { id: '', index: null, type: 'FullInvestment', label: 'FullInvestment[default]:eq', multiplier: 0.5 },
      ],
      relaxations: [
        {
          id: 'pos',
          index: 0,
          type: 'PositionBounds',
          parameter: 'upper',
          from: 0.05,
          to: 0.066666667,
          change: 0.016666667,
        },
      ],
      all_rows_relaxation: [
        {
          id: 'pos',
          index: 0,
          type: 'PositionBounds',
          parameter: 'upper',
          from: 0.05,
          to: 0.066666667,
          change: 0.016666667,
        },
      ],
    });
    expect(describeInfeasibility(problem, detail)).toBe(
      'Constraint pos and the full-investment budget are jointly infeasible. pos requires upper 5%; the lowest that the other constraints allow is 6.667%.',
    );
  });

  test('rows of higher priority are relaxed first, rows of priority zero never', () => {
    const createRows = (first: number, second: number) => [
      { id: 'a', type: 'GroupBounds', params: { field: 'SECTOR', groups: ['S0'], lower: 0.6, priority: first } },
      { id: 'b', type: 'GroupBounds', params: { field: 'SECTOR', groups: ['S1'], lower: 0.5, priority: second } },
    ];
    const explainPair = (first: number, second: number) =>
      explainInfeasibility(solvers, buildProblem({ names: 15, seed: 1, rows: createRows(first, second) }))!;
    expect(explainPair(1, 3).all_rows_relaxation).toMatchObject([
      { id: 'b', parameter: 'lower', from: 0.5, to: 0.4, change: -0.1 },
    ]);
    expect(explainPair(4, 3).all_rows_relaxation).toMatchObject([{ id: 'a', to: 0.5 }]);
    const fixedPair = explainPair(0, 2);
    expect(fixedPair.relaxations).toMatchObject([{ id: 'b', to: 0.4 }]);
    expect(fixedPair.conflict.map(({ id }) => id)).toEqual(['a', 'b', '', '']);
  });

  test('two conflicts at once have no single remedy and one for both, which relaxes the row of higher priority', () => {
    const createRows = (first: number, second: number) => [
      { id: 'cap', type: 'PositionBounds', params: { upper: 0.05 } },
      {
        id: 'most',
        type: 'GroupBounds',
        params: { field: 'SECTOR', groups: ['S1'], lower: 0, upper: 0.1, priority: first },
      },
      {
        id: 'least',
        type: 'LinearConstraint',
        params: { coefficients: { N001: 1, N006: 1, N011: 1 }, lower: 0.15, priority: second },
      },
    ];
    const explainPair = (first: number, second: number) =>
      explainInfeasibility(solvers, buildProblem({ names: 15, seed: 1, rows: createRows(first, second) }))!;
    for (const [first, second, id, to] of [
      [2, 1, 'most', 0.2],
      [1, 2, 'least', 0.1],
    ] as const) {
      const detail = explainPair(first, second);
      expect(detail.relaxations).toEqual([]);
      expect(detail.all_rows_relaxation!.map((row) => row.id)).toEqual(['cap', id]);
      expect(detail.all_rows_relaxation![1]!.to).toBeCloseTo(to, 8);
      // Twelve securities share the weight outside the sector. If their limit is relaxed first, their maximum is an
      // equal share.
      expect(detail.all_rows_relaxation![0]!.to).toBeCloseTo((1 - to) / 12, 8);
    }
  });

  test('a bound below another bound of the same name is a conflict of the two rows', () => {
    const detail = explainInfeasibility(
      solvers,
      buildProblem({
        names: 6,
        seed: 2,
        rows: [
          { id: 'low', type: 'PositionBounds', params: { lower: 0.2, identifiers: ['N001'] } },
          { id: 'out', type: 'Exclude', params: { identifiers: ['N001'] } },
        ],
      }),
    )!;
    expect(detail.conflict.map(({ id, label }) => [id, label])).toEqual([
      ['low', 'PositionBounds[low]:lower:N001'],
      ['out', 'Exclude[out]:eq:N001'],
    ]);
    expect(detail.relaxations).toMatchObject([{ id: 'low', parameter: 'lower', from: 0.2, to: 0, change: -0.2 }]);
  });

  test('a group without a candidate is reported, and that parity allows no choice of securities', () => {
    const groups = { field: 'SECTOR', groups: ['Technology'], lower: 0.1 };
    const problem = buildProblem({
      names: 12,
      seed: 3,
      rows: [{ id: 'tech', type: 'GroupBounds', params: groups }],
    });
    expect(describeInfeasibility(problem, explainInfeasibility(solvers, problem)!)).toBe(
      'Constraint tech is infeasible on its own. tech requires lower 10%; the highest that the other constraints allow is 0%. No candidate has the SECTOR Technology.',
    );
    const parity = buildProblem({
      names: 12,
      seed: 3,
      objective: { type: 'risk_parity' },
      rows: [{ id: 'card', type: 'Cardinality', params: { maximum: 6 } }],
    });
    const detail = explainChoice(solvers, parity, false);
    expect(describeInfeasibility(parity, detail)).toContain('Risk parity holds every security with a risk budget');
    const names = parity.identifiers.length;
    expect(detail).toMatchObject({ proven: true, relaxations: [{ id: 'card', from: 6, to: names }] });
    expect(detail.relaxations[0]).not.toHaveProperty('bound'); // the relaxation is proven to be the smallest
  });

  test('a multiple of an index weight is stated as a number, not in percent', () => {
    // With at most 0.9 times each index weight, the weights add up to 0.9. Full investment needs 1.
    const row = { id: 'near', type: 'RelativePositionBounds', params: { upper: 0.9 } };
    const problem = buildProblem({ names: 12, seed: 3, rows: [row] });
    expect(describeInfeasibility(problem, explainInfeasibility(solvers, problem)!)).toBe(
      'Constraint near and the full-investment budget are jointly infeasible. near requires upper 0.9; the lowest that the other constraints allow is 1.',
    );
  });

  test('a tracking error below the least is named with the least', () => {
    const problem = buildProblem({
      names: 12,
      seed: 3,
      rows: [
        { id: 'n', type: 'EffectiveNumber', params: { minimum: 10 } },
        { id: 'te', type: 'TrackingError', params: { limit: 0.01 } },
      ],
    });
    const detail = explainInfeasibility(solvers, problem)!;
    expect(detail.conflict.map(({ id }) => id)).toEqual(expect.arrayContaining(['n', 'te']));
    const { to } = detail.relaxations.find(({ id }) => id === 'te')!;
    const leastResult = solveProblem(
      solvers,
      buildProblem({ names: 12, seed: 3, rows: [{ id: 'n', type: 'EffectiveNumber', params: { minimum: 10 } }] }),
    );
    expect(leastResult.kind === 'solved' && Math.sqrt(leastResult.solution.objective)).toBeCloseTo(to, 8);
    const highestNumber = 1 / problem.index.reduce((sum, weight) => sum + weight * weight, 0);
    expect(describeInfeasibility(problem, detail)).toContain(
      `te requires 1%; the lowest that the other constraints allow is ${Number((100 * to).toPrecision(4))}%.`,
    );
    expect(highestNumber).toBeLessThan(10); // the index itself has an effective number below 10
  });

  function createRandomRows(random: () => number): object[] {
    const pool: (() => object)[] = [
      () => ({ type: 'PositionBounds', params: { upper: 0.04 + 0.1 * random() } }),
      () => ({ type: 'GroupBounds', params: { field: 'SECTOR', lower: 0.15 + 0.1 * random() } }),
      () => ({ type: 'GroupBounds', params: { field: 'SECTOR', groups: ['S1', 'S2'], upper: 0.05 + 0.1 * random() } }),
      () => ({ type: 'Turnover', params: { limit: 0.02 + 0.3 * random(), reference: 'previous' } }),
      () => ({ type: 'ActiveShare', params: { limit: 0.05 + 0.2 * random() } }),
      () => ({ type: 'Exclude', params: { identifiers: ['N000', 'N003', 'N007'] } }),
      () => ({ type: 'WeightedAverage', params: { field: 'X', upper: 20 + 30 * random() } }),
      () => ({ type: 'FactorExposure', params: { field: 'X', lower: 0.8 * random() } }),
      () => ({ type: 'EffectiveNumber', params: { minimum: 8 + 8 * random() } }),
      () => ({ type: 'TrackingError', params: { limit: 0.01 + 0.05 * random() } }),
      () => ({ type: 'RelativePositionBounds', params: { lower: 0.5, upper: 1.5 + random() } }),
      () => ({ type: 'WeightSum', params: { lower: 0.95, upper: 1 } }),
    ];
    return pool.filter(() => random() < 0.4).map((make) => make());
  }

  test('dropping any row of a conflict resolves it, and every relaxation succeeds when it is solved again', () => {
    let explainedCount = 0;
    let joint = 0;
    for (let trial = 0; trial < RUNS; trial++) {
      const rows = createRandomRows(seeded(SEED + trial));
      const problem = buildProblem({ names: 16, seed: SEED + trial, rows, hasPrevious: true });
      const outcome = solveProblem(solvers, problem);
      const detail = outcome.kind === 'solved' ? undefined : explainInfeasibility(solvers, problem);
      if (outcome.kind === 'solved') {
        expect(findConflict(solvers.solver, problem), `trial ${trial}`).toBeNull();
        continue;
      }
      expect(detail, `trial ${trial} ${JSON.stringify(rows)}`).toBeDefined();
      explainedCount++;
      expect(detail!.proven).toBe(true);
      expect(detail!.conflict.reduce((sum, { multiplier }) => sum + multiplier, 0)).toBeCloseTo(1, 12);
      const origins = problem.origins.filter(({ index, type }) =>
        detail!.conflict.some((row) => row.index === index && row.type === type),
      );
      expect(solveProblem(solvers, problem, { includes: (origin) => origins.includes(origin) }).kind).toBe('unsolved');
      for (const droppedOrigin of origins) {
        const restOutcome = solveProblem(solvers, problem, {
          includes: (origin) => origins.includes(origin) && origin !== droppedOrigin,
        });
        expect(restOutcome.kind, `trial ${trial} without ${droppedOrigin.name}: ${JSON.stringify(rows)}`).toBe(
          'solved',
        );
      }
      for (const { index, parameter, to } of detail!.relaxations) {
        const movedRows = rows.map((row, i) =>
          i === index ? { ...row, params: { ...(row as { params: object }).params, [parameter]: to } } : row,
        );
        expect(
          solveProblem(solvers, buildProblem({ names: 16, seed: SEED + trial, rows: movedRows, hasPrevious: true }))
            .kind,
          `trial ${trial} ${parameter} of ${index}`,
        ).toBe('solved');
      }
      if (detail!.all_rows_relaxation === undefined) {
        // It is not enough to relax only the rows that may be relaxed. Even at the limits of their classes, the
        // remaining rows still conflict.
        const changes = listMovableParameters(problem, problem.origins).map(
          ({ origin, parameter, from, direction, room }) => ({
            origin,
            parameter,
            to: from + direction * room,
          }),
        );
        expect(proveInfeasibility(solvers.solver, problem, { changes }), `trial ${trial}`).not.toBeNull();
      } else {
        joint++;
        const cheapest = detail!.relaxations[0];
        const total = detail!.all_rows_relaxation.reduce((sum, { change }) => sum + Math.abs(change), 0);
        if (cheapest !== undefined)
          expect(total, `trial ${trial}`).toBeLessThan(Math.abs(cheapest.change) * (1 + 1e-4) + 1e-6);
        const movedRows = rows.map((row, i) => {
          const rowRelaxations = detail!.all_rows_relaxation!.filter(({ index }) => index === i);
          return {
            ...row,
            params: {
              ...(row as { params: object }).params,
              ...Object.fromEntries(rowRelaxations.map(({ parameter, to }) => [parameter, to])),
            },
          };
        });
        expect(
          solveProblem(solvers, buildProblem({ names: 16, seed: SEED + trial, rows: movedRows, hasPrevious: true }))
            .kind,
          `trial ${trial} jointly`,
        ).toBe('solved');
      }
    }
    expect(explainedCount).toBeGreaterThan(RUNS / 4);
    expect(joint).toBeGreaterThan(RUNS / 6);
  }, 3_600_000);
});

describe('a number of securities too small for the caps', () => {
  const problem = buildProblem({
    names: 7,
    seed: 1,
    rows: [
      { id: 'sector', type: 'GroupBounds', params: { field: 'SECTOR', upper: 0.95 } },
      { id: 'cap', type: 'PositionBounds', params: { upper: 0.2 } },
      { id: 'n', type: 'Cardinality', params: { maximum: 4 } },
    ],
  });
  const listConflictNames = (detail: Infeasibility) => detail.conflict.map(({ id, type }) => id || type);
  const detail = explainChoice(solvers, problem, true);

  test('is reported with its rows, and the smallest sufficient number', () => {
    expect(listConflictNames(detail)).toEqual(['cap', 'n', 'FullInvestment']);
    expect(detail.relaxations).toMatchObject([
      { id: 'cap', parameter: 'upper', from: 0.2, to: 0.25 },
      { id: 'n', parameter: 'maximum', from: 4, to: 5, change: 1 },
    ]);
    expect(detail.all_rows_relaxation).toEqual([detail.relaxations[0]]);
    expect(detail).not.toHaveProperty('exhaustive');
  });

  test.each([0, 1e7, 3e7, 1e8])('is reported within %d multiplications: no row of the conflict is lost', (workMax) => {
    const limitedDetail = explainChoice(solvers, problem, true, workMax);
    expect(listConflictNames(limitedDetail)).toEqual(expect.arrayContaining(listConflictNames(detail)));
    if (limitedDetail.exhaustive === undefined) expect(limitedDetail).toEqual(detail);
    for (const { index, parameter, from, to } of limitedDetail.relaxations) {
      const leastRelaxation = detail.relaxations.find((each) => each.index === index && each.parameter === parameter)!;
      expect(Math.abs(to - from)).toBeGreaterThanOrEqual(Math.abs(leastRelaxation.change) - 1e-8);
      const changedProblem = problem.withParameters([{ origin: problem.origins[index!]!, parameter, to }]);
      expect(solveProblem(solvers, changedProblem, { wanted: 'any' }).kind).toBe('solved');
    }
  });

  test('and without any work names every row, and nothing that would resolve it', () => {
    const emptyDetail = explainChoice(solvers, problem, true, 0);
    expect(emptyDetail).toMatchObject({ exhaustive: false, relaxations: [] });
    expect(emptyDetail.conflict).toHaveLength(problem.origins.length);
  });
});

describe('an explanation of two conflicts with a limit on the number of securities', () => {
  const problem = buildProblem({
    names: 45,
    seed: 1,
    hasPrevious: true,
    rows: [
      { id: 'p', type: 'PositionBounds', params: { upper: 0.03 } },
      { id: 'n', type: 'Cardinality', params: { maximum: 12 } },
      { id: 'te', type: 'TrackingError', params: { limit: 0.002 } },
      { id: 'g', type: 'GroupBounds', params: { field: 'SECTOR', groups: ['Tech'], lower: 0.9 } },
      { id: 't', type: 'Turnover', params: { limit: 0.05 } },
      { id: 'mh', type: 'MinimumHolding', params: { threshold: 0.02 } },
    ],
  });

  test('ends within its work limit and reports the members that are incomplete, in the message as well', () => {
    const inner = meterSolver(solvers.solver);
    const { detail, remaining } = explainRows({ ...solvers, solver: inner }, problem)!;
    // 3e10 over the number of securities, and the searches that were running at the limit
    expect(inner.spent()).toBeLessThan((1.5 * 3e10) / 45);
    const message = describeInfeasibility(problem, detail, remaining);
    if (detail.incomplete === undefined) expect(message).not.toContain('work limit');
    else {
      expect(detail.exhaustive).toBe(false);
      expect(message).toContain('The work limit of this explanation was reached.');
    }
    if (detail.all_rows_relaxation === undefined) {
      expect(detail.incomplete).toContain('all_rows_relaxation');
      expect(message).toContain('Joint changes of several constraints were not tried to the end.');
      return;
    }
    const changes = detail.all_rows_relaxation.map(({ index, parameter, to }) => ({
      origin: problem.origins[index!]!,
      parameter,
      to,
    }));
    expect(solveProblem(solvers, problem.withParameters(changes), { wanted: 'any' }).kind).toBe('solved');
  });

  test('names the constraints of a joint change that was not reduced to the least', () => {
    const detail = {
      conflict: [],
      relaxations: [],
      all_rows_relaxation: [
        { id: 'n', index: 1, type: 'Cardinality', parameter: 'maximum', from: 12, to: 45, change: 33 },
        { id: 'mh', index: 5, type: 'MinimumHolding', parameter: 'threshold', from: 0.02, to: 0.01, change: -0.01 },
      ],
      incomplete: ['all_rows_relaxation'] as const,
    };
    expect(describeInfeasibility(problem, detail)).toContain(
      'The joint change of n, mh is sufficient, but smaller changes were not tried to the end.',
    );
  });

  test('never relaxes a minimum number of securities to a number that the class refuses', () => {
    const { detail } = explainRows(solvers, problem)!;
    expect((detail.all_rows_relaxation ?? []).filter(({ parameter }) => parameter === 'minimum')).toEqual([]);
  });
});
