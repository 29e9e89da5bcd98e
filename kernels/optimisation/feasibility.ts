import { type Certificate, findLargest, isHard, measureInfeasibility } from './program/optimality.js';
import { computeNormLength, type Kink, type Norm, type Point, type Program, sumKinks } from './program/program.js';
import type { Solver } from './solve-program.js';

export interface FeasibilityResult {
  /**
   * Smallest possible violation: the sum of the violations of rows, each divided by its largest coefficient, and of
   * limits on kinks; if these can be satisfied, the excess of the last checked norm over its radius.
   */
  readonly violation: number;
  /** Point with this violation, [n]. */
  readonly x: Float64Array;
  /** Proof of infeasibility; null if the violation is within the tolerance or infeasibility cannot be proved. */
  readonly certificate: Certificate | null;
  /** True if infeasibility is proved, the violation is within the tolerance, or its optimality conditions hold. */
  readonly isReliable: boolean;
}

/** Maximum violation that counts as feasible. */
export const FEASIBILITY_TOLERANCE = 1e-9;

/**
 * Decides if any point within the bounds satisfies the norms of a program, and the rows and limits on kinks that have
 * no penalty. First a linear program minimises the total violation of rows and kinks; then each norm is minimised
 * subject to the rows, the kinks and the previous norms.
 *
 * @cost    One linear program, and one quadratic program per norm.
 * @source  Boyd & Vandenberghe (2004), Convex Optimization, section 11.4: phase I, as the least sum of violations.
 */
export function findLeastViolation(solver: Solver, program: Program): FeasibilityResult {
  const linear = minimiseLinearViolation(solver, program);
  if (linear.certificate !== null || !linear.isReliable) return linear;
  let last = linear;
  for (let q = 0; q < program.norms.length; q++) {
    last = minimiseNorm(solver, program, q);
    if (last.certificate !== null || !last.isReliable) return last;
  }
  return last;
}

function minimiseLinearViolation(solver: Solver, program: Program): FeasibilityResult {
  const { n, rows, kinks } = program;
  const hardKinks = kinks.map((kink): Kink =>
    isHard(kink) ? { ...kink, penalty: 1 } : { ...kink, left: new Float64Array(n), right: new Float64Array(n) },
  );
  const elasticProgram: Program = {
    ...program,
    curvature: 0,
    ridge: 0,
    linear: new Float64Array(n),
    rows: {
      ...rows,
      lower: rows.lower.map((bound, r) => (Number.isFinite(rows.penalty[r]!) ? -Infinity : bound)),
      upper: rows.upper.map((bound, r) => (Number.isFinite(rows.penalty[r]!) ? Infinity : bound)),
      penalty: Float64Array.from({ length: rows.count }, (_, r) => 1 / (findLargest(rows.coefficients, r * n, n) || 1)),
    },
    kinks: hardKinks,
    norms: [],
  };
  const { point, status } = solver.solve(elasticProgram);
  const violation = computeTotalViolation(elasticProgram, point.x);
  const certificate = {
    rows: addEmptyRows(elasticProgram, point),
    kinks: Float64Array.from(kinks, (kink, k) => (isHard(kink) ? point.kinkMultipliers[k]! : 0)),
    norms: new Float64Array(program.norms.length),
    around: point.x,
  };
  const isProven = violation > FEASIBILITY_TOLERANCE && measureInfeasibility(program, certificate) > 0;
  return {
    violation,
    x: point.x,
    certificate: isProven ? certificate : null,
    isReliable: isProven || violation <= FEASIBILITY_TOLERANCE || status === 'solved',
  };
}

/**
 * Returns the multipliers, corrected for rows without a free variable. Such a row is satisfied or violated regardless
 * of the other rows. The multiplier of a violated row is its penalty.
 */
function addEmptyRows({ n, rows, lower, upper }: Program, { x, rowMultipliers }: Point): Float64Array {
  return rowMultipliers.map((multiplier, r) => {
    let value = 0;
    for (let i = 0; i < n; i++) {
      const coefficient = rows.coefficients[r * n + i]!;
      if (coefficient !== 0 && lower[i]! < upper[i]!) return multiplier;
      value += coefficient * x[i]!;
    }
    if (value > rows.upper[r]!) return rows.penalty[r]!;
    return value < rows.lower[r]! ? -rows.penalty[r]! : 0;
  });
}

/** Minimises norm q subject to the rows and kinks without a penalty and the previous norms. */
function minimiseNorm(solver: Solver, program: Program, q: number): FeasibilityResult {
  const norm = program.norms[q]!;
  const hasOwnMetric = typeof norm.metric !== 'string';
  const smallest: Program = {
    ...program,
    metric: hasOwnMetric ? norm.metric : program.metric,
    curvature: norm.metric === 'identity' ? 0 : 1,
    ridge: norm.metric === 'identity' ? 1 : 0,
    centre: norm.centre,
    linear: new Float64Array(program.n),
    rows: selectHardRows(program),
    kinks: program.kinks.map((kink): Kink =>
      isHard(kink)
        ? kink
        : { ...kink, limit: null, left: new Float64Array(program.n), right: new Float64Array(program.n) },
    ),
    norms: program.norms.slice(0, q).map((otherNorm) => (hasOwnMetric ? addMetric(otherNorm, program) : otherNorm)),
  };
  const { point, status } = solver.solve(smallest);
  const length = computeNormLength(program, norm, point.x);
  const violation = Math.max(0, length - norm.radius);
  const norms = new Float64Array(program.norms.length);
  norms.set(point.normMultipliers);
  norms[q] = 1;
  const certificate = {
    rows: point.rowMultipliers,
    kinks: Float64Array.from(program.kinks, (kink, k) => (isHard(kink) ? point.kinkMultipliers[k]! : 0)),
    norms,
    around: point.x,
  };
  const isProven = violation > FEASIBILITY_TOLERANCE && measureInfeasibility(program, certificate) > 0;
  return {
    violation,
    x: point.x,
    certificate: isProven ? certificate : null,
    isReliable: isProven || status === 'solved' || violation <= FEASIBILITY_TOLERANCE,
  };
}

/** Returns the norm with an explicit metric, so that it can be used in another program. */
function addMetric(norm: Norm, { metric }: Program): Norm {
  return norm.metric === 'metric' ? { ...norm, metric: metric! } : norm; // The metric exists because the norm refers to it.
}

/** Returns the rows without the bounds of rows that have a penalty, because these do not restrict the feasible set. */
function selectHardRows({ rows }: Program): Program['rows'] {
  const isSoft = (r: number) => Number.isFinite(rows.penalty[r]!);
  return {
    ...rows,
    lower: rows.lower.map((bound, r) => (isSoft(r) ? -Infinity : bound)),
    upper: rows.upper.map((bound, r) => (isSoft(r) ? Infinity : bound)),
    penalty: new Float64Array(rows.count).fill(Infinity),
  };
}

function computeTotalViolation({ n, rows, kinks }: Program, x: Float64Array): number {
  let total = 0;
  for (let r = 0; r < rows.count; r++) {
    let value = 0;
    for (let i = 0; i < n; i++) value += rows.coefficients[r * n + i]! * x[i]!;
    total += rows.penalty[r]! * Math.max(0, value - rows.upper[r]!, rows.lower[r]! - value);
  }
  for (const kink of kinks) if (kink.limit !== null) total += Math.max(0, sumKinks(kink, x) - kink.limit);
  return total;
}
