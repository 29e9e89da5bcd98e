import { LOWER, PINNED, type ActiveState, type Iterate } from './active-state.js';
import type { Work } from './equality-work.js';
import { multiplyMetric } from '../program/metric.js';
import { computeNormForce } from '../program/norms.js';
import { sumKinks, type Program } from '../program/program.js';

/** Computes the gradient of the Lagrangian at the iterate, with the slopes of kinks on the sides of the state. */
export function computeGradient(program: Program, state: ActiveState, iterate: Iterate, work: Work): void {
  const { n, metric, curvature, ridge, centre, linear, rows, kinks, norms } = program;
  const { x, rowMultipliers, kinkMultipliers, normMultipliers } = iterate;
  const { gradient, offset, product } = work;
  let largest = work.leastForce;
  const force = metric !== null && curvature !== 0 ? computeForce(program, x, work) : undefined;
  for (let i = 0; i < n; i++)
    gradient[i] = (force === undefined ? 0 : curvature * force[i]!) + ridge * (x[i]! - centre[i]!) + linear[i]!;
  for (let i = 0; i < n; i++) largest = Math.max(largest, Math.abs(gradient[i]!), Math.abs(linear[i]!));
  for (let r = 0; r < rows.count; r++) {
    const y = rowMultipliers[r]!;
    if (y === 0) continue;
    const from = r * n;
    for (let i = 0; i < n; i++) {
      const term = y * rows.coefficients[from + i]!;
      if (Math.abs(term) > largest) largest = Math.abs(term);
      gradient[i]! += term;
    }
  }
  for (let k = 0; k < kinks.length; k++) {
    const multiplier = kinkMultipliers[k]!;
    if (multiplier === 0) continue;
    for (let i = 0; i < n; i++) gradient[i]! += multiplier * computeSlope(program, state, k, i);
  }
  for (let q = 0; q < norms.length; q++) {
    const multiplier = normMultipliers[q]!;
    if (multiplier === 0) continue;
    const norm = norms[q]!;
    for (let i = 0; i < n; i++) offset[i] = x[i]! - norm.centre[i]!;
    const from = computeNormForce(program, norm, offset, product);
    for (let i = 0; i < n; i++) gradient[i]! += multiplier * from[i]!;
  }
  work.gradientScale = largest;
}

/** Computes C (x - centre), where C is the covariance. If few weights changed, it updates the previous product. */
function computeForce({ n, metric, centre }: Program, x: Float64Array, work: Work): Float64Array {
  const { offset, product, force, forcedAt } = work;
  let movedCount = work.hasForce ? 0 : n;
  for (let i = 0; i < n && movedCount < n / 2; i++) if (x[i] !== forcedAt[i]) movedCount++;
  if (movedCount < n / 2) {
    for (let i = 0; i < n; i++) offset[i] = x[i]! - forcedAt[i]!;
    multiplyMetric(metric!, offset, product);
    for (let i = 0; i < n; i++) force[i]! += product[i]!;
  } else {
    for (let i = 0; i < n; i++) offset[i] = x[i]! - centre[i]!;
    multiplyMetric(metric!, offset, force);
  }
  work.hasForce = true;
  for (let i = 0; i < n; i++) forcedAt[i] = x[i]!;
  return force;
}

/** Returns the slope of kink k at security i on its side; 0 for a security pinned to the kink. */
export function computeSlope({ n, kinks }: Program, state: ActiveState, k: number, i: number): number {
  const { at, left, right } = kinks[k]!;
  const side = state.names[i]!;
  if (side >= PINNED && kinks[side - PINNED]!.at[i] === at[i]) return 0;
  return state.sides[k * n + i] === -1 ? left[i]! : right[i]!;
}

/**
 * Returns the bound of an active row or kink less its value. For a norm, returns half the difference of the squares.
 */
export function computeShortfall(
  program: Program,
  state: ActiveState,
  { x }: Iterate,
  row: number,
  work: Work,
): number {
  const { n, rows, kinks, norms } = program;
  if (row < rows.count) {
    const bound = state.rows[row] === LOWER ? rows.lower[row]! : rows.upper[row]!;
    return bound - computeRowValue(rows.coefficients, row * n, x);
  }
  if (row < rows.count + kinks.length) {
    const kink = kinks[row - rows.count]!;
    return kink.limit! - sumKinks(kink, x);
  }
  const norm = norms[row - rows.count - kinks.length]!;
  const { offset, product } = work;
  for (let i = 0; i < n; i++) offset[i] = x[i]! - norm.centre[i]!;
  const from = computeNormForce(program, norm, offset, product);
  let square = 0;
  for (let i = 0; i < n; i++) square += offset[i]! * from[i]!;
  return (norm.radius * norm.radius - square) / 2;
}

export function computeRowValue(coefficients: Float64Array, from: number, x: Float64Array): number {
  let total = 0;
  for (let i = 0; i < x.length; i++) total += coefficients[from + i]! * x[i]!;
  return total;
}
