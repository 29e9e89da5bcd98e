import { computeNormForce } from './norms.js';
import type { Kink, Program } from './program.js';

/** Multipliers that prove a program infeasible: see `measureInfeasibility`. */
export interface Certificate {
  /** Multipliers of the rows, [m], positive for upper bounds, negative for lower bounds. */
  readonly rows: Float64Array;
  /** Multipliers of the kink limits, [kinks], at least 0. */
  readonly kinks: Float64Array;
  /**
   * Multipliers of the norms, [norms], at least 0. They are the weights of the tangents of the norms at `around`, each
   * times the length of the norm there.
   */
  readonly norms: Float64Array;
  /** Point at which the norms are linearised, [n]. */
  readonly around: Float64Array;
}

/** Returns true if a kink has a limit without a penalty. */
export function isHard(kink: Kink): boolean {
  return kink.limit !== null && !Number.isFinite(kink.penalty);
}

/**
 * Computes the margin by which multipliers prove that a program is infeasible. The margin is the minimum, within the
 * bounds, of the weighted left-hand sides less the weighted right-hand sides. Norms are replaced by their tangents,
 * which are lower bounds. A positive margin proves infeasibility for any multipliers, because every feasible point has
 * a margin of at most zero.
 * @returns  Margin; -Infinity if it is unbounded below in a variable without a bound.
 * @cost     m n, and n^2 per norm.
 * @source   Farkas' lemma; Boyd & Vandenberghe (2004), Convex Optimization, section 5.8.
 */
export function measureInfeasibility(
  program: Program,
  { rows: y, kinks: prices, norms: weights, around }: Certificate,
): number {
  const { n, lower, upper, rows, kinks, norms } = program;
  const force = new Float64Array(n);
  let gap = 0;
  let size = 0;
  const add = (multiplier: number, coefficients: Float64Array, from: number) => {
    for (let i = 0; i < n; i++) {
      const term = multiplier * coefficients[from + i]!;
      force[i]! += term;
      size = Math.max(size, Math.abs(term));
    }
  };
  for (let r = 0; r < rows.count; r++) {
    const multiplier = y[r]!;
    const bound = multiplier > 0 ? rows.upper[r]! : rows.lower[r]!;
    if (multiplier === 0 || !Number.isFinite(bound) || Number.isFinite(rows.penalty[r]!)) continue;
    add(multiplier, rows.coefficients, r * n);
    gap -= multiplier * bound;
  }
  norms.forEach((norm, q) => {
    const weight = Math.max(weights[q]!, 0);
    if (weight === 0) return;
    const { centre, radius } = norm;
    const offset = around.map((value, i) => value - centre[i]!);
    const slope = computeNormForce(program, norm, offset, new Float64Array(n));
    let square = 0;
    let inner = 0;
    for (let i = 0; i < n; i++) {
      square += offset[i]! * slope[i]!;
      inner += slope[i]! * around[i]!;
    }
    if (!(square > 0)) return;
    // The tangent is that of the norm itself, with gradient slope / sqrt(square). It is linear in the radius and
    // tighter than the tangent of the square.
    add(weight, slope, 0);
    gap += weight * (square - Math.sqrt(square) * radius - inner);
  });
  kinks.forEach(({ limit }, k) => {
    gap -= Math.max(prices[k]!, 0) * (limit ?? 0);
    if (prices[k]! > size) size = prices[k]!;
  });
  for (let i = 0; i < n; i++)
    gap += findMinimumOver(program, prices, force[i]!, i, {
      low: lower[i]!,
      high: upper[i]!,
      negligible: NEGLIGIBLE_FORCE * size,
    });
  return gap;
}

/**
 * Minimum ratio to the largest force of a force in the direction of an infinite bound. A smaller force is a rounding
 * error.
 */
const NEGLIGIBLE_FORCE = 1e-9;

interface Range {
  readonly low: number;
  readonly high: number;
  readonly negligible: number;
}

/**
 * Returns the minimum within a range of force * x plus the weighted kinks of the variable. The function is convex and
 * piecewise linear, so the minimum is at an end of the range or at a kink.
 */
function findMinimumOver(
  { kinks }: Program,
  prices: Float64Array,
  force: number,
  i: number,
  { low, high, negligible }: Range,
): number {
  const computeValueAt = (x: number) => {
    let total = force * x;
    kinks.forEach(({ at, left, right }, k) => {
      const step = x - at[i]!;
      total += Math.max(prices[k]!, 0) * (step > 0 ? right[i]! : left[i]!) * step;
    });
    return total;
  };
  const sumEndSlopes = (side: 'left' | 'right') =>
    kinks.reduce((total, kink, k) => total + Math.max(prices[k]!, 0) * kink[side][i]!, force);
  let leastValue = Number.POSITIVE_INFINITY;
  if (low === Number.NEGATIVE_INFINITY && sumEndSlopes('left') > negligible) return Number.NEGATIVE_INFINITY;
  if (high === Number.POSITIVE_INFINITY && sumEndSlopes('right') < -negligible) return Number.NEGATIVE_INFINITY;
  const candidates = [low, high, ...kinks.map(({ at }) => at[i]!)].filter(
    (x) => Number.isFinite(x) && x >= low && x <= high,
  );
  for (const x of candidates.length === 0 ? [0] : candidates) leastValue = Math.min(leastValue, computeValueAt(x));
  return leastValue;
}
