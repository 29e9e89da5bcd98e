import { describe, expect, test } from 'vitest';
import { KernelFault } from '#kernels/assert.js';
import { coldState } from '#kernels/optimisation/active-set/active-state.js';
import { plainAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { leastViolation } from '#kernels/optimisation/feasibility.js';
import { checkKkt, isOptimal } from '#kernels/optimisation/program/kkt.js';
import { denseMetric, factorMetric, metricMatrix, metricSquare } from '#kernels/optimisation/program/metric.js';
import { kinkSum, type Kink, type Point, type Program } from '#kernels/optimisation/program/program.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import { seeded } from '../../seeded.js';
import { certify } from './duality-gap.js';
import { objectiveOf, randomProgram } from './random-programs.js';
import { doubles, programOf, trackingCases } from './tracking-cases.js';

const solver = createSolver(plainAlgebra);

function solved(program: Program) {
  const answer = solver.solve(program);
  expect(answer.status, JSON.stringify(answer.kkt)).toBe('solved');
  return answer;
}

/** Nothing feasible is better: proven by duality, apart from the solver's own check. Relative to the variance of a typical name. */
function expectCertified(program: Program, point: Point, label: string): void {
  const { gap, violation } = certify(program, point);
  expect(violation, label).toBeLessThan(2e-9);
  expect(gap, label).toBeLessThan(
    1e-8 * metricMatrix(program.metric!).reduce((most, value) => Math.max(most, value), 0),
  );
}

const largestDifference = (a: Float64Array, b: ArrayLike<number>) =>
  a.reduce((worst, value, i) => Math.max(worst, Math.abs(value - b[i]!)), 0);

describe('the reference cases', () => {
  const solvable = trackingCases.filter(
    ({ id, expected }) => expected.status === 'optimal' && id !== 'o10_cardinality',
  );

  test.each(solvable)('$id: $title', (problem) => {
    const { program, rowIds } = programOf(problem);
    const { point } = solved(program);
    const active = point.x.map((value, i) => value - program.centre[i]!);
    const variance = metricSquare(program.metric!, active);
    expect(Math.abs(variance / problem.expected.tracking_variance - 1)).toBeLessThan(1e-9);
    if (problem.expected.score !== undefined) {
      const score = point.x.reduce((sum, weight, i) => sum + weight * problem.objective.score![i]!, 0);
      expect(score).toBeCloseTo(problem.expected.score, 10);
    }
    if (!problem.expected.unique) return;
    expect(largestDifference(point.x, doubles(problem.expected.weights.data))).toBeLessThan(1e-8);
    for (const [id, dual] of Object.entries(problem.expected.duals.rows))
      expect(Math.abs(point.rowMultipliers[rowIds.indexOf(id)]! - dual), id).toBeLessThan(1e-9);
    if (program.kinks.length > 0) expect(point.kinkMultipliers[0]).toBeCloseTo(problem.expected.duals.turnover_L1, 12);
  });
});

/** Every state of bounds and one-sided rows, solved as an equality problem by elimination: the least feasible answer is the optimum. */
function byEnumeration(program: Program): { x: Float64Array; objective: number } | undefined {
  const { n, rows, lower, upper } = program;
  const matrix = metricMatrix(program.metric!);
  let best: { x: Float64Array; objective: number } | undefined;
  // Nought is free, one at the lower and two at the upper bound, of names and then of rows: only where there is such a bound.
  const choices = Array.from({ length: n + rows.count }, (_, k) => {
    const [low, high] = k < n ? [lower[k]!, upper[k]!] : [rows.lower[k - n]!, rows.upper[k - n]!];
    if (k >= n && low === high) return [1];
    return [0, ...(Number.isFinite(low) ? [1] : []), ...(Number.isFinite(high) ? [2] : [])];
  });
  const states = choices.reduce((product, { length }) => product * length, 1);
  for (let code = 0; code < states; code++) {
    let rest = code;
    const state = choices.map((own) => {
      const chosen = own[rest % own.length]!;
      rest = Math.floor(rest / own.length);
      return chosen;
    });
    let isPossible = true;
    const equations: { row: number[]; value: number }[] = [];
    for (let i = 0; i < n; i++) {
      if (state[i] === 0) continue;
      const bound = state[i] === 1 ? lower[i]! : upper[i]!;
      if (!Number.isFinite(bound)) isPossible = false;
      equations.push({ row: Array.from({ length: n }, (_, j) => (i === j ? 1 : 0)), value: bound });
    }
    for (let r = 0; r < rows.count; r++) {
      if (state[n + r] === 0 && rows.lower[r] !== rows.upper[r]) continue;
      const bound = state[n + r] === 1 ? rows.lower[r]! : rows.upper[r]!;
      if (!Number.isFinite(bound)) isPossible = false;
      equations.push({ row: Array.from(rows.coefficients.subarray(r * n, r * n + n)), value: bound });
    }
    if (!isPossible || equations.length > n + 1) continue;
    const x = minimum(program, matrix, equations);
    if (x === undefined || !isFeasible(program, x)) continue;
    const objective = objectiveOf(program, x);
    if (best === undefined || objective < best.objective) best = { x, objective };
  }
  return best;
}

/** The minimum on a set of equations by Gaussian elimination of the optimality conditions. */
function minimum(
  { n, curvature, ridge, centre, linear }: Program,
  matrix: Float64Array,
  equations: { row: number[]; value: number }[],
): Float64Array | undefined {
  const size = n + equations.length;
  const system = Array.from({ length: size }, () => new Float64Array(size + 1));
  for (let i = 0; i < n; i++) {
    let right = -linear[i]! + ridge * centre[i]!;
    for (let j = 0; j < n; j++) {
      system[i]![j] = curvature * matrix[i * n + j]! + (i === j ? ridge : 0);
      right += curvature * matrix[i * n + j]! * centre[j]!;
    }
    system[i]![size] = right;
  }
  equations.forEach(({ row, value }, e) => {
    row.forEach((coefficient, j) => {
      system[n + e]![j] = coefficient;
      system[j]![n + e] = coefficient;
    });
    system[n + e]![size] = value;
  });
  for (let k = 0; k < size; k++) {
    const pivot = system
      .slice(k)
      .reduce((leader, row, at) => (Math.abs(row[k]!) > Math.abs(system[leader]![k]!) ? k + at : leader), k);
    if (Math.abs(system[pivot]![k]!) < 1e-11) return undefined;
    [system[k], system[pivot]] = [system[pivot]!, system[k]!];
    for (let r = 0; r < size; r++) {
      if (r === k) continue;
      const factor = system[r]![k]! / system[k]![k]!;
      if (factor !== 0) for (let c = k; c <= size; c++) system[r]![c]! -= factor * system[k]![c]!;
    }
  }
  return Float64Array.from({ length: n }, (_, i) => system[i]![size]! / system[i]![i]!);
}

function isFeasible({ n, lower, upper, rows }: Program, x: Float64Array): boolean {
  for (let i = 0; i < n; i++) if (x[i]! < lower[i]! - 1e-9 || x[i]! > upper[i]! + 1e-9) return false;
  for (let r = 0; r < rows.count; r++) {
    let value = 0;
    for (let i = 0; i < n; i++) value += rows.coefficients[r * n + i]! * x[i]!;
    if (value < rows.lower[r]! - 1e-9 || value > rows.upper[r]! + 1e-9) return false;
  }
  return true;
}

describe('small programmes', () => {
  test('have the optimum of all states of bounds and rows, or none where there is none', () => {
    let withAnswer = 0;
    for (let seed = 1; seed <= 400; seed++) {
      const program = randomProgram(seed, { namesMax: 5, withKinks: false, withNorms: false });
      if (program.rows.count > 3) continue;
      const expected = byEnumeration(program);
      const answer = solver.solve(program);
      expect(answer.status === 'solved', `seed ${seed}`).toBe(expected !== undefined);
      if (expected === undefined) continue;
      withAnswer++;
      expect(Math.abs(objectiveOf(program, answer.point.x) - expected.objective), `seed ${seed}`).toBeLessThan(1e-10);
    }
    expect(withAnswer).toBeGreaterThan(50);
  });

  test('of twelve names without caps have the optimum of all 4,096 sets of held ones', () => {
    let withAnswer = 0;
    for (let seed = 1; withAnswer < 2; seed++) {
      const { n, upper, ...rest } = randomProgram(seed, { namesMax: 12, withKinks: false, withNorms: false });
      const rows = Array.from({ length: rest.rows.count }, (_, r) =>
        rest.rows.coefficients.subarray(r * n, r * n + n).join(),
      );
      if (n !== 12 || rows.length > 2 || new Set(rows).size < rows.length) continue;
      const matrix = metricMatrix(rest.metric!).map((value, e) => (Math.floor(e / n) === e % n ? value + 0.01 : value));
      const program = {
        ...rest,
        n,
        metric: denseMetric(matrix, n),
        upper: upper.map((bound) => (bound === 0 ? 0 : Infinity)),
      };
      const expected = byEnumeration(program);
      const answer = solver.solve(program);
      expect(answer.status === 'solved', `seed ${seed}`).toBe(expected !== undefined);
      if (expected === undefined) continue;
      withAnswer++;
      expect(Math.abs(objectiveOf(program, answer.point.x) - expected.objective), `seed ${seed}`).toBeLessThan(1e-10);
    }
  }, 60_000);
});

describe('random programmes', () => {
  test('are solved to the conditions of optimality, or proven infeasible', () => {
    const counts = { solved: 0, infeasible: 0 };
    for (let seed = 1; seed <= 3000; seed++) {
      const program = randomProgram(seed);
      const answer = solver.solve(program);
      if (answer.status === 'solved') {
        expect(isOptimal(checkKkt(program, answer.point)), `seed ${seed}`).toBe(true);
        expectCertified(program, answer.point, `seed ${seed}`);
        counts.solved++;
      } else {
        expect(leastViolation(solver, program).certificate, `seed ${seed}`).not.toBeNull();
        counts.infeasible++;
      }
    }
    expect(counts.solved).toBeGreaterThan(1000);
    expect(counts.infeasible).toBeGreaterThan(1000);
  }, 240_000);

  /** Of the first 26,000: portfolios that replicate the index where only the tie-breaking term decides, and rows that nearly leave no room. */
  test.each([9501, 13_875, 15_732, 16_135, 17_700])('the hard one of seed %d is decided', (seed) => {
    const program = randomProgram(seed);
    const answer = solver.solve(program);
    if (answer.status === 'solved') expectCertified(program, answer.point, `seed ${seed}`);
    else expect(leastViolation(solver, program).certificate).not.toBeNull();
  });

  test('names that covary with no other are solved with the rest', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const program = randomProgram(seed, { withNorms: false });
      const { n } = program;
      const matrix = metricMatrix(program.metric!).map((value, e) =>
        Math.floor(e / n) !== e % n && (e % n) % 3 !== 0
          ? 0
          : Math.floor(e / n) % 3 !== 0 && Math.floor(e / n) !== e % n
            ? 0
            : value,
      );
      for (let i = 0; i < n; i++) matrix[i * n + i]! += 0.01;
      const apart = { ...program, metric: denseMetric(matrix, n) };
      const answer = solver.solve(apart);
      expect(answer.status).toBe(solver.solve(program).status);
      if (answer.status === 'solved') expectCertified(apart, answer.point, `seed ${seed}`);
    }
  });

  test('no feasible direction improves an answer', () => {
    const random = seeded(99);
    for (let seed = 1; seed <= 150; seed++) {
      const program = randomProgram(seed, { withNorms: false });
      const answer = solver.solve(program);
      if (answer.status !== 'solved') continue;
      const here = objectiveOf(program, answer.point.x);
      for (let k = 0; k < 20; k++) {
        const other = solver.solve({ ...program, linear: program.linear.map(() => 0.1 * (random() - 0.5)) });
        if (other.status !== 'solved') continue;
        for (const step of [1e-3, 1e-2, 0.1, 1]) {
          const moved = answer.point.x.map((value, i) => value + step * (other.point.x[i]! - value));
          expect(objectiveOf(program, moved)).toBeGreaterThanOrEqual(here - 1e-12);
        }
      }
    }
  });
});

/** Solvable random programmes without norms. */
const samples = Array.from({ length: 120 }, (_, k) => randomProgram(k + 1, { withNorms: false, namesMax: 20 })).filter(
  (program) => solver.solve(program).status === 'solved',
);

/** As the samples, with a covariance that leaves one answer. */
const regular = samples.map((program) => {
  const matrix = metricMatrix(program.metric!).slice();
  for (let i = 0; i < program.n; i++) matrix[i * program.n + i]! += 0.01;
  return { ...program, metric: denseMetric(matrix, program.n) };
});

describe('laws', () => {
  test('permuting the names permutes the answer', () => {
    for (const program of regular) {
      const { n } = program;
      const order = Array.from({ length: n }, (_, i) => (i * 7 + 3) % n);
      if (new Set(order).size < n) continue;
      const pick = (values: Float64Array) => Float64Array.from(order, (i) => values[i]!);
      const matrix = metricMatrix(program.metric);
      const permuted: Program = {
        ...program,
        metric: denseMetric(
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
      expect(largestDifference(solved(permuted).point.x, pick(solved(program).point.x))).toBeLessThan(1e-9);
    }
  });

  test('scaling the covariance leaves the weights', () => {
    for (const program of regular) {
      const scaled = {
        ...program,
        ridge: program.ridge * 1e4,
        metric: denseMetric(
          metricMatrix(program.metric).map((value) => value * 1e4),
          program.n,
        ),
      };
      expect(largestDifference(solved(scaled).point.x, solved(program).point.x)).toBeLessThan(1e-9);
    }
  });

  test('a redundant row changes nothing', () => {
    for (const program of regular) {
      const { rows, n } = program;
      const twice: Program = {
        ...program,
        rows: {
          count: rows.count + 1,
          coefficients: Float64Array.of(...rows.coefficients, ...rows.coefficients.subarray(0, n)),
          lower: Float64Array.of(...rows.lower, 0.5),
          upper: Float64Array.of(...rows.upper, 1),
          penalty: Float64Array.of(...rows.penalty, Infinity),
        },
      };
      expect(largestDifference(solved(twice).point.x, solved(program).point.x)).toBeLessThan(1e-9);
    }
  });

  test('a turnover limit at the turnover of the free optimum changes nothing', () => {
    for (const program of regular) {
      const free = { ...program, kinks: [] };
      const at = program.centre.map((weight, i) => (i % 2 === 0 ? weight * 1.5 : weight * 0.5));
      const kink: Kink = {
        at,
        left: new Float64Array(program.n).fill(-1),
        right: new Float64Array(program.n).fill(1),
        limit: 0,
        penalty: Infinity,
      };
      const { x } = solved(free).point;
      const limited = { ...free, kinks: [{ ...kink, limit: kinkSum(kink, x) }] };
      expect(largestDifference(solved(limited).point.x, x)).toBeLessThan(1e-8);
    }
  });

  test('splitting a name in two keeps the sum of its halves', () => {
    for (const program of regular.filter(({ kinks }) => kinks.length === 0)) {
      const { n, rows } = program;
      const matrix = metricMatrix(program.metric);
      const from = (i: number) => Math.min(i, n - 1);
      const stretch = (values: Float64Array, half: number) =>
        Float64Array.from({ length: n + 1 }, (_, i) => (i >= n - 1 ? values[n - 1]! * half : values[i]!));
      const split: Program = {
        ...program,
        n: n + 1,
        metric: denseMetric(
          Float64Array.from(
            { length: (n + 1) ** 2 },
            (_, e) => matrix[from(Math.floor(e / (n + 1))) * n + from(e % (n + 1))]!,
          ),
          n + 1,
        ),
        centre: stretch(program.centre, 0.5),
        linear: new Float64Array(n + 1),
        lower: new Float64Array(n + 1),
        upper: stretch(program.upper, 0.5),
        rows: {
          ...rows,
          coefficients: Float64Array.from(
            { length: rows.count * (n + 1) },
            (_, e) => rows.coefficients[Math.floor(e / (n + 1)) * n + from(e % (n + 1))]!,
          ),
        },
      };
      const whole = solved(program).point.x;
      const halves = solved(split).point.x;
      expect(Math.abs(halves[n - 1]! + halves[n]! - whole[n - 1]!)).toBeLessThan(1e-6);
      expect(Math.abs(halves[n - 1]! - halves[n]!)).toBeLessThan(1e-6);
    }
  });

  test('a warm start ends where a cold one does', () => {
    for (const program of regular) {
      const cold = solved(program);
      const nearby = { ...program, centre: program.centre.map((weight, i) => weight * (1 + 0.05 * Math.sin(i))) };
      const warm = solver.solve(nearby, { warm: cold.state });
      expect(warm.status).toBe('solved');
      expect(largestDifference(warm.point.x, solved(nearby).point.x)).toBeLessThan(1e-12);
    }
  });

  test('any state leads to the answer, a wrong one as well', () => {
    for (const program of regular) {
      const wrong = coldState(program);
      wrong.names.fill(1);
      wrong.rows.fill(-1);
      expect(largestDifference(solver.solve(program, { warm: wrong }).point.x, solved(program).point.x)).toBeLessThan(
        1e-9,
      );
    }
  });

  test('loadings give what their matrix gives', () => {
    const random = seeded(5);
    const n = 40;
    const metric = factorMetric(
      Float64Array.from({ length: n * 6 }, () => 0.2 * (random() - 0.5)),
      Float64Array.from({ length: n }, () => 0.01 + 0.05 * random()),
    );
    const program = { ...randomProgram(3, { namesMax: 2 }), ...base(n, random), metric };
    const whole = { ...program, metric: denseMetric(metricMatrix(metric), n) };
    expect(largestDifference(solved(program).point.x, solved(whole).point.x)).toBeLessThan(1e-12);
  });

  test('a soft row is kept at a low price of the answer and given up at a high one', () => {
    const random = seeded(8);
    const n = 10;
    const common = { ...randomProgram(4, { namesMax: 2 }), ...base(n, random) };
    const soft = (penalty: number): Program => ({
      ...common,
      rows: {
        count: 2,
        coefficients: Float64Array.from({ length: 2 * n }, (_, e) => (e < n ? 1 : e < n + 3 ? 1 : 0)),
        lower: Float64Array.of(1, -Infinity),
        upper: Float64Array.of(1, 0.05),
        penalty: Float64Array.of(Infinity, penalty),
      },
    });
    const violation = (penalty: number) =>
      Math.max(
        0,
        solved(soft(penalty))
          .point.x.subarray(0, 3)
          .reduce((sum, value) => sum + value, 0) - 0.05,
      );
    const hard = solved(soft(Infinity));
    const price = hard.point.rowMultipliers[1]!;
    expect(price).toBeGreaterThan(0);
    expect(violation(price * 1.01)).toBeLessThan(1e-12);
    expect(violation(price * 0.5)).toBeGreaterThan(1e-4);
    expect(violation(price * 0.25)).toBeGreaterThan(violation(price * 0.5));
  });

  test('shapes that do not fit are refused', () => {
    const program = randomProgram(1);
    expect(() => solver.solve({ ...program, lower: new Float64Array(1) })).toThrow(KernelFault);
  });
});

/** A budget, long only, a cap. */
function base(
  n: number,
  random: () => number,
): Omit<Program, 'kinks' | 'norms' | 'curvature' | 'ridge'> & { kinks: []; norms: [] } {
  const raw = Float64Array.from({ length: n }, () => random());
  const total = raw.reduce((sum, value) => sum + value, 0);
  return {
    n,
    metric: denseMetric(
      Float64Array.from({ length: n * n }, (_, e) => (Math.floor(e / n) === e % n ? 0.04 + 0.001 * (e % n) : 0.01)),
      n,
    ),
    centre: raw.map((value) => value / total),
    linear: new Float64Array(n),
    lower: new Float64Array(n),
    upper: new Float64Array(n).fill(1.5 / n),
    rows: {
      count: 1,
      coefficients: new Float64Array(n).fill(1),
      lower: Float64Array.of(1),
      upper: Float64Array.of(1),
      penalty: Float64Array.of(Infinity),
    },
    kinks: [],
    norms: [],
  };
}
