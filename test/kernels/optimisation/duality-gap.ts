import type { Certificate } from '#kernels/optimisation/program/optimality.js';
import { createMetricMatrix, type Metric } from '#kernels/optimisation/program/metric.js';
import type { Kink, Norm, Point, Program } from '#kernels/optimisation/program/program.js';

/** Certificate of a point. It is computed only from the coefficients of the programme and the point. */
export interface PointCertificate {
  /** Objective at the point minus a lower bound that holds for all feasible points. */
  readonly gap: number;
  /** Largest violation of a bound, row, limit or norm. */
  readonly violation: number;
}

/**
 * Computes a certificate by weak duality from the definition of the programme. It uses neither code of the solver nor
 * its check of optimality. Tangents at the point replace the convex terms. The multipliers of the point price the
 * constraints. The rest is minimised over the box, security by security. The bound is valid if the multipliers have the
 * right sign. The gap is zero only if they are optimal. Bounds must be finite and rows hard.
 */
export function certify(program: Program, point: Point): PointCertificate {
  const { n, curvature, ridge, centre, linear, lower, upper, rows, kinks, norms } = program;
  const { x } = point;
  const matrix = program.metric === null ? new Float64Array(n * n) : createMetricMatrix(program.metric);
  const multiplyVector = (v: Float64Array) => createProduct(matrix, v);
  const subtractFrom = (from: Float64Array) => x.map((value, i) => value - from[i]!);
  const computeDotProduct = (a: ArrayLike<number>, b: Float64Array) =>
    b.reduce((sum, value, i) => sum + a[i]! * value, 0);
  let violation = 0;
  const addViolation = (value: number, bound: number) => {
    if (Number.isFinite(bound)) violation = Math.max(violation, value - bound);
  };

  const offset = subtractFrom(centre);
  const force = multiplyVector(offset);
  const pricedSum = kinks.filter(({ limit }) => limit === null).reduce((sum, kink) => sum + sumKink(kink, x), 0);
  const objective =
    (curvature / 2) * computeDotProduct(force, offset) +
    (ridge / 2) * computeDotProduct(offset, offset) +
    computeDotProduct(linear, x) +
    pricedSum;
  const slope = x.map((_, i) => curvature * force[i]! + ridge * offset[i]! + linear[i]!);
  let constant = objective - pricedSum - computeDotProduct(slope, x);

  for (let r = 0; r < rows.count; r++) {
    const row = rows.coefficients.subarray(r * n, r * n + n);
    addViolation(computeDotProduct(row, x), rows.upper[r]!);
    addViolation(-computeDotProduct(row, x), -rows.lower[r]!);
    const y = point.rowMultipliers[r]!;
    if (y === 0) continue;
    const bound = y > 0 ? rows.upper[r]! : rows.lower[r]!;
    if (!Number.isFinite(bound)) return { gap: Infinity, violation };
    for (let i = 0; i < n; i++) slope[i]! += y * row[i]!;
    constant -= y * bound;
  }
  norms.forEach((norm, q) => {
    const from = subtractFrom(norm.centre);
    const gradient = computeNormGradient(program, norm, from);
    const square = computeDotProduct(gradient, from);
    addViolation(Math.sqrt(square), norm.radius);
    const multiplier = Math.max(point.normMultipliers[q]!, 0);
    // (|x - c|^2 - radius^2) / 2 is greater than or equal to its tangent.
    for (let i = 0; i < n; i++) slope[i]! += multiplier * gradient[i]!;
    constant += multiplier * ((square - norm.radius ** 2) / 2 - computeDotProduct(gradient, x));
  });
  const prices = kinks.map(({ limit }, k) => (limit === null ? 1 : Math.max(point.kinkMultipliers[k]!, 0)));
  kinks.forEach((kink, k) => {
    if (kink.limit === null) return;
    addViolation(sumKink(kink, x), kink.limit);
    constant -= prices[k]! * kink.limit;
  });

  let bound = constant;
  for (let i = 0; i < n; i++) {
    addViolation(x[i]!, upper[i]!);
    addViolation(-x[i]!, -lower[i]!);
    const ends = [lower[i]!, upper[i]!, ...kinks.map(({ at }) => Math.min(Math.max(at[i]!, lower[i]!), upper[i]!))];
    bound += Math.min(
      ...ends.map(
        (end) => slope[i]! * end + kinks.reduce((sum, kink, k) => sum + prices[k]! * computePart(kink, i, end), 0),
      ),
    );
  }
  return { gap: objective - bound, violation };
}

/**
 * Returns a minimum over the box by definition. It is the minimum of the weighted sum of the left-hand sides minus the
 * bounds. If it is positive, no point satisfies the rows, limits and norms. A norm is replaced by its tangent at the
 * point of the certificate, scaled by the length of the norm there.
 */
export function computeFarkasMargin(
  program: Program,
  { rows: y, kinks: prices, norms: weights, around }: Certificate,
): number {
  const { n, rows, kinks, norms, lower, upper } = program;
  const slope = new Float64Array(n);
  let constant = 0;
  for (let r = 0; r < rows.count; r++) {
    if (y[r] === 0) continue;
    for (let i = 0; i < n; i++) slope[i]! += y[r]! * rows.coefficients[r * n + i]!;
    constant -= y[r]! * (y[r]! > 0 ? rows.upper[r]! : rows.lower[r]!);
  }
  norms.forEach((norm, q) => {
    const from = around.map((value, i) => value - norm.centre[i]!);
    const gradient = computeNormGradient(program, norm, from);
    const length = Math.sqrt(gradient.reduce((sum, value, i) => sum + value * from[i]!, 0));
    for (let i = 0; i < n; i++) {
      slope[i]! += weights[q]! * gradient[i]!;
      constant -= weights[q]! * gradient[i]! * norm.centre[i]!;
    }
    constant -= weights[q]! * length * norm.radius;
  });
  kinks.forEach(({ limit }, k) => (constant -= prices[k]! * (limit ?? 0)));
  let lowest = constant;
  for (let i = 0; i < n; i++) {
    const ends = [lower[i]!, upper[i]!, ...kinks.map(({ at }) => Math.min(Math.max(at[i]!, lower[i]!), upper[i]!))];
    lowest += Math.min(
      ...ends.map(
        (end) => slope[i]! * end + kinks.reduce((sum, kink, k) => sum + prices[k]! * computePart(kink, i, end), 0),
      ),
    );
  }
  return lowest;
}

function computeNormGradient({ metric }: Program, norm: Norm, from: Float64Array): Float64Array {
  if (norm.metric === 'identity') return from;
  const normMetric: Metric = norm.metric === 'metric' ? metric! : norm.metric;
  return createProduct(createMetricMatrix(normMetric), from);
}

function createProduct(matrix: Float64Array, v: Float64Array): Float64Array {
  return v.map((_, i) => v.reduce((sum, value, j) => sum + matrix[i * v.length + j]! * value, 0));
}

function computePart({ at, left, right }: Kink, i: number, value: number): number {
  return Math.max(left[i]! * (value - at[i]!), right[i]! * (value - at[i]!));
}

function sumKink(kink: Kink, x: Float64Array): number {
  return x.reduce((sum, value, i) => sum + computePart(kink, i, value), 0);
}
