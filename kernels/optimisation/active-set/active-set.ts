import {
  type ActiveState,
  copyState,
  createColdState,
  EQUAL,
  FREE,
  IDLE,
  type Iterate,
  LOWER,
  OVER,
  PINNED,
  UNDER,
  UPPER,
} from '../program/active-state.js';
import { type Program, sumKinks } from '../program/program.js';
import {
  computeRowValue,
  computeShortfall,
  createActiveSetWork,
  createEqualitySystem,
  type Curvatures,
  fixSecurities,
  refineState,
  solveState,
  type Work,
} from './equality-problem.js';

/**
 * Maximum violation of a bound that counts as a rounding error, relative to 1 + |value|, or to the radius of a norm.
 */
const PRIMAL_TOLERANCE = 1e-13;

/** Dual tolerance, relative to the largest force. */
const DUAL_TOLERANCE = 1e-12;

/** Flips every state that the iterate contradicts; returns the number of flips. */
function flipStates(program: Program, state: ActiveState, iterate: Iterate, work: Work, isNearby: boolean): number {
  const tolerance = DUAL_TOLERANCE * work.gradientScale;
  let flips = flipRows(program, state, iterate, tolerance);
  if (isNearby) flips += flipLimits(program, state, iterate, work, tolerance);
  for (let i = 0; i < program.n; i++) {
    if (program.lower[i]! < program.upper[i]! && flipVariable(program, state, iterate, work.gradient[i]!, i, tolerance))
      flips++;
  }
  return flips;
}

function flipRows({ n, rows }: Program, state: ActiveState, { x, rowMultipliers }: Iterate, tolerance: number): number {
  let flips = 0;
  for (let r = 0; r < rows.count; r++) {
    const side = state.rows[r]!;
    const penalty = rows.penalty[r]!;
    const y = rowMultipliers[r]!;
    let next = side;
    if (side === IDLE || side === OVER || side === UNDER) {
      const value = computeRowValue(rows.coefficients, r * n, x);
      const excess = value - rows.upper[r]!;
      const shortfall = rows.lower[r]! - value;
      const slack = PRIMAL_TOLERANCE * (1 + Math.abs(value));
      if (side === IDLE) {
        if (excess > slack) next = UPPER;
        else if (shortfall > slack) next = LOWER;
      } else if (side === OVER && excess < -slack) next = rows.lower[r] === rows.upper[r] ? EQUAL : UPPER;
      else if (side === UNDER && shortfall < -slack) next = rows.lower[r] === rows.upper[r] ? EQUAL : LOWER;
    } else if (y > penalty) next = OVER;
    else if (y < -penalty) next = UNDER;
    else if (side === UPPER && y < -tolerance) next = IDLE;
    else if (side === LOWER && y > tolerance) next = IDLE;
    if (next !== side) {
      state.rows[r] = next;
      flips++;
    }
  }
  return flips;
}

function flipLimits(program: Program, state: ActiveState, iterate: Iterate, work: Work, tolerance: number): number {
  const { rows, kinks, norms } = program;
  let flips = 0;
  for (let k = 0; k < kinks.length; k++) {
    const kink = kinks[k]!;
    if (kink.limit === null) continue;
    const side = state.kinks[k]!;
    const multiplier = iterate.kinkMultipliers[k]!;
    let next = side;
    if (side === UPPER) {
      if (multiplier < -tolerance) next = IDLE;
      else if (multiplier > kink.penalty) next = OVER;
    } else {
      const excess = sumKinks(kink, iterate.x) - kink.limit;
      const slack = PRIMAL_TOLERANCE * (1 + kink.limit);
      if (side === IDLE && excess > slack) next = UPPER;
      else if (side === OVER && excess < -slack) next = UPPER;
    }
    if (next !== side) {
      state.kinks[k] = next;
      flips++;
    }
  }
  for (let q = 0; q < norms.length; q++) {
    const excess = -computeShortfall(program, state, iterate, rows.count + kinks.length + q, work);
    const side = state.norms[q]!;
    const next =
      side === IDLE
        ? excess > PRIMAL_TOLERANCE * norms[q]!.radius
          ? UPPER
          : IDLE
        : iterate.normMultipliers[q]! < 0
          ? IDLE
          : UPPER;
    if (next !== side) {
      state.norms[q] = next;
      flips++;
    }
  }
  return flips;
}

/** Flips one variable. @returns true if its state changed */
function flipVariable(
  program: Program,
  state: ActiveState,
  iterate: Iterate,
  gradient: number,
  i: number,
  tolerance: number,
): boolean {
  const side = state.names[i]!;
  if (side === FREE) return fixVariable(program, state, iterate, i);
  if (side === LOWER) return gradient < -tolerance && releaseVariable(state, i);
  if (side === UPPER) return gradient > tolerance && releaseVariable(state, i);
  return unpinVariable(program, state, iterate, gradient, i, tolerance);
}

function releaseVariable(state: ActiveState, i: number): boolean {
  state.names[i] = FREE;
  return true;
}

/** Fixes a free variable that crossed bounds or kinks. It is fixed at the first one that it crossed. */
function fixVariable(
  { n, lower, upper, kinks }: Program,
  state: ActiveState,
  { x, kinkMultipliers }: Iterate,
  i: number,
): boolean {
  const value = x[i]!;
  let furthestDistance = PRIMAL_TOLERANCE * (1 + Math.abs(value));
  let next = FREE;
  if (lower[i]! - value > furthestDistance) {
    furthestDistance = lower[i]! - value;
    next = LOWER;
  } else if (value - upper[i]! > furthestDistance) {
    furthestDistance = value - upper[i]!;
    next = UPPER;
  }
  for (let k = 0; k < kinks.length; k++) {
    const { at, left, right } = kinks[k]!;
    const side = value < at[i]! ? -1 : 1;
    if (side === state.sides[k * n + i] || left[i] === right[i]) continue;
    if (kinkMultipliers[k] === 0) {
      state.sides[k * n + i] = side;
      continue;
    }
    const kinkDistance = Math.abs(value - at[i]!);
    if (kinkDistance > furthestDistance && at[i]! > lower[i]! && at[i]! < upper[i]!) {
      furthestDistance = kinkDistance;
      next = PINNED + k;
    }
  }
  if (next === FREE) return false;
  state.names[i] = next;
  placeSides(
    kinks,
    state,
    next === LOWER ? lower[i]! : next === UPPER ? upper[i]! : kinks[next - PINNED]!.at[i]!,
    next,
    n,
    i,
  );
  return true;
}

/**
 * Sets the kink sides of a fixed security. A kink at the bound itself counts as crossed when the security leaves the
 * bound.
 */
function placeSides(
  kinks: Program['kinks'],
  state: ActiveState,
  where: number,
  side: number,
  n: number,
  i: number,
): void {
  for (let k = 0; k < kinks.length; k++) {
    const position = kinks[k]!.at[i]!;
    if (position === where) {
      if (side === LOWER) state.sides[k * n + i] = 1;
      else if (side === UPPER) state.sides[k * n + i] = -1;
    } else state.sides[k * n + i] = where < position ? -1 : 1;
  }
}

/** Releases a pinned security from its kink if the gradient is outside the range of the kink's slopes. */
function unpinVariable(
  { n, kinks }: Program,
  state: ActiveState,
  { kinkMultipliers }: Iterate,
  gradient: number,
  i: number,
  tolerance: number,
): boolean {
  const kinkPosition = kinks[state.names[i]! - PINNED]!.at[i]!;
  let leftSlope = gradient;
  let rightSlope = gradient;
  for (let k = 0; k < kinks.length; k++) {
    if (kinks[k]!.at[i] !== kinkPosition) continue;
    leftSlope += kinkMultipliers[k]! * kinks[k]!.left[i]!;
    rightSlope += kinkMultipliers[k]! * kinks[k]!.right[i]!;
  }
  if (leftSlope <= tolerance && rightSlope >= -tolerance) return false;
  const side = leftSlope > tolerance ? -1 : 1;
  for (let k = 0; k < kinks.length; k++) if (kinks[k]!.at[i] === kinkPosition) state.sides[k * n + i] = side;
  state.names[i] = FREE;
  return true;
}

export interface ActiveSetOutcome {
  /**
   * `solved`: no state changes any more. `kinked`: a limit on kinks is violated and may not be activated in this run.
   * `stuck`: no convergence.
   */
  readonly status: 'solved' | 'kinked' | 'stuck';
  readonly iterations: number;
}

export interface ActiveSetOptions {
  readonly iterationsMax: number;
  /**
   * True if the limits on kinks and norms may change their state. Block pivoting with these limits is reliable only
   * near the solution.
   */
  readonly nearby: boolean;
}

/** Maximum number of iterations without a decrease in the number of flips. A longer series indicates a cycle. */
const PATIENCE = 8;

/**
 * Runs a primal-dual active set method with implicit bounds: solves the equality problem of a state, flips every state
 * that its solution contradicts, and repeats. A converged solution is exact to rounding; convergence is not guaranteed.
 *
 * @param state    Initial state; overwritten with the final state.
 * @param iterate  Point, [n], and multipliers. The multipliers of active rows and norms are initial values; everything
 *                 is overwritten.
 * @cost           |F|^3 / 6 for |F| free variables, and again after many of their states changed; per iteration |F|^2 /
 *                 6 for each variable that has been fixed since, and m |F|; 3 to 6 iterations from a cold state.
 * @source         Kunisch & Rendl (2003), SIAM J. Optimization 14(1), 35-52; Hintermueller, Ito & Kunisch (2002), SIAM
 *                 J. Optimization 13(3).
 */
export function runActiveSet(
  program: Program,
  curvatures: Curvatures,
  state: ActiveState,
  iterate: Iterate,
  options: ActiveSetOptions,
): ActiveSetOutcome {
  const work = createActiveSetWork(program);
  const problem = { program, state, iterate, work, system: createEqualitySystem(program, curvatures, work) };
  let fewestFlips = Number.POSITIVE_INFINITY;
  let roundsSinceFewer = 0;
  for (let iteration = 1; iteration <= options.iterationsMax; iteration++) {
    fixSecurities(program, state, iterate, work);
    if (!solveState(problem)) return { status: 'stuck', iterations: iteration };
    let flips = flipStates(program, state, iterate, work, options.nearby);
    if (flips === 0) {
      refineState(problem);
      flips = flipStates(program, state, iterate, work, options.nearby);
    }
    if (flips === 0)
      return {
        status: !options.nearby && exceedsKinks(program, state, iterate.x) ? 'kinked' : 'solved',
        iterations: iteration,
      };
    if (flips < fewestFlips) {
      fewestFlips = flips;
      roundsSinceFewer = 0;
    } else if (++roundsSinceFewer >= PATIENCE) return { status: 'stuck', iterations: iteration };
  }
  return { status: 'stuck', iterations: options.iterationsMax };
}

function exceedsKinks({ kinks }: Program, state: ActiveState, x: Float64Array): boolean {
  return kinks.some(
    (kink, k) =>
      kink.limit !== null && state.kinks[k] === IDLE && sumKinks(kink, x) > kink.limit + 1e-12 * (1 + kink.limit),
  );
}

interface StartingState {
  readonly state: ActiveState;
  /** True if limits on kinks may change their states during block pivoting. */
  readonly nearby: boolean;
}

/**
 * Yields initial states for block pivoting. First the state of a similar program; then the state with all securities
 * free, which ignores limits on kinks. For a program with such limits and no norms, the last state has all securities
 * pinned to their kink.
 */
export function* listStartingStates(
  program: Program,
  warm: ActiveState | undefined,
  isCold: boolean,
): Generator<StartingState> {
  if (warm !== undefined) yield { state: copyState(warm), nearby: warm.kinks.includes(UPPER) };
  if (!isCold) return;
  if (warm === undefined || warm.kinks.includes(UPPER)) yield { state: createColdState(program), nearby: false };
  if (program.kinks.some(({ limit }) => limit !== null) && program.norms.length === 0)
    yield { state: createPinnedState(program), nearby: true };
}

/** Returns the state with every security on the kink of the first limit, if the kink is between its bounds. */
function createPinnedState(program: Program): ActiveState {
  const state = createColdState(program);
  const { n, lower, upper, kinks } = program;
  const first = kinks.findIndex(({ limit }) => limit !== null);
  kinks.forEach(({ limit }, k) => {
    if (limit !== null) state.kinks[k] = UPPER;
  });
  for (let i = 0; i < n; i++) {
    const position = kinks[first]!.at[i]!;
    state.names[i] = position <= lower[i]! ? LOWER : position >= upper[i]! ? UPPER : PINNED + first;
    for (let k = 0; k < kinks.length; k++)
      state.sides[k * n + i] = Math.min(Math.max(position, lower[i]!), upper[i]!) < kinks[k]!.at[i]! ? -1 : 1;
  }
  return state;
}
