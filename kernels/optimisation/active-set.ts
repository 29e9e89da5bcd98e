import type { Curvature } from './curvature.js';
import { metricDiagonal, metricTimes } from './metric.js';
import { kinkSum, type Program } from './program.js';
import { factorSemidefinite, solveFactored } from './schur.js';

/** States of a name; PINNED + k sits on kink k. */
export const FREE = 0;
export const LOWER = -1;
export const UPPER = 1;
export const PINNED = 2;

/** States of a row, a kink's limit or a norm: not active, held at a side, an equality, or violated at its price. */
export const IDLE = 0;
export const EQUAL = 2;
export const OVER = 3;
export const UNDER = -3;

/** Which constraints hold with equality: all that a solve needs to know of another solve. */
export interface ActiveState {
  /** [n] */
  readonly names: Int8Array;
  /** [kinks x n], the side of the kink each name is on: -1 left, 1 right. */
  readonly sides: Int8Array;
  /** [m] */
  readonly rows: Int8Array;
  /** [kinks]; a priced sum is always OVER. */
  readonly kinks: Int8Array;
  /** [norms] */
  readonly norms: Int8Array;
}

/** A point that the solver moves; arrays as in `Point`. */
export interface Iterate {
  readonly x: Float64Array;
  readonly rowMultipliers: Float64Array;
  readonly kinkMultipliers: Float64Array;
  readonly normMultipliers: Float64Array;
}

export interface ActiveSetOutcome {
  /** `solved`: no state wants to change. `kinked`: a limit on kinks is violated and may not be activated here. */
  readonly status: 'solved' | 'kinked' | 'stuck';
  readonly iterations: number;
}

export interface ActiveSetOptions {
  readonly iterationsMax: number;
  /** Whether limits on kinks and norms may change their state: block pivoting is sound for them only near the answer. */
  readonly nearby: boolean;
}

/** Primal tolerance of a state, relative to 1 + |bound|, and dual tolerance, relative to the largest term of the gradient. */
const PRIMAL_TOLERANCE = 1e-13;
const DUAL_TOLERANCE = 1e-12;

/** Newton corrections with one factor: a few remove rounding from the final answer, more are for a regularised factor. */
const REFINEMENTS = 3;
const REFINEMENTS_REGULARISED = 12;

/** Gradient left on a free name, relative to the largest force, below which there is nothing to refine. */
const REFINED = 1e-15;

/** Proximal terms tried where the curvature is singular on the free names, relative to its mean. */
const PROXIMAL = [0, 1e-9, 1e-6];

/** Newton steps on one state: more than two happen only while norms are active. */
const NEWTON_MAX = 30;

/** Flips that do not become fewer over so many iterations mean a cycle. */
const PATIENCE = 8;

/** The state a solve begins with when it knows nothing: every name free, equalities held. */
export function coldState({ n, rows, kinks, norms, centre }: Program): ActiveState {
  const state: ActiveState = {
    names: new Int8Array(n),
    sides: new Int8Array(kinks.length * n),
    rows: new Int8Array(rows.count),
    kinks: new Int8Array(kinks.length),
    norms: new Int8Array(norms.length),
  };
  for (let r = 0; r < rows.count; r++) state.rows[r] = rows.lower[r] === rows.upper[r] ? EQUAL : IDLE;
  kinks.forEach(({ at, limit }, k) => {
    state.kinks[k] = limit === null ? OVER : IDLE;
    for (let i = 0; i < n; i++) state.sides[k * n + i] = centre[i]! < at[i]! ? -1 : 1;
  });
  return state;
}

/**
 * Primal-dual active set with implicit bounds: solves the equality problem of a state, flips every state that its
 * answer contradicts, and repeats. Finite and exact to rounding where it converges, which it need not.
 *
 * @param state    Start; overwritten with the final state.
 * @param iterate  [n] and multipliers; multipliers of active rows and norms are used as a start, everything is overwritten.
 * @cost           an iteration |F|^3 / 6 + m |F|^2 for |F| free names and m active rows; 3 to 6 of them from a cold state.
 * @source         Kunisch & Rendl (2003), SIAM J. Optimization 14(1), 35-52; Hintermueller, Ito & Kunisch (2002), SIAM J. Optimization 13(3).
 */
export function runActiveSet(program: Program, curvature: Curvature, state: ActiveState, iterate: Iterate, options: ActiveSetOptions): ActiveSetOutcome {
  const work = workFor(program);
  let fewest = Number.POSITIVE_INFINITY;
  let sinceFewer = 0;
  for (let iteration = 1; iteration <= options.iterationsMax; iteration++) {
    placeNames(program, state, iterate, work);
    if (!solveState(program, curvature, state, iterate, work)) return { status: 'stuck', iterations: iteration };
    let flips = flipStates(program, state, iterate, work, options.nearby);
    if (flips === 0) {
      refineState(program, curvature, state, iterate, work);
      flips = flipStates(program, state, iterate, work, options.nearby);
    }
    if (flips === 0) return { status: !options.nearby && exceedsKinks(program, state, iterate.x) ? 'kinked' : 'solved', iterations: iteration };
    if (flips < fewest) {
      fewest = flips;
      sinceFewer = 0;
    } else if (++sinceFewer >= PATIENCE) return { status: 'stuck', iterations: iteration };
  }
  return { status: 'stuck', iterations: options.iterationsMax };
}

interface Work {
  readonly free: Int32Array;
  freeCount: number;
  /** Columns of the equality problem: rows, then kinks, then norms, by position in that order. */
  readonly active: Int32Array;
  activeCount: number;
  readonly diagonal: Float64Array;
  readonly offset: Float64Array;
  readonly product: Float64Array;
  readonly gradient: Float64Array;
  /** P (x - centre) at the point `forcedAt`. */
  readonly force: Float64Array;
  readonly forcedAt: Float64Array;
  hasForce: boolean;
  gradientScale: number;
  /** Forces below this are rounding: those of a step of a thousandth. */
  readonly leastForce: number;
  readonly meanCurvature: number;
  columns: Float64Array;
  solved: Float64Array;
  readonly step: Float64Array;
  readonly schur: Float64Array;
  readonly change: Float64Array;
  readonly skipped: Uint8Array;
}

function workFor(program: Program): Work {
  const { n, rows, kinks, norms } = program;
  const count = rows.count + kinks.length + norms.length;
  const mean = meanCurvature(program);
  return {
    free: new Int32Array(n),
    freeCount: 0,
    active: new Int32Array(count),
    activeCount: 0,
    diagonal: new Float64Array(n),
    offset: new Float64Array(n),
    product: new Float64Array(n),
    gradient: new Float64Array(n),
    force: new Float64Array(n),
    forcedAt: new Float64Array(n),
    hasForce: false,
    gradientScale: 0,
    leastForce: 1e-3 * mean,
    meanCurvature: mean > 0 ? mean : 1,
    columns: new Float64Array(0),
    solved: new Float64Array(0),
    step: new Float64Array(n),
    schur: new Float64Array(count * count),
    change: new Float64Array(count),
    skipped: new Uint8Array(count),
  };
}

function meanCurvature({ n, metric, curvature, ridge }: Program): number {
  if (metric === null || curvature === 0) return ridge;
  let total = 0;
  for (const value of metricDiagonal(metric)) total += value;
  return ridge + (curvature * total) / Math.max(n, 1);
}

/** Puts names that are not free where their state says, and gives inactive rows no multiplier. */
function placeNames({ n, lower, upper, kinks, rows }: Program, state: ActiveState, { x, rowMultipliers, kinkMultipliers, normMultipliers }: Iterate, work: Work): void {
  work.freeCount = 0;
  for (let i = 0; i < n; i++) {
    const held = state.names[i]!;
    if (held === FREE && lower[i]! < upper[i]!) work.free[work.freeCount++] = i;
    else if (held >= PINNED) x[i] = kinks[held - PINNED]!.at[i]!;
    else x[i] = held === UPPER ? upper[i]! : lower[i]!;
  }
  work.activeCount = 0;
  for (let r = 0; r < rows.count; r++) {
    const held = state.rows[r]!;
    if (held === IDLE) rowMultipliers[r] = 0;
    else if (held === OVER || held === UNDER) rowMultipliers[r] = held === OVER ? rows.penalty[r]! : -rows.penalty[r]!;
    else work.active[work.activeCount++] = r;
  }
  for (let k = 0; k < kinks.length; k++) {
    const held = state.kinks[k]!;
    if (held === IDLE) kinkMultipliers[k] = 0;
    else if (held === OVER) kinkMultipliers[k] = kinks[k]!.limit === null ? 1 : kinks[k]!.penalty;
    else work.active[work.activeCount++] = rows.count + k;
  }
  for (let q = 0; q < normMultipliers.length; q++) {
    if (state.norms[q] === IDLE) normMultipliers[q] = 0;
    else work.active[work.activeCount++] = rows.count + kinks.length + q;
  }
}

/**
 * Solves the equality problem of the state, leaving the gradient at its answer; false when it is singular or, with norms, does not
 * settle. A first answer is as good as its rounding: `refineState` removes that once the state is final.
 */
function solveState(program: Program, curvature: Curvature, state: ActiveState, iterate: Iterate, work: Work): boolean {
  const curved = state.norms.some((held) => held !== IDLE);
  gradientAt(program, state, iterate, work);
  for (let newton = 0; newton < (curved ? NEWTON_MAX : 1); newton++) {
    const proximal = PROXIMAL.find((share) => factorState(program, curvature, state, iterate, work, share));
    if (proximal === undefined) return false;
    let moved = newtonStep(program, curvature, state, iterate, work);
    for (let refinement = 1; refinement < (proximal > 0 ? REFINEMENTS_REGULARISED : 1); refinement++) moved = newtonStep(program, curvature, state, iterate, work);
    if (!Number.isFinite(moved)) return false;
    if (curved && moved <= 1e-15) break;
  }
  return true;
}

/** Removes the rounding of a solve with the factors at hand. */
function refineState(program: Program, curvature: Curvature, state: ActiveState, iterate: Iterate, work: Work): void {
  for (let refinement = 0; refinement < REFINEMENTS && freeResidual(work) > REFINED * work.gradientScale; refinement++) newtonStep(program, curvature, state, iterate, work);
}

/** Largest gradient on the free names, nought at an exact answer. */
function freeResidual({ gradient, free, freeCount }: Work): number {
  let worst = 0;
  for (let p = 0; p < freeCount; p++) worst = Math.max(worst, Math.abs(gradient[free[p]!]!));
  return worst;
}

/** Factors the curvature of the Lagrangian on the free names and the Schur complement of the active rows. */
function factorState(program: Program, curvature: Curvature, state: ActiveState, iterate: Iterate, work: Work, proximal: number): boolean {
  const { freeCount: f, activeCount: m, free } = work;
  let scale = program.curvature;
  let ridge = program.ridge + proximal * work.meanCurvature;
  program.norms.forEach(({ metric }, q) => {
    if (metric === 'metric') scale += iterate.normMultipliers[q]!;
    else ridge += iterate.normMultipliers[q]!;
  });
  work.diagonal.fill(ridge);
  if (!curvature.factor(program.metric, scale, work.diagonal, free, f)) return false;
  if (work.columns.length < f * m) {
    work.columns = new Float64Array(f * m);
    work.solved = new Float64Array(f * m);
  }
  gatherColumns(program, state, iterate, work);
  if (m === 0) return true;
  const { columns, solved, schur } = work;
  for (let e = 0; e < f * m; e++) solved[e] = columns[e]!;
  curvature.solve(solved, m);
  for (let e = 0; e < m * m; e++) schur[e] = 0;
  for (let p = 0; p < f; p++) {
    for (let r = 0; r < m; r++) {
      const value = columns[p * m + r]!;
      if (value === 0) continue;
      for (let s = 0; s <= r; s++) schur[r * m + s]! += value * solved[p * m + s]!;
    }
  }
  factorSemidefinite(schur, m, work.skipped);
  return true;
}

/** Gradients of the active rows on the free names, [free x active]. */
function gatherColumns(program: Program, state: ActiveState, { x }: Iterate, work: Work): void {
  const { n, rows, kinks, norms } = program;
  const { freeCount: f, activeCount: m, free, active, columns, offset, product } = work;
  for (let a = 0; a < m; a++) {
    const row = active[a]!;
    if (row < rows.count) {
      for (let p = 0; p < f; p++) columns[p * m + a] = rows.coefficients[row * n + free[p]!]!;
    } else if (row < rows.count + kinks.length) {
      const k = row - rows.count;
      for (let p = 0; p < f; p++) columns[p * m + a] = slopeOf(program, state, k, free[p]!);
    } else {
      const { centre, metric } = norms[row - rows.count - kinks.length]!;
      for (let i = 0; i < n; i++) offset[i] = x[i]! - centre[i]!;
      if (metric === 'metric') metricTimes(program.metric!, offset, product);
      const from = metric === 'metric' ? product : offset;
      for (let p = 0; p < f; p++) columns[p * m + a] = from[free[p]!]!;
    }
  }
}

/** Slope of kink k at name i by the side the name is on; nought for a name pinned there. */
function slopeOf({ n, kinks }: Program, state: ActiveState, k: number, i: number): number {
  const { at, left, right } = kinks[k]!;
  const held = state.names[i]!;
  if (held >= PINNED && kinks[held - PINNED]!.at[i] === at[i]) return 0;
  return state.sides[k * n + i] === -1 ? left[i]! : right[i]!;
}

/** Gradient of the Lagrangian at the iterate, kinks by the sides of the state. */
function gradientAt(program: Program, state: ActiveState, iterate: Iterate, work: Work): void {
  const { n, metric, curvature, ridge, centre, linear, rows, kinks, norms } = program;
  const { x, rowMultipliers, kinkMultipliers, normMultipliers } = iterate;
  const { gradient, offset, product } = work;
  let largest = work.leastForce;
  const force = metric !== null && curvature !== 0 ? forceAt(program, x, work) : undefined;
  for (let i = 0; i < n; i++) gradient[i] = (force === undefined ? 0 : curvature * force[i]!) + ridge * (x[i]! - centre[i]!) + linear[i]!;
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
    for (let i = 0; i < n; i++) gradient[i]! += multiplier * slopeOf(program, state, k, i);
  }
  for (let q = 0; q < norms.length; q++) {
    const multiplier = normMultipliers[q]!;
    if (multiplier === 0) continue;
    const { centre: around, metric: kind } = norms[q]!;
    for (let i = 0; i < n; i++) offset[i] = x[i]! - around[i]!;
    if (kind === 'metric') metricTimes(metric!, offset, product);
    const from = kind === 'metric' ? product : offset;
    for (let i = 0; i < n; i++) gradient[i]! += multiplier * from[i]!;
  }
  work.gradientScale = largest;
}

/** P (x - centre), from the last one where only few names have moved since. */
function forceAt({ n, metric, centre }: Program, x: Float64Array, work: Work): Float64Array {
  const { offset, product, force, forcedAt } = work;
  let moved = work.hasForce ? 0 : n;
  for (let i = 0; i < n && moved < n / 2; i++) if (x[i] !== forcedAt[i]) moved++;
  if (moved < n / 2) {
    for (let i = 0; i < n; i++) offset[i] = x[i]! - forcedAt[i]!;
    metricTimes(metric!, offset, product);
    for (let i = 0; i < n; i++) force[i]! += product[i]!;
  } else {
    for (let i = 0; i < n; i++) offset[i] = x[i]! - centre[i]!;
    metricTimes(metric!, offset, force);
  }
  work.hasForce = true;
  for (let i = 0; i < n; i++) forcedAt[i] = x[i]!;
  return force;
}

/** One Newton step from the gradient and with the factors at hand, and the gradient after it; returns its largest change of a name. */
function newtonStep(program: Program, curvature: Curvature, state: ActiveState, iterate: Iterate, work: Work): number {
  const { freeCount: f, activeCount: m, free, active, columns, solved, step, change } = work;
  for (let p = 0; p < f; p++) step[p] = -work.gradient[free[p]!]!;
  curvature.solve(step, 1);
  for (let a = 0; a < m; a++) {
    let total = -shortfall(program, state, iterate, active[a]!, work);
    for (let p = 0; p < f; p++) total += columns[p * m + a]! * step[p]!;
    change[a] = total;
  }
  solveFactored(work.schur, m, change, work.skipped);
  let moved = 0;
  for (let p = 0; p < f; p++) {
    let total = step[p]!;
    for (let a = 0; a < m; a++) total -= solved[p * m + a]! * change[a]!;
    iterate.x[free[p]!]! += total;
    moved = Math.max(moved, Math.abs(total));
    if (Number.isNaN(total)) return Number.NaN;
  }
  for (let a = 0; a < m; a++) addMultiplier(program, iterate, active[a]!, change[a]!);
  gradientAt(program, state, iterate, work);
  return moved;
}

/** How far an active row's left side is below the bound it is held at. */
function shortfall({ n, rows, kinks, norms, metric }: Program, state: ActiveState, { x }: Iterate, row: number, work: Work): number {
  if (row < rows.count) {
    const bound = state.rows[row] === LOWER ? rows.lower[row]! : rows.upper[row]!;
    return bound - rowValue(rows.coefficients, row * n, x);
  }
  if (row < rows.count + kinks.length) {
    const kink = kinks[row - rows.count]!;
    return kink.limit! - kinkSum(kink, x);
  }
  const { centre, radius, metric: kind } = norms[row - rows.count - kinks.length]!;
  const { offset, product } = work;
  for (let i = 0; i < n; i++) offset[i] = x[i]! - centre[i]!;
  if (kind === 'metric') metricTimes(metric!, offset, product);
  const from = kind === 'metric' ? product : offset;
  let square = 0;
  for (let i = 0; i < n; i++) square += offset[i]! * from[i]!;
  return (radius * radius - square) / 2;
}

function addMultiplier({ rows, kinks }: Program, iterate: Iterate, row: number, change: number): void {
  if (row < rows.count) iterate.rowMultipliers[row]! += change;
  else if (row < rows.count + kinks.length) iterate.kinkMultipliers[row - rows.count]! += change;
  else iterate.normMultipliers[row - rows.count - kinks.length]! += change;
}

function rowValue(coefficients: Float64Array, from: number, x: Float64Array): number {
  let total = 0;
  for (let i = 0; i < x.length; i++) total += coefficients[from + i]! * x[i]!;
  return total;
}

function exceedsKinks({ kinks }: Program, state: ActiveState, x: Float64Array): boolean {
  return kinks.some((kink, k) => kink.limit !== null && state.kinks[k] === IDLE && kinkSum(kink, x) > kink.limit + 1e-12 * (1 + kink.limit));
}

/** Flips every state that the iterate contradicts; returns how many. */
function flipStates(program: Program, state: ActiveState, iterate: Iterate, work: Work, nearby: boolean): number {
  const tolerance = DUAL_TOLERANCE * work.gradientScale;
  let flips = flipRows(program, state, iterate, tolerance);
  if (nearby) flips += flipLimits(program, state, iterate, work, tolerance);
  for (let i = 0; i < program.n; i++) {
    if (program.lower[i]! < program.upper[i]! && flipName(program, state, iterate, work.gradient[i]!, i, tolerance)) flips++;
  }
  return flips;
}

function flipRows({ n, rows }: Program, state: ActiveState, { x, rowMultipliers }: Iterate, tolerance: number): number {
  let flips = 0;
  for (let r = 0; r < rows.count; r++) {
    const held = state.rows[r]!;
    const penalty = rows.penalty[r]!;
    const y = rowMultipliers[r]!;
    let next = held;
    if (held === IDLE || held === OVER || held === UNDER) {
      const value = rowValue(rows.coefficients, r * n, x);
      const over = value - rows.upper[r]!;
      const under = rows.lower[r]! - value;
      const slack = PRIMAL_TOLERANCE * (1 + Math.abs(value));
      if (held === IDLE) {
        if (over > slack) next = UPPER;
        else if (under > slack) next = LOWER;
      } else if (held === OVER && over < -slack) next = rows.lower[r] === rows.upper[r] ? EQUAL : UPPER;
      else if (held === UNDER && under < -slack) next = rows.lower[r] === rows.upper[r] ? EQUAL : LOWER;
    } else if (y > penalty) next = OVER;
    else if (y < -penalty) next = UNDER;
    else if (held === UPPER && y < -tolerance) next = IDLE;
    else if (held === LOWER && y > tolerance) next = IDLE;
    if (next !== held) {
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
    const held = state.kinks[k]!;
    const multiplier = iterate.kinkMultipliers[k]!;
    let next = held;
    if (held === UPPER) {
      if (multiplier < -tolerance) next = IDLE;
      else if (multiplier > kink.penalty) next = OVER;
    } else {
      const excess = kinkSum(kink, iterate.x) - kink.limit;
      const slack = PRIMAL_TOLERANCE * (1 + kink.limit);
      if (held === IDLE && excess > slack) next = UPPER;
      else if (held === OVER && excess < -slack) next = UPPER;
    }
    if (next !== held) {
      state.kinks[k] = next;
      flips++;
    }
  }
  for (let q = 0; q < norms.length; q++) {
    const excess = -shortfall(program, state, iterate, rows.count + kinks.length + q, work);
    const held = state.norms[q]!;
    const next = held === IDLE ? (excess > PRIMAL_TOLERANCE * norms[q]!.radius ? UPPER : IDLE) : iterate.normMultipliers[q]! < 0 ? IDLE : UPPER;
    if (next !== held) {
      state.norms[q] = next;
      flips++;
    }
  }
  return flips;
}

/** Flips one name; whether its state changed. */
function flipName(program: Program, state: ActiveState, iterate: Iterate, gradient: number, i: number, tolerance: number): boolean {
  const held = state.names[i]!;
  if (held === FREE) return holdName(program, state, iterate, i);
  if (held === LOWER) return gradient < -tolerance && releaseName(state, i);
  if (held === UPPER) return gradient > tolerance && releaseName(state, i);
  return unpinName(program, state, iterate, gradient, i, tolerance);
}

function releaseName(state: ActiveState, i: number): boolean {
  state.names[i] = FREE;
  return true;
}

/** A free name that crossed a bound or a kink is put on the first one it met. */
function holdName({ n, lower, upper, kinks }: Program, state: ActiveState, { x, kinkMultipliers }: Iterate, i: number): boolean {
  const value = x[i]!;
  let furthest = PRIMAL_TOLERANCE * (1 + Math.abs(value));
  let next = FREE;
  if (lower[i]! - value > furthest) {
    furthest = lower[i]! - value;
    next = LOWER;
  } else if (value - upper[i]! > furthest) {
    furthest = value - upper[i]!;
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
    const crossed = Math.abs(value - at[i]!);
    if (crossed > furthest && at[i]! > lower[i]! && at[i]! < upper[i]!) {
      furthest = crossed;
      next = PINNED + k;
    }
  }
  if (next === FREE) return false;
  state.names[i] = next;
  placeSides(kinks, state, next === LOWER ? lower[i]! : next === UPPER ? upper[i]! : kinks[next - PINNED]!.at[i]!, next, n, i);
  return true;
}

/** Sides of a name that is held: a kink at the bound itself counts as left behind on leaving it. */
function placeSides(kinks: Program['kinks'], state: ActiveState, where: number, held: number, n: number, i: number): void {
  for (let k = 0; k < kinks.length; k++) {
    const at = kinks[k]!.at[i]!;
    if (at === where) {
      if (held === LOWER) state.sides[k * n + i] = 1;
      else if (held === UPPER) state.sides[k * n + i] = -1;
    } else state.sides[k * n + i] = where < at ? -1 : 1;
  }
}

/** A pinned name leaves its kink when the gradient is outside the kink's slopes. */
function unpinName({ n, kinks }: Program, state: ActiveState, { kinkMultipliers }: Iterate, gradient: number, i: number, tolerance: number): boolean {
  const where = kinks[state.names[i]! - PINNED]!.at[i]!;
  let leftSlope = gradient;
  let rightSlope = gradient;
  for (let k = 0; k < kinks.length; k++) {
    if (kinks[k]!.at[i] !== where) continue;
    leftSlope += kinkMultipliers[k]! * kinks[k]!.left[i]!;
    rightSlope += kinkMultipliers[k]! * kinks[k]!.right[i]!;
  }
  if (leftSlope <= tolerance && rightSlope >= -tolerance) return false;
  const side = leftSlope > tolerance ? -1 : 1;
  for (let k = 0; k < kinks.length; k++) if (kinks[k]!.at[i] === where) state.sides[k * n + i] = side;
  state.names[i] = FREE;
  return true;
}
