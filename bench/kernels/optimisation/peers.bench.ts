import { rmSync } from 'node:fs';
import type { Engine } from '#kernels/engines/engine.js';
import { openNumericEngine } from '#kernels/engines/open-engine.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { createDenseMetric, createMetricMatrix } from '#kernels/optimisation/program/metric.js';
import { type Kink, type Program, sumKinks } from '#kernels/optimisation/program/program.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import { createNpmPeer, createPython, createRPeer, scratch, type Peer } from './outside-peers.js';
import { measureTime, type Solution, type Quadratic } from './quadratic.js';

/** Number of sectors of the problem family. */
const SECTORS = 11;

/** Number of style factors; the other factors are the market and the sectors. */
const STYLES = 10;

const CASES: readonly (FamilySize & { readonly label: string })[] = [
  { label: 'base 134', names: 200, observations: 504, turnover: null },
  { label: 'base 334', names: 500, observations: 504, turnover: null },
  { label: 'turn 134', names: 200, observations: 504, turnover: 0.02 },
  { label: 'turn 334', names: 500, observations: 504, turnover: 0.02 },
];

/** Peers that are skipped, by case, because they take minutes or run out of memory. */
const TOO_SLOW: Readonly<Record<string, readonly string[]>> = {
  'scipy SLSQP': ['turn 334'],
  'npm quadprog': ['turn 334'],
};

const engines: Engine[] = [openWasmEngine()];
const { engine: native } = await openNumericEngine('native');
if (native.name === 'native') engines.push(native);

const peers: Record<string, Peer | string> = {
  cvxopt: createPython('cvxopt'),
  'scipy SLSQP': createPython('slsqp'),
  'R quadprog': createRPeer('quadprog'),
  'npm quadprog': createNpmPeer('quadprog'),
  'npm highs': createNpmPeer('highs'),
};
for (const [name, peer] of Object.entries(peers)) if (typeof peer === 'string') console.log(`${name}: absent, ${peer}`);

for (const size of CASES) {
  const program = createTrackingProgram(size);
  let reference: { objective: number; ms: number } | undefined;
  for (const engine of engines) {
    const answer = engine.scope(() => {
      const solver = createSolver(engine);
      return measureTime(() => {
        const { status, point } = solver.solve(program);
        if (status !== 'solved') throw new Error(`${size.label}: ${status}`);
        return point.x;
      });
    });
    reference ??= { objective: computeObjective(program, answer.x), ms: answer.ms };
    print(size.label, `ours, ${engine.name}`, answer, program, reference);
  }
  const quadratic = createQuadratic(program);
  for (const [name, peer] of Object.entries(peers)) {
    if (typeof peer === 'string' || TOO_SLOW[name]?.includes(size.label) === true) continue;
    try {
      print(size.label, name, peer(quadratic), program, reference!);
    } catch (failure) {
      console.log(
        `${size.label}  ${name.padEnd(15)} failed: ${String(failure instanceof Error ? failure.message : failure)
          .split('\n')[0]!
          .slice(0, 120)}`,
      );
    }
  }
}
rmSync(scratch, { recursive: true });

function print(
  label: string,
  name: string,
  { ms, x }: Solution,
  program: Program,
  reference: { objective: number; ms: number },
): void {
  const solution = x.slice(0, program.n);
  const gap = (computeObjective(program, solution) - reference.objective) / Math.abs(reference.objective);
  console.log(
    `${label}  ${name.padEnd(15)} ${ms.toFixed(2).padStart(9)} ms  ${(ms / reference.ms).toFixed(2).padStart(8)} x  gap ${gap.toExponential(1).padStart(8)}  violation ${computeViolation(program, solution).toExponential(1)}`,
  );
}

function computeObjective({ n, metric, curvature, centre, linear }: Program, x: Float64Array): number {
  const matrix = createMetricMatrix(metric!); // every problem of the family has a metric
  let total = 0;
  for (let i = 0; i < n; i++) {
    total += linear[i]! * x[i]!;
    for (let j = 0; j < n; j++)
      total += (curvature / 2) * (x[i]! - centre[i]!) * matrix[i * n + j]! * (x[j]! - centre[j]!);
  }
  return total;
}

function computeViolation({ n, lower, upper, rows, kinks }: Program, x: Float64Array): number {
  let worst = 0;
  for (let i = 0; i < n; i++) worst = Math.max(worst, lower[i]! - x[i]!, x[i]! - upper[i]!);
  for (let r = 0; r < rows.count; r++) {
    const value = x.reduce((sum, weight, i) => sum + rows.coefficients[r * n + i]! * weight, 0);
    worst = Math.max(worst, rows.lower[r]! - value, value - rows.upper[r]!);
  }
  for (const kink of kinks) worst = Math.max(worst, sumKinks(kink, x) - kink.limit!);
  return worst;
}

/**
 * Converts a problem to a quadratic programme. A turnover limit adds a trade variable t per security. t is at least the
 * change of the weight, in either direction.
 */
function createQuadratic({ n, metric, curvature, centre, linear, lower, upper, rows, kinks }: Program): Quadratic {
  const matrix = createMetricMatrix(metric!); // every problem of the family has a metric
  const kink = kinks[0];
  const size = kink === undefined ? n : 2 * n;
  const hessian = new Float64Array(size * size);
  const force = Float64Array.from({ length: size }, (_, i) => (i < n ? linear[i]! : 0));
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      hessian[i * size + j] = curvature * matrix[i * n + j]!;
      force[i]! -= curvature * matrix[i * n + j]! * centre[j]!;
    }
  }
  const padZeros = (values: ArrayLike<number>) =>
    Float64Array.from({ length: size }, (_, i) => (i < n ? values[i]! : 0));
  const all = Array.from({ length: rows.count }, (_, r) => ({
    coefficients: padZeros(rows.coefficients.subarray(r * n, r * n + n)),
    lower: rows.lower[r]!,
    upper: rows.upper[r]!,
  }));
  if (kink !== undefined) {
    for (let i = 0; i < n; i++) {
      for (const side of [1, -1]) {
        const coefficients = new Float64Array(size);
        coefficients[i] = side;
        coefficients[n + i] = -1;
        all.push({ coefficients, lower: -Infinity, upper: side * kink.at[i]! });
      }
    }
    all.push({
      coefficients: Float64Array.from({ length: size }, (_, i) => (i < n ? 0 : 1)),
      lower: -Infinity,
      upper: kink.limit!,
    });
  }
  const createBounds = (values: Float64Array, padding: number) =>
    Float64Array.from({ length: size }, (_, i) => (i < n ? values[i]! : padding));
  return { n: size, hessian, linear: force, lower: createBounds(lower, 0), upper: createBounds(upper, 2), rows: all };
}

interface FamilySize {
  /** Number of constituents of the index. A third of them is excluded before the solver receives the problem. */
  readonly names: number;
  readonly observations: number;
  /** One-way turnover limit; null for no limit. */
  readonly turnover: number | null;
}

/**
 * Returns the tracking problem of the published figures. It has a market factor, ten style factors and eleven sector
 * factors with fat-tailed shocks, shrunk towards constant correlation. One row per sector limits the active weight to
 * two per cent. Another row limits the beta. Each weight is at most five times the index weight.
 */
function createTrackingProgram({ names, observations, turnover }: FamilySize, seed = 1): Program {
  const random = createCounterRandom({ seed, stream: 7 });
  const drawStudent = () =>
    random.normal() /
    Math.sqrt(
      (random.normal() ** 2 +
        random.normal() ** 2 +
        random.normal() ** 2 +
        random.normal() ** 2 +
        random.normal() ** 2) /
        5 +
        0.05,
    );
  const sector = Array.from({ length: names }, () => Math.floor(random.uniform() * SECTORS));
  const beta = Float64Array.from({ length: names }, () => 1 + 0.25 * random.normal());
  const styles = Float64Array.from({ length: names * STYLES }, () => random.normal());
  const specificVolatility = Float64Array.from({ length: names }, () => 0.01 + 0.01 * random.uniform());
  const returns = new Float64Array(observations * names);
  for (let t = 0; t < observations; t++) {
    const market = 0.009 * drawStudent();
    const style = Array.from({ length: STYLES }, () => 0.0025 * drawStudent());
    const sectors = Array.from({ length: SECTORS }, () => 0.005 * drawStudent());
    for (let i = 0; i < names; i++) {
      let value = beta[i]! * market + sectors[sector[i]!]! + specificVolatility[i]! * drawStudent();
      for (let f = 0; f < STYLES; f++) value += styles[i * STYLES + f]! * style[f]!;
      returns[t * names + i] = value;
    }
  }
  const covariance = shrinkCovariance(returns, names, observations);
  const size = Float64Array.from({ length: names }, () => Math.exp(1.1 * random.normal()));
  const total = size.reduce((sum, value) => sum + value, 0);
  const index = size.map((value) => value / total);
  const oldWeights = index.map((weight) => weight * Math.exp(0.3 * random.normal()));
  const oldTotal = oldWeights.reduce((sum, value) => sum + value, 0);
  const previous = oldWeights.map((weight) => weight / oldTotal);
  const allowedPositions = Array.from({ length: names }, (_, i) => i).filter((i) => i % 3 !== 2);
  return createProgram({ names, covariance, index, previous, sector, free: allowedPositions, turnover });
}

/** Returns the annualised sample covariance, shrunk by a tenth towards constant correlation. */
function shrinkCovariance(returns: Float64Array, names: number, observations: number): Float64Array {
  const means = new Float64Array(names);
  for (let e = 0; e < returns.length; e++) means[e % names]! += returns[e]! / observations;
  for (let e = 0; e < returns.length; e++) returns[e]! -= means[e % names]!;
  const sample = new Float64Array(names * names);
  for (let t = 0; t < observations; t++) {
    for (let i = 0; i < names; i++) {
      const value = (returns[t * names + i]! * 252) / (observations - 1);
      for (let j = i; j < names; j++) sample[i * names + j]! += value * returns[t * names + j]!;
    }
  }
  const deviation = Float64Array.from({ length: names }, (_, i) => Math.sqrt(sample[i * names + i]!));
  let correlations = 0;
  for (let i = 0; i < names; i++)
    for (let j = i + 1; j < names; j++) correlations += sample[i * names + j]! / (deviation[i]! * deviation[j]!);
  const mean = correlations / ((names * (names - 1)) / 2);
  for (let i = 0; i < names; i++) {
    for (let j = i; j < names; j++) {
      const target = i === j ? sample[i * names + i]! : mean * deviation[i]! * deviation[j]!;
      sample[i * names + j] = sample[j * names + i] = 0.1 * target + 0.9 * sample[i * names + j]!;
    }
  }
  return sample;
}

interface Family {
  readonly names: number;
  readonly covariance: Float64Array;
  readonly index: Float64Array;
  readonly previous: Float64Array;
  readonly sector: readonly number[];
  readonly free: readonly number[];
  readonly turnover: number | null;
}

function createProgram({ names, covariance, index, previous, sector, free, turnover }: Family): Program {
  const n = free.length;
  const pick = (values: Float64Array) => Float64Array.from(free, (i) => values[i]!);
  const matrix = new Float64Array(n * n);
  for (let p = 0; p < n; p++) for (let q = 0; q < n; q++) matrix[p * n + q] = covariance[free[p]! * names + free[q]!]!;
  // An excluded security has minus its index weight as active weight. This adds a linear term for the others.
  const linear = new Float64Array(n);
  const excludedPositions = Array.from({ length: names }, (_, i) => i).filter((i) => i % 3 === 2);
  for (let p = 0; p < n; p++)
    for (const j of excludedPositions) linear[p]! -= 2 * covariance[free[p]! * names + j]! * index[j]!;
  const force = new Float64Array(names);
  for (let i = 0; i < names; i++) for (let j = 0; j < names; j++) force[i]! += covariance[i * names + j]! * index[j]!;
  const variance = force.reduce((sum, value, i) => sum + value * index[i]!, 0);
  const rows: { coefficients: Float64Array; lower: number; upper: number }[] = [
    { coefficients: new Float64Array(n).fill(1), lower: 1, upper: 1 },
  ];
  for (let s = 0; s < SECTORS; s++) {
    const sectorWeight = index.reduce((sum, weight, i) => sum + (sector[i] === s ? weight : 0), 0);
    rows.push({
      coefficients: Float64Array.from(free, (i) => (sector[i] === s ? 1 : 0)),
      lower: sectorWeight - 0.02,
      upper: sectorWeight + 0.02,
    });
  }
  rows.push({ coefficients: Float64Array.from(free, (i) => force[i]! / variance), lower: 0.98, upper: 1.02 });
  const forcedWeight = excludedPositions.reduce((sum, i) => sum + previous[i]!, 0);
  const kinks: Kink[] =
    turnover === null
      ? []
      : [
          {
            at: pick(previous),
            left: new Float64Array(n).fill(-1),
            right: new Float64Array(n).fill(1),
            limit: 2 * turnover + forcedWeight,
            penalty: Infinity,
          },
        ];
  const coefficients = new Float64Array(rows.length * n);
  rows.forEach((row, r) => coefficients.set(row.coefficients, r * n));
  return {
    n,
    metric: createDenseMetric(matrix, n),
    curvature: 2,
    ridge: 0,
    centre: pick(index),
    linear,
    lower: new Float64Array(n),
    upper: Float64Array.from(free, (i) => Math.max(5 * index[i]!, 0.01, 3 / n)),
    rows: {
      count: rows.length,
      coefficients,
      lower: Float64Array.from(rows, ({ lower }) => lower),
      upper: Float64Array.from(rows, ({ upper }) => upper),
      penalty: new Float64Array(rows.length).fill(Infinity),
    },
    kinks,
    norms: [],
  };
}
