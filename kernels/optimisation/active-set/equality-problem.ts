import { FREE, IDLE, OVER, PINNED, UNDER, UPPER, type ActiveState, type Iterate } from './active-state.js';
import type { Curvature } from '../factors/curvature.js';
import { gradientAt, shortfall, slopeOf } from './equality-gradient.js';
import type { Work } from './equality-work.js';
import { lagrangianCurvature, normForce } from '../program/norms.js';
import type { Program } from '../program/program.js';
import { factorSemidefinite, solveFactored } from '../factors/schur.js';

/**
 * Newton corrections with one factor: a few remove rounding from the final answer, more are for a regularised factor.
 */
const REFINEMENTS = 3;

/** Corrections with a factor that a proximal term made regular. */
const REFINEMENTS_REGULARISED = 12;

/** Gradient left on a free name, relative to the largest force, below which there is nothing to refine. */
const REFINED = 1e-15;

/** Proximal terms tried where the curvature is singular on the free names, relative to its mean. */
const PROXIMAL = [0, 1e-9, 1e-6];

/** Newton steps on one state: more than two happen only while norms are active. */
const NEWTON_MAX = 30;

/** Puts names that are not free where their state says, and gives inactive rows no multiplier. */
export function placeNames(
  { n, lower, upper, kinks, rows }: Program,
  state: ActiveState,
  { x, rowMultipliers, kinkMultipliers, normMultipliers }: Iterate,
  work: Work,
): void {
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
 * Solves the equality problem of the state, leaving the gradient at its answer; false when it is singular or, with
 * norms, does not settle. A first answer is as good as its rounding: `refineState` removes that once the state is
 * final.
 */
export function solveState(
  program: Program,
  curvature: Curvature,
  state: ActiveState,
  iterate: Iterate,
  work: Work,
): boolean {
  const curved = state.norms.some((held) => held !== IDLE);
  gradientAt(program, state, iterate, work);
  for (let newton = 0; newton < (curved ? NEWTON_MAX : 1); newton++) {
    const proximal = PROXIMAL.find((share) => factorState(program, curvature, state, iterate, work, share));
    if (proximal === undefined) return false;
    let moved = newtonStep(program, curvature, state, iterate, work);
    for (let refinement = 1; refinement < (proximal > 0 ? REFINEMENTS_REGULARISED : 1); refinement++)
      moved = newtonStep(program, curvature, state, iterate, work);
    if (!Number.isFinite(moved)) return false;
    if (curved && moved <= 1e-15) break;
  }
  return true;
}

/** Removes the rounding of a solve with the factors at hand. */
export function refineState(
  program: Program,
  curvature: Curvature,
  state: ActiveState,
  iterate: Iterate,
  work: Work,
): void {
  for (let refinement = 0; refinement < REFINEMENTS && freeResidual(work) > REFINED * work.gradientScale; refinement++)
    newtonStep(program, curvature, state, iterate, work);
}

/** Largest gradient on the free names, zero at an exact answer. */
function freeResidual({ gradient, free, freeCount }: Work): number {
  let worst = 0;
  for (let p = 0; p < freeCount; p++) worst = Math.max(worst, Math.abs(gradient[free[p]!]!));
  return worst;
}

/** Factors the curvature of the Lagrangian on the free names and the Schur complement of the active rows. */
function factorState(
  program: Program,
  curvature: Curvature,
  state: ActiveState,
  iterate: Iterate,
  work: Work,
  proximal: number,
): boolean {
  const { freeCount: f, activeCount: m, free } = work;
  const own = { scale: program.curvature, ridge: program.ridge + proximal * work.meanCurvature };
  const { metric, scale, ridge } = lagrangianCurvature(program, own, iterate.normMultipliers);
  work.diagonal.fill(ridge);
  if (!curvature.factor(metric, scale, work.diagonal, free, f)) return false;
  if (work.columns.length < f * m) {
    work.columns = new Float64Array(f * m);
    work.solved = new Float64Array(f * m);
  }
  if (work.schur.length < m * m) work.schur = new Float64Array(m * m);
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
      const norm = norms[row - rows.count - kinks.length]!;
      for (let i = 0; i < n; i++) offset[i] = x[i]! - norm.centre[i]!;
      const from = normForce(program, norm, offset, product);
      for (let p = 0; p < f; p++) columns[p * m + a] = from[free[p]!]!;
    }
  }
}

/**
 * One Newton step from the gradient and with the factors at hand, and the gradient after it; returns its largest change
 * of a name.
 */
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

function addMultiplier({ rows, kinks }: Program, iterate: Iterate, row: number, change: number): void {
  if (row < rows.count) iterate.rowMultipliers[row]! += change;
  else if (row < rows.count + kinks.length) iterate.kinkMultipliers[row - rows.count]! += change;
  else iterate.normMultipliers[row - rows.count - kinks.length]! += change;
}
