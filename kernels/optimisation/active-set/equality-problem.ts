import { FREE, IDLE, OVER, PINNED, UNDER, UPPER, type ActiveState, type Iterate } from './active-state.js';
import { computeGradient, computeShortfall } from './equality-gradient.js';
import type { EqualitySystem } from './equality-system.js';
import type { Work } from './equality-work.js';
import type { Program } from '../program/program.js';

/** Maximum number of Newton corrections with one factorisation. */
const REFINEMENTS_MAX = 3;

/** Number of Newton corrections with a factor that is regularised by a proximal term. */
const REFINEMENTS_REGULARISED = 12;

/** Largest gradient of a free security at which no refinement is needed, relative to the largest force. */
const REFINED_GRADIENT = 1e-15;

/**
 * Proximal terms, relative to the mean curvature, that are tried in order if the curvature is singular on the free
 * securities.
 */
const PROXIMAL_SHARES = [0, 1e-9, 1e-6];

/** Maximum number of Newton steps in one state. More than two steps are needed only while norms are active. */
const NEWTON_MAX = 30;

/**
 * Moves securities that are not free to the value of their state. Sets the multipliers of inactive constraints to zero
 * and those of violated constraints to their penalty. Lists the free securities and the active constraints.
 */
export function fixSecurities(
  { n, lower, upper, kinks, rows }: Program,
  state: ActiveState,
  { x, rowMultipliers, kinkMultipliers, normMultipliers }: Iterate,
  work: Work,
): void {
  work.freeCount = 0;
  for (let i = 0; i < n; i++) {
    const side = state.names[i]!;
    if (side === FREE && lower[i]! < upper[i]!) work.free[work.freeCount++] = i;
    else if (side >= PINNED) x[i] = kinks[side - PINNED]!.at[i]!;
    else x[i] = side === UPPER ? upper[i]! : lower[i]!;
  }
  work.activeCount = 0;
  for (let r = 0; r < rows.count; r++) {
    const side = state.rows[r]!;
    if (side === IDLE) rowMultipliers[r] = 0;
    else if (side === OVER || side === UNDER) rowMultipliers[r] = side === OVER ? rows.penalty[r]! : -rows.penalty[r]!;
    else work.active[work.activeCount++] = r;
  }
  for (let k = 0; k < kinks.length; k++) {
    const side = state.kinks[k]!;
    if (side === IDLE) kinkMultipliers[k] = 0;
    else if (side === OVER) kinkMultipliers[k] = kinks[k]!.limit === null ? 1 : kinks[k]!.penalty;
    else work.active[work.activeCount++] = rows.count + k;
  }
  for (let q = 0; q < normMultipliers.length; q++) {
    if (state.norms[q] === IDLE) normMultipliers[q] = 0;
    else work.active[work.activeCount++] = rows.count + kinks.length + q;
  }
}

/** Inputs and workspace of an equality problem. */
export interface EqualityProblem {
  readonly program: Program;
  readonly state: ActiveState;
  readonly iterate: Iterate;
  readonly work: Work;
  readonly system: EqualitySystem;
}

/**
 * Solves the equality problem of the state and computes the gradient at its solution. Returns false if the problem is
 * singular, or if norms prevent convergence. The solution has rounding errors. `refineState` removes them once the
 * state is final.
 */
export function solveState(problem: EqualityProblem): boolean {
  const { program, state, iterate, work, system } = problem;
  const isCurved = state.norms.some((held) => held !== IDLE);
  computeGradient(program, state, iterate, work);
  for (let newton = 0; newton < (isCurved ? NEWTON_MAX : 1); newton++) {
    const proximal = PROXIMAL_SHARES.find((share) => system.factor(state, iterate, share));
    if (proximal === undefined) return false;
    let largestMove = performNewtonStep(problem);
    for (let refinement = 1; refinement < (proximal > 0 ? REFINEMENTS_REGULARISED : 1); refinement++)
      largestMove = performNewtonStep(problem);
    if (!Number.isFinite(largestMove)) return false;
    if (isCurved && largestMove <= 1e-15) break;
  }
  return true;
}

/** Removes the rounding errors of a solution by corrections with the current factors. */
export function refineState(problem: EqualityProblem): void {
  const { work } = problem;
  for (
    let refinement = 0;
    refinement < REFINEMENTS_MAX && findFreeResidual(work) > REFINED_GRADIENT * work.gradientScale;
    refinement++
  )
    performNewtonStep(problem);
}

/** Returns the largest gradient magnitude on the free securities; zero at an exact solution. */
function findFreeResidual({ gradient, free, freeCount }: Work): number {
  let largestResidual = 0;
  for (let p = 0; p < freeCount; p++) largestResidual = Math.max(largestResidual, Math.abs(gradient[free[p]!]!));
  return largestResidual;
}

/**
 * Performs one Newton step with the current factors and updates the gradient; returns the largest change of a security.
 */
function performNewtonStep({ program, state, iterate, work, system }: EqualityProblem): number {
  const { freeCount: f, activeCount: m, free, active, step, change } = work;
  for (let p = 0; p < f; p++) step[p] = -work.gradient[free[p]!]!;
  for (let a = 0; a < m; a++) change[a] = computeShortfall(program, state, iterate, active[a]!, work);
  system.solve(step, change);
  let largestMove = 0;
  for (let p = 0; p < f; p++) {
    const freeStep = step[p]!;
    iterate.x[free[p]!]! += freeStep;
    largestMove = Math.max(largestMove, Math.abs(freeStep));
    if (Number.isNaN(freeStep)) return Number.NaN;
  }
  for (let a = 0; a < m; a++) addMultiplier(program, iterate, active[a]!, change[a]!);
  computeGradient(program, state, iterate, work);
  return largestMove;
}

function addMultiplier({ rows, kinks }: Program, iterate: Iterate, row: number, change: number): void {
  if (row < rows.count) iterate.rowMultipliers[row]! += change;
  else if (row < rows.count + kinks.length) iterate.kinkMultipliers[row - rows.count]! += change;
  else iterate.normMultipliers[row - rows.count - kinks.length]! += change;
}
