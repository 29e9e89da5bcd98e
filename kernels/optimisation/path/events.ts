import { EQUAL, FREE, IDLE, LOWER, OVER, PINNED, UNDER, UPPER } from '../active-set/active-state.js';
import type { Path } from './state.js';

/** Next event of a path: its location, and the state that changes. */
export interface PathEvent {
  /** Distance along the path from the current point. */
  readonly length: number;
  readonly subject: 'name' | 'row' | 'kink' | 'side' | 'end';
  /** Index of the security, row or kink. */
  readonly at: number;
  /** New state; for a side, the index of the kink that is crossed. */
  readonly next: number;
  /** Direction of a released security: -1 down, 1 up. */
  readonly way: number;
}

/** Earliest event found so far. `offer` replaces it by an earlier one. */
export interface FirstEvent {
  length: number;
  subject: PathEvent['subject'];
  at: number;
  next: number;
  way: number;
}

function offer(
  first: FirstEvent,
  length: number,
  subject: PathEvent['subject'],
  position: number,
  next: number,
  way = 0,
): void {
  const eventLength = length > 0 ? length : 0;
  if (eventLength >= first.length) return;
  first.length = eventLength;
  first.subject = subject;
  first.at = position;
  first.next = next;
  first.way = way;
}

/** Finds the first event among multipliers. The multipliers change while the weights are constant. */
export function findFirstDual(path: Path, first: FirstEvent): void {
  offerBoundVariables(path, first);
  offerActiveRows(path, first);
  offerActiveKinks(path, first);
}

/** Finds the first event among weights. */
export function findFirstPrimal(path: Path, first: FirstEvent): void {
  offerFreeVariables(path, first);
  offerIdleRows(path, first);
  offerIdleKinks(path, first);
}

function offerBoundVariables(path: Path, first: FirstEvent): void {
  const { program, state, gradient, gradientRate } = path;
  for (let i = 0; i < program.n; i++) {
    const side = state.names[i]!;
    if (side === FREE || program.lower[i] === program.upper[i]) continue;
    const rate = gradientRate[i]!;
    if (side === LOWER) {
      if (rate < 0) offer(first, gradient[i]! / -rate, 'name', i, FREE, 1);
    } else if (side === UPPER) {
      if (rate > 0) offer(first, -gradient[i]! / rate, 'name', i, FREE, -1);
    } else offerPinnedVariable(path, first, i);
  }
}

/** Proposes the event at which the gradient of a pinned security leaves the range of the kink's slopes. */
function offerPinnedVariable(
  { program: { kinks }, state, gradient, gradientRate, z, dz }: Path,
  first: FirstEvent,
  i: number,
): void {
  const kinkPosition = kinks[state.names[i]! - PINNED]!.at[i]!;
  let left = gradient[i]!;
  let right = left;
  let leftRate = gradientRate[i]!;
  let rightRate = leftRate;
  for (let k = 0; k < kinks.length; k++) {
    const kink = kinks[k]!;
    if (kink.at[i] !== kinkPosition) continue;
    left += z[k]! * kink.left[i]!;
    leftRate += dz[k]! * kink.left[i]!;
    right += z[k]! * kink.right[i]!;
    rightRate += dz[k]! * kink.right[i]!;
  }
  if (leftRate > 0) offer(first, -left / leftRate, 'name', i, FREE, -1);
  if (rightRate < 0) offer(first, right / -rightRate, 'name', i, FREE, 1);
}

function offerActiveRows({ program: { rows }, state, y, dy }: Path, first: FirstEvent): void {
  for (let r = 0; r < rows.count; r++) {
    const side = state.rows[r]!;
    const rate = dy[r]!;
    if (rate === 0 || side === IDLE || side === OVER || side === UNDER) continue;
    const penalty = rows.penalty[r]!;
    if (side === UPPER && rate < 0) offer(first, y[r]! / -rate, 'row', r, IDLE);
    if (side === LOWER && rate > 0) offer(first, -y[r]! / rate, 'row', r, IDLE);
    if (Number.isFinite(penalty)) {
      if (side !== LOWER && rate > 0) offer(first, (penalty - y[r]!) / rate, 'row', r, OVER);
      if (side !== UPPER && rate < 0) offer(first, (y[r]! + penalty) / -rate, 'row', r, UNDER);
    }
  }
}

function offerActiveKinks({ program: { kinks }, state, z, dz }: Path, first: FirstEvent): void {
  for (let k = 0; k < kinks.length; k++) {
    const rate = dz[k]!;
    if (state.kinks[k] !== UPPER || rate === 0) continue;
    if (rate < 0) offer(first, z[k]! / -rate, 'kink', k, IDLE);
    else if (Number.isFinite(kinks[k]!.penalty)) offer(first, (kinks[k]!.penalty - z[k]!) / rate, 'kink', k, OVER);
  }
}

function offerFreeVariables(
  { program: { n, lower, upper, kinks }, state, factor, x, dx }: Path,
  first: FirstEvent,
): void {
  const count = factor.count();
  for (let p = 0; p < count; p++) {
    const i = factor.order[p]!;
    const rate = dx[i]!;
    if (rate === 0) continue;
    if (rate < 0) offer(first, (x[i]! - lower[i]!) / -rate, 'name', i, LOWER);
    else offer(first, (upper[i]! - x[i]!) / rate, 'name', i, UPPER);
    for (let k = 0; k < kinks.length; k++) {
      const { at, left, right } = kinks[k]!;
      if (left[i] === right[i] || rate > 0 === (state.sides[k * n + i] === 1)) continue;
      const isInside = at[i]! > lower[i]! && at[i]! < upper[i]!;
      if (!isInside) continue;
      const length = (at[i]! - x[i]!) / rate;
      if (state.kinks[k] === IDLE) offer(first, length, 'side', i, k);
      else offer(first, length, 'name', i, PINNED + k);
    }
  }
}

function offerIdleRows(
  { program: { n, rows }, state, factor, x, dx, rowLower, rowUpper, lowerRate, upperRate }: Path,
  first: FirstEvent,
): void {
  const count = factor.count();
  for (let r = 0; r < rows.count; r++) {
    const side = state.rows[r]!;
    if (side !== IDLE && side !== OVER && side !== UNDER) continue;
    const from = r * n;
    let value = 0;
    let rate = 0;
    for (let i = 0; i < n; i++) value += rows.coefficients[from + i]! * x[i]!;
    for (let p = 0; p < count; p++) rate += rows.coefficients[from + factor.order[p]!]! * dx[factor.order[p]!]!;
    const rateAbove = rate - upperRate[r]!;
    const rateBelow = lowerRate[r]! - rate;
    if (side === IDLE) {
      if (rateAbove > 0) offer(first, (rowUpper[r]! - value) / rateAbove, 'row', r, UPPER);
      if (rateBelow > 0) offer(first, (value - rowLower[r]!) / rateBelow, 'row', r, LOWER);
    } else if (side === OVER && rateAbove < 0)
      offer(first, (value - rowUpper[r]!) / -rateAbove, 'row', r, rows.lower[r] === rows.upper[r] ? EQUAL : UPPER);
    else if (side === UNDER && rateBelow < 0)
      offer(first, (rowLower[r]! - value) / -rateBelow, 'row', r, rows.lower[r] === rows.upper[r] ? EQUAL : LOWER);
  }
}

function offerIdleKinks({ program: { n, kinks }, state, factor, x, dx }: Path, first: FirstEvent): void {
  const count = factor.count();
  for (let k = 0; k < kinks.length; k++) {
    const { at, left, right, limit } = kinks[k]!;
    if (limit === null || state.kinks[k] === UPPER) continue;
    let sum = 0;
    let rate = 0;
    for (let i = 0; i < n; i++) sum += (x[i]! > at[i]! ? right[i]! : left[i]!) * (x[i]! - at[i]!);
    for (let p = 0; p < count; p++) {
      const i = factor.order[p]!;
      rate += (state.sides[k * n + i] === -1 ? left[i]! : right[i]!) * dx[i]!;
    }
    if (state.kinks[k] === IDLE && rate > 0) offer(first, (limit - sum) / rate, 'kink', k, UPPER);
    else if (state.kinks[k] === OVER && rate < 0) offer(first, (sum - limit) / -rate, 'kink', k, UPPER);
  }
}
