import {
  FREE,
  IDLE,
  LOWER,
  OVER,
  PINNED,
  UNDER,
  UPPER,
  type ActiveState,
  type Iterate,
} from '../active-set/active-state.js';
import { computeSlope } from '../active-set/equality-gradient.js';
import { findFirstDual, findFirstPrimal, type FirstEvent, type PathEvent } from './events.js';
import type { PathFactors } from './factor.js';
import type { Path } from './state.js';
import { createPathSystem } from './system.js';
import type { Point, Program } from '../program/program.js';
import { computeSmoothGradient } from '../program/smooth-gradient.js';

/**
 * Start of a path: an optimum of a program that differs from the target program only in its objective and the bounds of
 * rows.
 */
export interface PathStart {
  readonly program: Program;
  readonly point: Point;
  readonly state: ActiveState;
}

/**
 * Maximum number of events per security and row. Between the minimum-variance and the maximum-return portfolio each
 * security changes its state about once.
 */
const EVENTS_PER_CONSTRAINT = 10;

/** Limits beyond which a path is abandoned. */
export interface PathLimits {
  readonly eventsMax: number;
  /** Maximum number of free securities. */
  readonly freeMax: number;
}

/** Number of successive events without progress that indicates a cycle. */
const STANDSTILL_MAX = 60;

/** Number of events after which the gradient is recomputed. */
const RENEWAL_EVENTS = 40;

/**
 * Remaining fraction of the path at which the path counts as complete. Rounding errors may place the end outside the
 * bounds of rows, because the largest return is the last attainable one.
 */
const REMAINDER_MAX = 1e-12;

/**
 * Maximum gradient on a free security at the start, relative to the largest gradient on any security. A larger gradient
 * shows that the start is not an optimum of its state.
 */
const START_MAX = 1e-6;

/**
 * Follows the optimum from one program to another that differs in its gradient and the bounds of its rows. At each
 * event, one constraint becomes active or inactive. Between events, weights and multipliers are linear in the distance.
 * If the active rows determine all free variables, multipliers change along a linear dependency of the rows until a
 * variable or a row is released.
 * @returns  State and iterate at the end, unpolished; undefined if the path cannot be followed or there are norms.
 * @cost     Per event f^2 (m + 2) / 2 + n f for f free variables and m active rows; up to a few hundred events between
 *           points of a frontier.
 * @source   Best (1996), An algorithm for the solution of the parametric quadratic programming problem; Ferreau, Bock &
 *   Diehl (2008), Int. J. Robust Nonlinear Control 18(8).
 */
export function followPath(
  program: Program,
  start: PathStart,
  factors: PathFactors,
  limits?: PathLimits,
): { readonly state: ActiveState; readonly iterate: Iterate; readonly events: number } | undefined {
  const path = beginPath(program, start, factors);
  if (path === undefined) return undefined;
  const { n, rows, kinks } = program;
  const { eventsMax, freeMax } = limits ?? {
    eventsMax: EVENTS_PER_CONSTRAINT * (n + rows.count + kinks.length),
    freeMax: n,
  };
  const system = createPathSystem(path);
  let standstill = 0;
  for (let events = 0; events < eventsMax; events++) {
    if (events % RENEWAL_EVENTS === RENEWAL_EVENTS - 1) setGradient(path, computeSmoothGradient(program, path.x));
    const first: FirstEvent = { length: Number.POSITIVE_INFINITY, subject: 'end', at: 0, next: 0, way: 0 };
    const isBlocked = system.solve();
    if (isBlocked) findFirstDual(path, first);
    else {
      first.length = path.left;
      findFirstDual(path, first);
      findFirstPrimal(path, first);
    }
    if (!Number.isFinite(first.length)) {
      if (path.left > REMAINDER_MAX) return undefined;
      first.length = 0;
    }
    advance(path, first.length, !isBlocked);
    if (!isBlocked) path.left -= first.length;
    if (first.subject === 'end')
      return {
        state: path.state,
        iterate: { x: path.x, rowMultipliers: path.y, kinkMultipliers: path.z, normMultipliers: new Float64Array(0) },
        events,
      };
    standstill = first.length > 0 ? 0 : standstill + 1;
    if (standstill > STANDSTILL_MAX || !applyEvent(path, first) || path.factor.count() > freeMax) return undefined;
  }
  return undefined;
}

function beginPath(
  program: Program,
  { program: before, point, state }: PathStart,
  factors: PathFactors,
): Path | undefined {
  const { n, rows, kinks, norms } = program;
  if (norms.length > 0 || (program.curvature === 0 && program.ridge === 0) || !hasEqualShape(program, before))
    return undefined;
  const factor = factors.factorOf(
    program,
    Int32Array.from(state.names.keys()).filter((i) => state.names[i] === FREE && program.lower[i]! < program.upper[i]!),
  );
  if (factor === undefined) return undefined;
  const computeRate = (to: Float64Array, from: Float64Array) =>
    to.map((bound, r) => (bound === from[r] ? 0 : bound - from[r]!));
  const path: Path = {
    program,
    state: {
      names: state.names.slice(),
      sides: state.sides.slice(),
      rows: state.rows.slice(),
      kinks: state.kinks.slice(),
      norms: state.norms.slice(),
    },
    factor,
    x: point.x.slice(),
    y: point.rowMultipliers.slice(),
    z: point.kinkMultipliers.slice(),
    gradient: new Float64Array(n),
    rowLower: before.rows.lower.slice(),
    rowUpper: before.rows.upper.slice(),
    lowerRate: computeRate(rows.lower, before.rows.lower),
    upperRate: computeRate(rows.upper, before.rows.upper),
    pull: new Float64Array(n),
    left: 1,
    dx: new Float64Array(n),
    dy: new Float64Array(rows.count),
    dz: new Float64Array(kinks.length),
    gradientRate: new Float64Array(n),
    curved: new Float64Array(n),
  };
  if (![...path.lowerRate, ...path.upperRate].every(Number.isFinite)) return undefined;
  const remainingGradient = computeSmoothGradient(program, path.x);
  if (!hasEqualObjective(program, before)) {
    // The residual gradient of the start is removed gradually along the path.
    const gradient = computeSmoothGradient(before, path.x);
    for (let i = 0; i < n; i++) path.pull[i] = remainingGradient[i]! - gradient[i]!;
  }
  setGradient(path, remainingGradient);
  const largest = path.gradient.reduce((most, value) => Math.max(most, Math.abs(value)), Number.MIN_VALUE);
  for (let p = 0; p < path.factor.count(); p++)
    if (Math.abs(path.gradient[path.factor.order[p]!]!) > START_MAX * largest) return undefined;
  return path;
}

function hasEqualShape({ n, lower, upper, rows, kinks, norms }: Program, otherProgram: Program): boolean {
  const hasSameSize =
    otherProgram.n === n &&
    otherProgram.norms.length === norms.length &&
    otherProgram.rows.coefficients === rows.coefficients &&
    otherProgram.rows.penalty === rows.penalty;
  return (
    hasSameSize &&
    otherProgram.lower === lower &&
    otherProgram.upper === upper &&
    otherProgram.kinks.length === kinks.length &&
    otherProgram.kinks.every((kink, k) => kink === kinks[k])
  );
}

function hasEqualObjective({ metric, curvature, ridge, centre, linear }: Program, otherProgram: Program): boolean {
  return (
    otherProgram.metric === metric &&
    otherProgram.curvature === curvature &&
    otherProgram.ridge === ridge &&
    otherProgram.centre === centre &&
    otherProgram.linear === linear
  );
}

/**
 * Sets the gradient of the Lagrangian at the current point from the gradient of the objective at the end. Kinks have
 * the slopes of their sides in the state.
 */
function setGradient({ program, state, y, z, gradient, pull, left }: Path, smooth: Float64Array): void {
  const { n, rows, kinks } = program;
  for (let i = 0; i < n; i++) gradient[i] = smooth[i]! - left * pull[i]!;
  for (let r = 0; r < rows.count; r++)
    if (y[r] !== 0) for (let i = 0; i < n; i++) gradient[i]! += y[r]! * rows.coefficients[r * n + i]!;
  for (let k = 0; k < kinks.length; k++)
    if (z[k] !== 0) for (let i = 0; i < n; i++) gradient[i]! += z[k]! * computeSlope(program, state, k, i);
}

function advance(
  { x, y, z, dx, dy, dz, gradient, gradientRate, rowLower, rowUpper, lowerRate, upperRate }: Path,
  length: number,
  isOnWay: boolean,
): void {
  for (let i = 0; i < x.length; i++) {
    x[i]! += length * dx[i]!;
    gradient[i]! += length * gradientRate[i]!;
  }
  for (let r = 0; r < y.length; r++) {
    y[r]! += length * dy[r]!;
    if (!isOnWay) continue;
    rowLower[r]! += length * lowerRate[r]!;
    rowUpper[r]! += length * upperRate[r]!;
  }
  for (let k = 0; k < z.length; k++) z[k]! += length * dz[k]!;
}

/** Applies an event to the state; returns false if the curvature can no longer be factored. */
function applyEvent(path: Path, { subject, at, next, way }: PathEvent): boolean {
  const {
    program: { n, rows, kinks },
    state,
    y,
    z,
    factor,
  } = path;
  switch (subject) {
    case 'end':
      return true;
    case 'side':
      state.sides[next * n + at] = -state.sides[next * n + at]!;
      return true;
    case 'row':
      state.rows[at] = next;
      if (next === IDLE) y[at] = 0;
      else if (next === OVER) y[at] = rows.penalty[at]!;
      else if (next === UNDER) y[at] = -rows.penalty[at]!;
      return true;
    case 'kink': {
      state.kinks[at] = next;
      if (next === OVER) z[at] = kinks[at]!.penalty;
      if (next !== IDLE) return true;
      z[at] = 0;
      for (let i = 0; i < n; i++) if (state.names[i] === PINNED + at && !release(path, i, 1)) return false;
      return true;
    }
    case 'name':
      if (next === FREE) return release(path, at, way);
      factor.remove(at);
      fixVariable(path, at, next);
      return true;
  }
}

/** Returns the gradient of the kinks at a variable in its state. */
function computeKinkForce({ program, state, z }: Path, i: number): number {
  let total = 0;
  for (let k = 0; k < z.length; k++) if (z[k] !== 0) total += z[k]! * computeSlope(program, state, k, i);
  return total;
}

function fixVariable(path: Path, i: number, next: number): void {
  const {
    program: { n, lower, upper, kinks },
    state,
    x,
    gradient,
  } = path;
  const previousForce = computeKinkForce(path, i);
  const target = next === LOWER ? lower[i]! : next === UPPER ? upper[i]! : kinks[next - PINNED]!.at[i]!;
  x[i] = target;
  state.names[i] = next;
  for (let k = 0; k < kinks.length; k++) {
    const position = kinks[k]!.at[i]!;
    if (position !== target) state.sides[k * n + i] = target < position ? -1 : 1;
    else if (next === LOWER) state.sides[k * n + i] = 1;
    else if (next === UPPER) state.sides[k * n + i] = -1;
  }
  gradient[i] = computeKinkForce(path, i) - previousForce;
}

function release(path: Path, i: number, way: number): boolean {
  const {
    program: { n, kinks },
    state,
    gradient,
    factor,
    x,
  } = path;
  const side = state.names[i]!;
  if (side >= PINNED) for (let k = 0; k < kinks.length; k++) if (kinks[k]!.at[i] === x[i]) state.sides[k * n + i] = way;
  state.names[i] = FREE;
  gradient[i] = 0;
  return factor.add(i);
}
