import { describe, expect, test } from 'vitest';
import { KernelFault } from '#kernels/assert.js';
import { createColdState } from '#kernels/optimisation/program/active-state.js';
import { createDenseMetric, createFactorMetric, createMetricMatrix } from '#kernels/optimisation/program/metric.js';
import { type Kink, type Program, sumKinks } from '#kernels/optimisation/program/program.js';
import { seeded } from '../../seeded.js';
import { createRandomProgram } from './random-programs.js';
import { solver, requireSolution, computeLargestGap, regularSamples, createBaseProgram } from './sample-programs.js';

describe('laws', () => {
  test('permuting the securities permutes the answer', () => {
    for (const program of regularSamples) {
      const { n } = program;
      const order = Array.from({ length: n }, (_, i) => (i * 7 + 3) % n);
      if (new Set(order).size < n) continue;
      const pick = (values: Float64Array) => Float64Array.from(order, (i) => values[i]!);
      const matrix = createMetricMatrix(program.metric);
      const permutedProgram: Program = {
        ...program,
        metric: createDenseMetric(
          Float64Array.from({ length: n * n }, (_, e) => matrix[order[Math.floor(e / n)]! * n + order[e % n]!]!),
          n,
        ),
        centre: pick(program.centre),
        lower: pick(program.lower),
        upper: pick(program.upper),
        rows: {
          ...program.rows,
          coefficients: Float64Array.from(
            { length: program.rows.coefficients.length },
            (_, e) => program.rows.coefficients[Math.floor(e / n) * n + order[e % n]!]!,
          ),
        },
        kinks: program.kinks.map((kink): Kink => ({
          ...kink,
          at: pick(kink.at),
          left: pick(kink.left),
          right: pick(kink.right),
        })),
      };
      expect(
        computeLargestGap(requireSolution(permutedProgram).point.x, pick(requireSolution(program).point.x)),
      ).toBeLessThan(1e-9);
    }
  });

  test('scaling the covariance leaves the weights', () => {
    for (const program of regularSamples) {
      const scaledProgram = {
        ...program,
        ridge: program.ridge * 1e4,
        metric: createDenseMetric(
          createMetricMatrix(program.metric).map((value) => value * 1e4),
          program.n,
        ),
      };
      expect(computeLargestGap(requireSolution(scaledProgram).point.x, requireSolution(program).point.x)).toBeLessThan(
        1e-9,
      );
    }
  });

  test('a redundant row changes nothing', () => {
    for (const program of regularSamples) {
      const { rows, n } = program;
      const doubledProgram: Program = {
        ...program,
        rows: {
          count: rows.count + 1,
          coefficients: Float64Array.of(...rows.coefficients, ...rows.coefficients.subarray(0, n)),
          lower: Float64Array.of(...rows.lower, 0.5),
          upper: Float64Array.of(...rows.upper, 1),
          penalty: Float64Array.of(...rows.penalty, Infinity),
        },
      };
      expect(computeLargestGap(requireSolution(doubledProgram).point.x, requireSolution(program).point.x)).toBeLessThan(
        1e-9,
      );
    }
  });

  test('a turnover limit at the turnover of the free optimum changes nothing', () => {
    for (const program of regularSamples) {
      const freeProgram = { ...program, kinks: [] };
      const positions = program.centre.map((weight, i) => (i % 2 === 0 ? weight * 1.5 : weight * 0.5));
      const kink: Kink = {
        at: positions,
        left: new Float64Array(program.n).fill(-1),
        right: new Float64Array(program.n).fill(1),
        limit: 0,
        penalty: Infinity,
      };
      const { x } = requireSolution(freeProgram).point;
      const limitedProgram = { ...freeProgram, kinks: [{ ...kink, limit: sumKinks(kink, x) }] };
      expect(computeLargestGap(requireSolution(limitedProgram).point.x, x)).toBeLessThan(1e-8);
    }
  });

  test('splitting a security in two keeps the sum of its halves', () => {
    for (const program of regularSamples.filter(({ kinks }) => kinks.length === 0)) {
      const { n, rows } = program;
      const matrix = createMetricMatrix(program.metric);
      const clampIndex = (i: number) => Math.min(i, n - 1);
      const widenValues = (values: Float64Array, half: number) =>
        Float64Array.from({ length: n + 1 }, (_, i) => (i >= n - 1 ? values[n - 1]! * half : values[i]!));
      const split: Program = {
        ...program,
        n: n + 1,
        metric: createDenseMetric(
          Float64Array.from(
            { length: (n + 1) ** 2 },
            (_, e) => matrix[clampIndex(Math.floor(e / (n + 1))) * n + clampIndex(e % (n + 1))]!,
          ),
          n + 1,
        ),
        centre: widenValues(program.centre, 0.5),
        linear: new Float64Array(n + 1),
        lower: new Float64Array(n + 1),
        upper: widenValues(program.upper, 0.5),
        rows: {
          ...rows,
          coefficients: Float64Array.from(
            { length: rows.count * (n + 1) },
            (_, e) => rows.coefficients[Math.floor(e / (n + 1)) * n + clampIndex(e % (n + 1))]!,
          ),
        },
      };
      const wholePoint = requireSolution(program).point.x;
      const halves = requireSolution(split).point.x;
      expect(Math.abs(halves[n - 1]! + halves[n]! - wholePoint[n - 1]!)).toBeLessThan(1e-6);
      expect(Math.abs(halves[n - 1]! - halves[n]!)).toBeLessThan(1e-6);
    }
  });

  test('a warm start ends at the solution of a cold start', () => {
    for (const program of regularSamples) {
      const cold = requireSolution(program);
      const nearby = { ...program, centre: program.centre.map((weight, i) => weight * (1 + 0.05 * Math.sin(i))) };
      const warmResult = solver.solve(nearby, { warm: cold.state });
      expect(warmResult.status).toBe('solved');
      expect(computeLargestGap(warmResult.point.x, requireSolution(nearby).point.x)).toBeLessThan(1e-12);
    }
  });

  test('any initial state leads to the solution, also a wrong one', () => {
    for (const program of regularSamples) {
      const wrongState = createColdState(program);
      wrongState.names.fill(1);
      wrongState.rows.fill(-1);
      expect(
        computeLargestGap(solver.solve(program, { warm: wrongState }).point.x, requireSolution(program).point.x),
      ).toBeLessThan(1e-9);
    }
  });

  test('loadings give the solution of their matrix', () => {
    const random = seeded(5);
    const n = 40;
    const metric = createFactorMetric(
      Float64Array.from({ length: n * 6 }, () => 0.2 * (random() - 0.5)),
      Float64Array.from({ length: n }, () => 0.01 + 0.05 * random()),
    );
    const program = { ...createRandomProgram(3, { namesMax: 2 }), ...createBaseProgram(n, random), metric };
    const denseProgram = { ...program, metric: createDenseMetric(createMetricMatrix(metric), n) };
    expect(computeLargestGap(requireSolution(program).point.x, requireSolution(denseProgram).point.x)).toBeLessThan(
      1e-12,
    );
  });

  test('a soft row is kept at a low price of the solution and violated at a high one', () => {
    const random = seeded(8);
    const n = 10;
    const commonProgram = { ...createRandomProgram(4, { namesMax: 2 }), ...createBaseProgram(n, random) };
    const createSoftProgram = (penalty: number): Program => ({
      ...commonProgram,
      rows: {
        count: 2,
        coefficients: Float64Array.from({ length: 2 * n }, (_, e) => (e < n ? 1 : e < n + 3 ? 1 : 0)),
        lower: Float64Array.of(1, -Infinity),
        upper: Float64Array.of(1, 0.05),
        penalty: Float64Array.of(Infinity, penalty),
      },
    });
    const measureViolation = (penalty: number) =>
      Math.max(
        0,
        requireSolution(createSoftProgram(penalty))
          .point.x.subarray(0, 3)
          .reduce((sum, value) => sum + value, 0) - 0.05,
      );
    const hardSolution = requireSolution(createSoftProgram(Infinity));
    const price = hardSolution.point.rowMultipliers[1]!;
    expect(price).toBeGreaterThan(0);
    expect(measureViolation(price * 1.01)).toBeLessThan(1e-12);
    expect(measureViolation(price * 0.5)).toBeGreaterThan(1e-4);
    expect(measureViolation(price * 0.25)).toBeGreaterThan(measureViolation(price * 0.5));
  });

  test('shapes that do not fit are refused', () => {
    const program = createRandomProgram(1);
    expect(() => solver.solve({ ...program, lower: new Float64Array(1) })).toThrow(KernelFault);
  });
});
