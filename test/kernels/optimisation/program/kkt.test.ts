import { describe, expect, test } from 'vitest';
import { checkKkt, isOptimal } from '#kernels/optimisation/program/optimality.js';
import { createDenseMetric } from '#kernels/optimisation/program/metric.js';
import type { Point, Program } from '#kernels/optimisation/program/program.js';

/**
 * Minimises (w1 - 0.8)^2 + (w2 - 0.2)^2 with w1 + w2 = 1 and w1 <= 0.6. The optimum is (0.6, 0.4) with a budget
 * multiplier y = -0.4.
 */
const program: Program = {
  n: 2,
  metric: createDenseMetric(Float64Array.of(1, 0, 0, 1), 2),
  curvature: 2,
  ridge: 0,
  centre: Float64Array.of(0.8, 0.2),
  linear: new Float64Array(2),
  lower: new Float64Array(2),
  upper: Float64Array.of(0.6, 1),
  rows: {
    count: 1,
    coefficients: Float64Array.of(1, 1),
    lower: Float64Array.of(1),
    upper: Float64Array.of(1),
    penalty: Float64Array.of(Infinity),
  },
  kinks: [],
  norms: [],
};
const createPoint = (x: number[], y: number, rest: Partial<Point> = {}): Point => ({
  x: Float64Array.from(x),
  rowMultipliers: Float64Array.of(y),
  kinkMultipliers: new Float64Array(0),
  normMultipliers: new Float64Array(0),
  ...rest,
});

describe('checkKkt', () => {
  test('accepts only the answer computed by hand', () => {
    expect(isOptimal(checkKkt(program, createPoint([0.6, 0.4], -0.4)))).toBe(true);
    expect(checkKkt(program, createPoint([0.6, 0.4], -0.39)).stationarity).toBeGreaterThan(1e-2);
    expect(isOptimal(checkKkt(program, createPoint([0.59, 0.41], -0.42)))).toBe(false);
    expect(checkKkt(program, createPoint([0.7, 0.3], -0.2)).primal).toBeCloseTo(0.1 / 1.6, 12);
  });

  test('a multiplier of the wrong sign, or of a row that is not active, is an error', () => {
    const inequality: Program = { ...program, rows: { ...program.rows, lower: Float64Array.of(-Infinity) } };
    expect(isOptimal(checkKkt(inequality, createPoint([0.6, 0.4], -0.4)))).toBe(false);
    const looseProgram: Program = { ...inequality, rows: { ...inequality.rows, upper: Float64Array.of(2) } };
    expect(checkKkt(looseProgram, createPoint([0.6, 0.2], 0.4)).multipliers).toBeGreaterThan(0.1);
    expect(isOptimal(checkKkt(looseProgram, createPoint([0.6, 0.2], 0)))).toBe(true);
  });

  test('a kink balances forces up to its slopes', () => {
    const kinkedProgram: Program = {
      ...program,
      rows: {
        ...program.rows,
        count: 0,
        coefficients: new Float64Array(0),
        lower: new Float64Array(0),
        upper: new Float64Array(0),
        penalty: new Float64Array(0),
      },
      upper: Float64Array.of(1, 1),
      kinks: [
        {
          at: Float64Array.of(0.7, 0.2),
          left: Float64Array.of(-1, -1),
          right: Float64Array.of(1, 1),
          limit: 0,
          penalty: Infinity,
        },
      ],
    };
    const checkAtMultiplier = (multiplier: number) =>
      checkKkt(kinkedProgram, {
        ...createPoint([0.7, 0.2], 0),
        rowMultipliers: new Float64Array(0),
        kinkMultipliers: Float64Array.of(multiplier),
      });
    expect(isOptimal(checkAtMultiplier(0.2))).toBe(true);
    expect(isOptimal(checkAtMultiplier(0.5))).toBe(true);
    expect(checkAtMultiplier(0.1).stationarity).toBeGreaterThan(0.1);
  });

  test('an exceeded norm is reported in its own units', () => {
    const round: Program = { ...program, norms: [{ metric: 'identity', centre: new Float64Array(2), radius: 0.5 }] };
    const report = checkKkt(round, { ...createPoint([0.6, 0.4], -0.4), normMultipliers: Float64Array.of(0) });
    expect(report.primal).toBeCloseTo((Math.hypot(0.6, 0.4) - 0.5) / 1.5, 12);
  });
});
