import { describe, expect, test } from 'vitest';
import { plainAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { findLeastViolation } from '#kernels/optimisation/feasibility.js';
import {
  addDiagonal,
  addMetrics,
  computeMetricDiagonal,
  createDenseMetric,
  createFactorMetric,
  createMetricMatrix,
  type Metric,
} from '#kernels/optimisation/program/metric.js';
import { computeNormLength, type Program } from '#kernels/optimisation/program/program.js';
import { computePriceScale, addPrice } from '#kernels/optimisation/solve-norms.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import { seeded } from '../../seeded.js';
import { certify, computeFarkasMargin } from './duality-gap.js';
import { createRandomProgram } from './random-programs.js';

const solver = createSolver(plainAlgebra);

/** Returns the program with correlations in place of covariances in its objective. Constraints are unchanged. */
function onCorrelations(program: Program): Program {
  const { metric, n } = program;
  const matrix = createMetricMatrix(metric!);
  const deviations = computeMetricDiagonal(metric!).map(Math.sqrt);
  return {
    ...program,
    metric: createDenseMetric(
      matrix.map((value, e) => value / (deviations[Math.floor(e / n)]! * deviations[e % n]!)),
      n,
    ),
    norms: program.norms.map((norm) => (norm.metric === 'metric' ? { ...norm, metric: metric! } : norm)),
  };
}

describe('a norm with a separate metric', () => {
  test('equal to that of the programme has the answer of a norm of the programme', () => {
    let comparedCount = 0;
    for (let seed = 1; seed <= 60; seed++) {
      const program = createRandomProgram(seed, { withKinks: seed % 2 === 0 });
      if (!program.norms.some(({ metric }) => metric === 'metric')) continue;
      const norms = program.norms.map((norm) =>
        norm.metric === 'metric'
          ? { ...norm, metric: createDenseMetric(createMetricMatrix(program.metric!).slice(), program.n) }
          : norm,
      );
      const [sharedSolution, ownSolution] = [solver.solve(program), solver.solve({ ...program, norms })];
      expect(ownSolution.status, `seed ${seed}`).toBe(sharedSolution.status);
      if (sharedSolution.status === 'failed') continue;
      comparedCount++;
      ownSolution.point.x.forEach((value, i) =>
        expect(Math.abs(value - sharedSolution.point.x[i]!), `seed ${seed}`).toBeLessThan(1e-7),
      );
    }
    expect(comparedCount).toBeGreaterThan(3);
  });

  test('binds or contradicts the rows, and both are proven by duality', () => {
    let [bound, contradicted] = [0, 0];
    for (let seed = 1; seed <= 60; seed++) {
      const program = onCorrelations(createRandomProgram(seed, { namesMax: 14 }));
      const q = program.norms.findIndex(({ metric }) => typeof metric !== 'string');
      const freeSolution = solver.solve({ ...program, norms: [] });
      if (q < 0 || freeSolution.status !== 'solved') continue;
      const length = computeNormLength(program, program.norms[q]!, freeSolution.point.x);
      for (const share of [0.98, 0.2]) {
        const tightProgram = {
          ...program,
          norms: program.norms.map((norm, k) => (k === q ? { ...norm, radius: share * length } : norm)),
        };
        const answer = solver.solve(tightProgram);
        if (answer.status === 'solved') {
          const { gap, violation } = certify(tightProgram, answer.point);
          expect(violation, `seed ${seed}`).toBeLessThan(2e-9);
          expect(gap, `seed ${seed}`).toBeLessThan(1e-8);
          bound++;
          continue;
        }
        const { certificate } = findLeastViolation(solver, tightProgram);
        expect(certificate, `seed ${seed}`).not.toBeNull();
        expect(computeFarkasMargin(tightProgram, certificate!), `seed ${seed}`).toBeGreaterThan(0);
        contradicted++;
      }
    }
    expect(bound).toBeGreaterThan(1);
    expect(contradicted).toBeGreaterThan(1);
  });
});

test('a norm in the objective at its own multiplier has the optimum of the norm', () => {
  let comparedCount = 0;
  for (let seed = 1; seed <= 60; seed++) {
    const looseProgram = onCorrelations(createRandomProgram(seed, { namesMax: 12, withKinks: false }));
    const q = looseProgram.norms.findIndex(({ metric }) => typeof metric !== 'string');
    const freeSolution = solver.solve({ ...looseProgram, norms: [] });
    if (q < 0 || freeSolution.status !== 'solved') continue;
    const norm = {
      ...looseProgram.norms[q]!,
      radius: 0.98 * computeNormLength(looseProgram, looseProgram.norms[q]!, freeSolution.point.x),
    };
    const program = { ...looseProgram, norms: [norm] };
    const { status, point } = solver.solve(program);
    if (status !== 'solved') continue;
    comparedCount++;
    const pricedSolution = solver.solve(addPrice(program, 0, point.normMultipliers[0]!));
    pricedSolution.point.x.forEach((value, i) =>
      expect(Math.abs(value - point.x[i]!), `seed ${seed}`).toBeLessThan(1e-6),
    );
    expect(computePriceScale(program, norm)).toBeGreaterThan(0);
  }
  expect(comparedCount).toBeGreaterThan(1);
});

describe('a sum of metrics', () => {
  const random = seeded(7);
  const createNumbers = (length: number) => Float64Array.from({ length }, () => random());
  const n = 6;
  const loadings = createNumbers(n * 2);
  const factors = createFactorMetric(loadings, createNumbers(n));
  const sharedMetric = createFactorMetric(loadings, createNumbers(n));
  const other = createFactorMetric(createNumbers(n * 3), createNumbers(n));
  const dense = createDenseMetric(createMetricMatrix(other), n);

  test.each<[string, Metric, Metric]>([
    ['loadings', factors, other],
    ['the same loadings', factors, sharedMetric],
    ['loadings and a matrix', factors, dense],
    ['matrices', dense, dense],
  ])('of %s is the sum of their matrices', (_, a, b) => {
    const sum = createMetricMatrix(
      addMetrics([
        { metric: a, weight: 2 },
        { metric: b, weight: 0.5 },
      ]),
    );
    const [x, y] = [createMetricMatrix(a), createMetricMatrix(b)];
    sum.forEach((value, e) => expect(Math.abs(value - 2 * x[e]! - 0.5 * y[e]!)).toBeLessThan(1e-14));
  });

  test.each<[string, Metric]>([
    ['loadings', factors],
    ['a matrix', dense],
  ])('and of a diagonal, for %s', (_, metric) => {
    const addedNumbers = createNumbers(n);
    const before = createMetricMatrix(metric).slice();
    createMetricMatrix(addDiagonal(metric, addedNumbers)).forEach((value, e) =>
      expect(Math.abs(value - before[e]! - (e % (n + 1) === 0 ? addedNumbers[e / (n + 1)]! : 0))).toBeLessThan(1e-14),
    );
  });
});

describe('a budget of four securities has a length of at least a half', () => {
  const solveInBall = (radius: number) =>
    createSolver(plainAlgebra).solve({
      n: 4,
      metric: null,
      curvature: 0,
      ridge: 1e-6,
      centre: new Float64Array(4),
      linear: Float64Array.of(-1, -2, -3, -4),
      lower: new Float64Array(4),
      upper: new Float64Array(4).fill(1),
      rows: {
        count: 1,
        coefficients: new Float64Array(4).fill(1),
        lower: Float64Array.of(1),
        upper: Float64Array.of(1),
        penalty: Float64Array.of(Infinity),
      },
      kinks: [],
      norms: [{ metric: 'identity', centre: new Float64Array(4), radius }],
    });

  test('a shorter one is proven infeasible', () => {
    expect(solveInBall(0.499).status).toBe('infeasible');
    expect(solveInBall(0.5 - 1e-7).status).toBe('infeasible');
  });

  test('a length of one half has equal weights, and a longer one has more weight in the best security', () => {
    for (const radius of [0.5, 0.5 + 1e-12]) {
      const { status, point } = solveInBall(radius);
      expect(status).toBe('solved');
      for (const weight of point.x) expect(weight).toBeCloseTo(0.25, 4);
    }
    solveInBall(1).point.x.forEach((weight, i) => expect(weight).toBeCloseTo(i === 3 ? 1 : 0, 12));
  });
});
