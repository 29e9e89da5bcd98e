import { computeSlope } from '../active-set/equality-problem.js';
import { factorSemidefinite, solveFactored } from '../factors/schur.js';
import {
  type ActiveState,
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
import { computeMetricDiagonal } from '../program/metric.js';
import { computeSmoothGradient, multiplyCurvature, type Point, type Program, type Rows } from '../program/program.js';
import type { PathFactor, PathFactors } from './factor.js';

/**
 * Current point of a path, with its rates of change. The path connects two programs that differ in their objective and
 * the bounds of rows.
 */
interface Path {
  readonly program: Program;
  readonly state: ActiveState;
  readonly factor: PathFactor;
  /** [n] */
  readonly x: Float64Array;
  /** [m] */
  readonly y: Float64Array;
  /** Multipliers of the kinks, [kinks]. */
  readonly z: Float64Array;
  /** Gradient of the Lagrangian, [n], with kinks on the sides of the state: zero on free securities. */
  readonly gradient: Float64Array;
  /** Bounds of the rows at the current point, [m]. */
  readonly rowLower: Float64Array;
  readonly rowUpper: Float64Array;
  /** Change of the bounds over the whole path, [m]. */
  readonly lowerRate: Float64Array;
  readonly upperRate: Float64Array;
  /** Change of the objective's gradient over the whole path, [n]. */
  readonly pull: Float64Array;
  /** Remaining fraction of the path. */
  left: number;
  readonly dx: Float64Array;
  readonly dy: Float64Array;
  readonly dz: Float64Array;
  readonly gradientRate: Float64Array;
  /** Curvature times dx, [n]. */
  readonly curved: Float64Array;
}

/** Next event of a path: its location, and the state that changes. */
interface PathEvent {
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
type FirstEvent = { -readonly [Member in keyof PathEvent]: PathEvent[Member] };

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
function findFirstDual(path: Path, first: FirstEvent): void {
  offerBoundVariables(path, first);
  offerActiveRows(path, first);
  offerActiveKinks(path, first);
}

function findFirstPrimal(path: Path, first: FirstEvent): void {
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

/**
 * Minimum ratio of a pivot. If it is smaller, the active row is linearly dependent on other rows on the free variables.
 */
const PIVOT_MIN = 1e-11;

/** Relative difference of the right-hand sides of dependent rows that counts as zero. */
const AGREEMENT_MAX = 1e-9;

/** Linear equations of the rates of change in the current state. */
export interface PathSystem {
  /**
   * Computes the rates of change in the current state. If the active rows determine all free variables, only
   * multipliers have rates.
   * @returns  true if only multipliers have rates
   */
  solve(): boolean;
}

function createPathSystem(path: Path): PathSystem {
  const { program, factor, dx, dy, dz, gradientRate } = path;
  const { n, rows, kinks } = program;
  const rowsMax = rows.count + kinks.length;
  const activeRows = new Int32Array(rowsMax);
  const isRepeated = new Uint8Array(rowsMax);
  const change = new Float64Array(rowsMax);
  const rightSide = new Float64Array(rowsMax);
  const schur = new Float64Array(rowsMax * rowsMax);
  const matrix = new Float64Array(rowsMax * rowsMax);
  const step = new Float64Array(n);
  const pulledGradient = new Float64Array(n);
  const isPulled = path.pull.some((value) => value !== 0);
  const columns: Float64Array[] = [];
  let m = 0;

  /** Computes the columns L^-1 A' of the active rows on the free securities, and their products. */
  function factorActive(): void {
    const f = factor.count();
    while (columns.length < m) columns.push(new Float64Array(n));
    for (let a = 0; a < m; a++) {
      const row = activeRows[a]!;
      const column = columns[a]!;
      for (let p = 0; p < f; p++) column[p] = readRowCoefficient(path, row, factor.order[p]!);
      factor.forward(column);
      for (let b = 0; b <= a; b++) {
        let total = 0;
        const otherColumn = columns[b]!;
        for (let p = 0; p < f; p++) total += column[p]! * otherColumn[p]!;
        matrix[a * m + b] = matrix[b * m + a] = schur[a * m + b] = total;
      }
    }
    factorSemidefinite(schur, m, isRepeated, { repeated: PIVOT_MIN });
  }

  /**
   * Computes a linear combination of active rows that is zero on the free securities. The combination includes the
   * given dependent row.
   */
  function findDependency(row: number): void {
    for (let a = 0; a < m; a++) change[a] = isRepeated[a] === 1 ? 0 : -matrix[a * m + row]!;
    solveFactored(schur, m, change, isRepeated);
    change[row] = 1;
  }

  function distributeMultipliers(): void {
    dy.fill(0);
    dz.fill(0);
    gradientRate.fill(0);
    for (let a = 0; a < m; a++) {
      const row = activeRows[a]!;
      if (row < rows.count) dy[row] = change[a]!;
      else dz[row - rows.count] = change[a]!;
      if (change[a] === 0) continue;
      for (let i = 0; i < n; i++) gradientRate[i]! += change[a]! * readRowCoefficient(path, row, i);
    }
  }

  /**
   * Computes rates of change for multipliers only. It applies if a row depends on others but requires a different
   * bound.
   * @returns false if there is no such row
   */
  function solveTurn(): boolean {
    const size = rightSide.subarray(0, m).reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
    for (let row = 0; row < m; row++) {
      if (isRepeated[row] === 0) continue;
      findDependency(row);
      let pull = 0;
      let strength = 0;
      for (let a = 0; a < m; a++) {
        pull += change[a]! * rightSide[a]!;
        strength = Math.max(strength, Math.abs(change[a]!));
      }
      if (Math.abs(pull) <= AGREEMENT_MAX * strength * size) continue;
      for (let a = 0; a < m; a++) change[a] = -Math.sign(pull) * change[a]!;
      dx.fill(0);
      distributeMultipliers();
      return true;
    }
    return false;
  }

  /**
   * Computes rates of change along the path: H dx + A' dy = -pull on the free securities, A dx = change of the bounds.
   */
  function solveAlongPath(): void {
    const f = factor.count();
    for (let p = 0; p < f; p++) pulledGradient[p] = isPulled ? path.pull[factor.order[p]!]! : 0;
    if (isPulled) factor.forward(pulledGradient);
    for (let a = 0; a < m; a++) {
      let total = -rightSide[a]!;
      const column = columns[a]!;
      for (let p = 0; p < f; p++) total -= column[p]! * pulledGradient[p]!;
      change[a] = total;
    }
    solveFactored(schur, m, change, isRepeated);
    for (let p = 0; p < f; p++) {
      let total = -pulledGradient[p]!;
      for (let a = 0; a < m; a++) total -= columns[a]![p]! * change[a]!;
      step[p] = total;
    }
    factor.backward(step);
    dx.fill(0);
    for (let p = 0; p < f; p++) dx[factor.order[p]!] = step[p]!;
    distributeMultipliers();
    multiplyCurvature(program, dx, path.curved);
    for (let i = 0; i < n; i++) gradientRate[i]! += path.curved[i]! + path.pull[i]!;
  }

  return {
    solve() {
      m = gatherActive(path, activeRows, rightSide);
      factorActive();
      if (solveTurn()) return true;
      solveAlongPath();
      return false;
    },
  };
}

const readRowCoefficient = ({ program, state }: Path, row: number, i: number): number =>
  row < program.rows.count
    ? program.rows.coefficients[row * program.n + i]!
    : computeSlope(program, state, row - program.rows.count, i);

/** Lists the active rows and kinks with their required rates of change. @returns the number of active rows and kinks */
function gatherActive(path: Path, active: Int32Array, wanted: Float64Array): number {
  const { program, state } = path;
  const { rows, kinks } = program;
  let m = 0;
  for (let r = 0; r < rows.count; r++) {
    const side = state.rows[r]!;
    if (side === IDLE || side === OVER || side === UNDER) continue;
    wanted[m] = side === LOWER ? path.lowerRate[r]! : path.upperRate[r]!;
    active[m++] = r;
  }
  for (let k = 0; k < kinks.length; k++) {
    if (state.kinks[k] !== UPPER) continue;
    wanted[m] = 0;
    active[m++] = rows.count + k;
  }
  return m;
}

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

/**
 * Margin between the starting point and the point at which the best security enters. It is a fraction of the largest
 * difference of gradients.
 */
const START_MARGIN = 1e-3;

/**
 * Weight of a single security at the steepest gradient. Above this weight, the optimum holds few securities, and block
 * pivoting converges slowly.
 */
const STEEP_WEIGHT = 0.3;

/**
 * Returns true if a strong linear term makes the optimum hold few variables. A start without variables is then closer
 * to the optimum than a start with all variables.
 */
export function isSteep({ n, metric, curvature, ridge, linear }: Program): boolean {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of linear) {
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  const variances = metric === null || curvature === 0 ? undefined : computeMetricDiagonal(metric);
  const meanCurvature = ridge + (curvature * (variances?.reduce((sum, value) => sum + value, 0) ?? 0)) / Math.max(n, 1);
  return meanCurvature > 0 && most - least > STEEP_WEIGHT * meanCurvature;
}

/**
 * Returns the point with every variable at its lower bound, as the optimum of a modified program. The equalities of
 * that program have their values at this point, the bounds of its other rows are extended to these values, and a charge
 * on all weights keeps the best variable at its bound. On the path to the original program, variables enter one by one.
 * @returns  Undefined if a variable has no lower bound, or the program has a limit on kinks or a norm.
 * @source   Ferreau, Bock & Diehl (2008), Int. J. Robust Nonlinear Control 18(8), section on the cold start.
 */
export function startEmpty(program: Program): PathStart | undefined {
  const { n, lower, upper, rows, kinks, norms } = program;
  if (norms.length > 0 || kinks.some(({ limit }) => limit !== null) || !lower.every(Number.isFinite)) return undefined;
  const x = lower.slice();
  const state = createColdState(program);
  state.names.fill(LOWER);
  kinks.forEach(({ at }, k) => {
    for (let i = 0; i < n; i++) state.sides[k * n + i] = x[i]! < at[i]! ? -1 : 1;
  });
  const charge = computeCharge(computeGradientAt(program, state, x), lower, upper);
  const startProgram: Program = {
    ...program,
    linear: program.linear.map((value) => value + charge),
    rows: extendRows(rows, x),
  };
  const point = {
    x,
    rowMultipliers: new Float64Array(rows.count),
    kinkMultipliers: new Float64Array(kinks.length).fill(1),
    normMultipliers: new Float64Array(0),
  };
  return { program: startProgram, point, state };
}

/**
 * Returns the smallest charge on all weights at which the empty point is optimal, plus a small margin; 0 if no charge
 * is needed.
 */
function computeCharge(gradient: Float64Array, lower: Float64Array, upper: Float64Array): number {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let i = 0; i < gradient.length; i++) {
    if (lower[i] === upper[i]) continue;
    least = Math.min(least, gradient[i]!);
    most = Math.max(most, gradient[i]!);
  }
  return least > 0 || most < least ? 0 : START_MARGIN * (most - least) - least;
}

function computeGradientAt(program: Program, state: ActiveState, x: Float64Array): Float64Array {
  const gradient = computeSmoothGradient(program, x);
  for (let i = 0; i < program.n; i++)
    for (let k = 0; k < program.kinks.length; k++) gradient[i]! += computeSlope(program, state, k, i);
  return gradient;
}

function extendRows(rows: Rows, x: Float64Array): Rows {
  const [lower, upper] = [rows.lower.slice(), rows.upper.slice()];
  for (let r = 0; r < rows.count; r++) {
    let value = 0;
    for (let i = 0; i < x.length; i++) value += rows.coefficients[r * x.length + i]! * x[i]!;
    if (lower[r] === upper[r]) lower[r] = upper[r] = value;
    else {
      lower[r] = Math.min(lower[r]!, value);
      upper[r] = Math.max(upper[r]!, value);
    }
  }
  return { ...rows, lower, upper };
}
