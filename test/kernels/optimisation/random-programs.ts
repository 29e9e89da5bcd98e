import { createDenseMetric } from '#kernels/optimisation/program/metric.js';
import type { Kink, Norm, Program } from '#kernels/optimisation/program/program.js';
import { seeded } from '../../seeded.js';

export interface RandomKind {
  readonly namesMax?: number;
  readonly withKinks?: boolean;
  readonly withNorms?: boolean;
}

/**
 * Returns a random tracking problem. In half of the cases the covariance is singular. Some securities are excluded, and
 * caps may be too tight. Rows may touch, repeat or contradict each other. Turnover limits and norms may apply.
 */
export function createRandomProgram(
  seed: number,
  { namesMax = 30, withKinks = true, withNorms = true }: RandomKind = {},
): Program {
  const random = seeded(seed);
  const n = 2 + Math.floor(random() * (namesMax - 1));
  const metric = createRandomMetric(random, n);
  const centre = projectOnSimplex(random, n);
  const cap = random() < 0.5 ? 1 : ((0.8 + random() * 2) / n) * 1.2;
  const upper = Float64Array.from({ length: n }, () => (random() < 0.25 ? 0 : cap));
  const rows: { coefficients: number[]; lower: number; upper: number }[] = [
    { coefficients: Array.from({ length: n }, () => 1), lower: 1, upper: 1 },
  ];
  for (let k = Math.floor(random() * 6); k >= 0; k--) {
    const isGroup = random() < 0.6;
    const coefficients = Array.from({ length: n }, () => (isGroup ? (random() < 0.4 ? 1 : 0) : random() * 2 - 0.3));
    const centreValue = coefficients.reduce((sum, value, i) => sum + value * centre[i]!, 0) + (random() - 0.5) * 0.3;
    const width = random() < 0.3 ? 0 : random() * 0.1;
    const row = {
      coefficients,
      lower: random() < 0.2 ? -Infinity : centreValue - width,
      upper: random() < 0.2 ? Infinity : centreValue + width,
    };
    if (row.lower === -Infinity && row.upper === Infinity) row.upper = centreValue;
    rows.push(row);
    if (random() < 0.1) rows.push(row);
  }
  const kinks: Kink[] = [];
  const createTurnover = (): Kink => ({
    at: projectOnSimplex(random, n, 0.3),
    left: new Float64Array(n).fill(-1),
    right: new Float64Array(n).fill(1),
    limit: random() * 1.2,
    penalty: Infinity,
  });
  if (withKinks && random() < 0.4) kinks.push(createTurnover());
  if (withKinks && random() < 0.1) kinks.push(createTurnover());
  const norms: Norm[] = [];
  if (withNorms && random() < 0.2)
    norms.push({ metric: 'identity', centre: new Float64Array(n), radius: Math.sqrt((1 + random() * 2) / n) });
  if (withNorms && random() < 0.2)
    norms.push({ metric: 'metric', centre: new Float64Array(n), radius: 0.05 + random() * 0.2 });
  return {
    n,
    metric,
    curvature: 2,
    ridge: 1e-10,
    centre,
    linear: new Float64Array(n),
    lower: new Float64Array(n),
    upper,
    rows: {
      count: rows.length,
      coefficients: Float64Array.from(rows.flatMap(({ coefficients }) => coefficients)),
      lower: Float64Array.from(rows, ({ lower }) => lower),
      upper: Float64Array.from(rows, (row) => row.upper),
      penalty: new Float64Array(rows.length).fill(Infinity),
    },
    kinks,
    norms,
  };
}

function createRandomMetric(random: () => number, n: number) {
  const k = Math.max(1, Math.floor(random() * n * 1.3));
  const loadings = Float64Array.from({ length: n * k }, () => random() - 0.5);
  const specificShare = random() < 0.5 ? 0.02 : 0;
  const matrix = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let total = i === j ? specificShare : 0;
      for (let f = 0; f < k; f++) total += 0.1 * loadings[i * k + f]! * loadings[j * k + f]!;
      matrix[i * n + j] = matrix[j * n + i] = total;
    }
  }
  return createDenseMetric(matrix, n);
}

/** Returns weights that sum to 1. Some of them are zero. */
export function projectOnSimplex(random: () => number, n: number, absent = 0): Float64Array {
  const raw = Float64Array.from({ length: n }, () => (random() < absent ? 0 : random()));
  const total = raw.reduce((sum, value) => sum + value, 0) || 1;
  return raw.map((value) => value / total);
}

/** Computes the value of the objective, for comparisons. */
export function computeObjective({ n, metric, curvature, ridge, centre, linear }: Program, x: Float64Array): number {
  let total = 0;
  for (let i = 0; i < n; i++) {
    const d = x[i]! - centre[i]!;
    total += linear[i]! * x[i]! + (ridge / 2) * d * d;
    if (metric?.form !== 'dense') continue;
    for (let j = 0; j < n; j++) total += (curvature / 2) * d * metric.matrix[i * n + j]! * (x[j]! - centre[j]!);
  }
  return total;
}
