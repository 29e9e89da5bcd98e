import {
  copyIterate,
  copyState,
  EQUAL,
  FREE,
  IDLE,
  LOWER,
  UPPER,
  type ActiveState,
  type Iterate,
} from '../active-set/active-state.js';
import { fixSecurities } from '../active-set/equality-problem.js';
import { createEqualitySystem, type EqualitySystem } from '../active-set/equality-system.js';
import { createActiveSetWork, type Work } from '../active-set/equality-work.js';
import type { DenseAlgebra } from '../factors/algebra.js';
import { createCurvature } from '../factors/curvature.js';
import { reduceRounding, solveLeastMultipliers } from './least-multipliers.js';
import { equilibrate, type Equilibrated } from '../presolve/equilibrate.js';
import type { ProgramResult } from '../program-answer.js';
import type { Program } from '../program/program.js';
import { findFirstBlock, flipWorst } from './flip-worst.js';
import { closeGap } from './close-gap.js';
import {
  computeExactGradient,
  computeExactResiduals,
  computeExactRow,
  type CertifiedPoint,
  type ExactResiduals,
} from './residuals.js';

/** Maximum residual of a certified solution, absolute, in the units of the program. */
export const CERTIFIED_MAX = 1e-9;

/**
 * Maximum and minimum number of corrections of the equality problem. Three or four are usual; a singular curvature
 * needs more.
 */
const CORRECTIONS_MAX = 12;

const CORRECTIONS_MIN = 3;

/**
 * Maximum number of states that are corrected. The solver accepted their wrong signs, because its tolerance is relative
 * to the largest force.
 */
const FLIPS_MAX = 40;

/** Distance to a finite bound, relative to 1 + |bound|, within which a free variable is moved onto the bound. */
const CONTACT_TOLERANCE = 1e-10;

/**
 * Distance to a bound for a solution of the interior-point method. Its variables are near their bounds but never at
 * them.
 */
const CONTACT_UNPOLISHED = 1e-7;

/**
 * Proximal terms, relative to the mean curvature, that are tried in order if the curvature is singular on the free
 * variables.
 */
const PROXIMAL_SHARES = [0, 1e-9, 1e-6];

export interface CertifiedSolution {
  readonly point: CertifiedPoint;
  readonly residuals: ExactResiduals;
  /** True if all residuals are at most `CERTIFIED_MAX`. */
  readonly isCertified: boolean;
}

const findLargest = ({ primal, dual, gap }: ExactResiduals): number => Math.max(primal, dual, Math.abs(gap));

/**
 * Improves a solution to absolute residuals of 1e-9, regardless of the size of its numbers. Corrects the equality
 * problem of the active set by residuals with 106 bits. Then changes last digits of the point to close the gap that
 * rounding leaves.
 * @param program  Program with a dense metric or no metric, without kinks, norms and penalties.
 * @cost           One factorisation of the free variables, and a dozen passes over the program in double-double
 *                 arithmetic.
 * @source         Wilkinson (1963), Rounding errors in algebraic processes, section 3: refinement with residuals of
 *                 twice the precision.
 */
export function certify(program: Program, answer: ProgramResult, algebra: DenseAlgebra): CertifiedSolution {
  const state = createFixedState(program, answer);
  const iterate = copyIterate(answer.point);
  const scaledForm = equilibrate(program);
  let bestSolution: CertifiedSolution | undefined;
  for (let flip = 0; flip <= FLIPS_MAX; flip++) {
    solveLeastMultipliers(program, state, iterate);
    const corrections = createCorrections({ program, scaled: scaledForm }, state, iterate, algebra);
    let step: Correction = 'done';
    for (let correction = 1; correction <= CORRECTIONS_MAX && step === 'done'; correction++) {
      step = corrections.correct();
      if (correction < CORRECTIONS_MIN || step !== 'done') continue;
      const ownCertifiedSolution = closePoint(program, state, iterate, correction - CORRECTIONS_MIN);
      if (
        bestSolution === undefined ||
        findLargest(ownCertifiedSolution.residuals) < findLargest(bestSolution.residuals)
      )
        bestSolution = ownCertifiedSolution;
      if (bestSolution.isCertified) return bestSolution;
    }
    if (step !== 'blocked' && !flipWorst(program, state, iterate)) break;
  }
  return bestSolution ?? closePoint(program, state, iterate, 0);
}

/**
 * Returns the active set of a solution, with variables near a bound fixed at it. For a solution that was not polished,
 * all other variables are free.
 */
function createFixedState({ n, lower, upper }: Program, { state, point: { x }, route }: ProgramResult): ActiveState {
  const activeState = copyState(state);
  const contact = route === 'interior-point-unpolished' ? CONTACT_UNPOLISHED : CONTACT_TOLERANCE;
  for (let i = 0; i < n; i++) {
    const isTouching = (bound: number) =>
      Number.isFinite(bound) && Math.abs(x[i]! - bound) <= contact * (1 + Math.abs(bound));
    if (isTouching(lower[i]!)) activeState.names[i] = LOWER;
    else if (isTouching(upper[i]!)) activeState.names[i] = UPPER;
    else if (contact === CONTACT_UNPOLISHED) activeState.names[i] = FREE;
  }
  return activeState;
}

/**
 * Result of a correction. `blocked`: a bound or row limits the step and is active from now on. `singular`: the equality
 * problem cannot be factored.
 */
type Correction = 'done' | 'blocked' | 'singular';

interface Corrections {
  /** Performs one Newton step on the equality problem, as far as bounds and rows permit. */
  correct(): Correction;
}

/**
 * Creates corrections from residuals in the units of the program. The corrections use scaled units, in which all
 * columns have similar size. Scales are powers of two.
 */
function createCorrections(
  { program, scaled }: { readonly program: Program; readonly scaled: Equilibrated | null },
  state: ActiveState,
  iterate: Iterate,
  algebra: DenseAlgebra,
): Corrections {
  const ownProgram = scaled?.program ?? program;
  const units = scaled?.units ?? new Float64Array(program.n).fill(1);
  const work: Work = createActiveSetWork(ownProgram);
  const curvatures = [createCurvature(algebra), createCurvature(algebra)] as const;
  const system: EqualitySystem = createEqualitySystem(ownProgram, curvatures, work);
  fixSecurities(program, state, iterate, work);
  const isFactored = PROXIMAL_SHARES.some((share) => system.factor(state, iterate, share));
  const { free, active, step, change } = work;
  return {
    correct() {
      if (!isFactored) return 'singular';
      const gradient = computeExactGradient(program, createPoint(iterate));
      for (let p = 0; p < work.freeCount; p++) step[p] = -gradient[free[p]!]! * units[free[p]!]!;
      for (let a = 0; a < work.activeCount; a++) {
        const r = active[a]!;
        const bound = state.rows[r] === LOWER ? program.rows.lower[r]! : program.rows.upper[r]!;
        change[a] = -computeExactRow(program, iterate.x, r, bound);
      }
      system.solve(step, change);
      const dx = new Float64Array(program.n);
      for (let p = 0; p < work.freeCount; p++) dx[free[p]!] = step[p]! * units[free[p]!]!;
      if (!dx.every(Number.isFinite)) return 'singular';
      const block = findFirstBlock(program, state, iterate.x, dx);
      const length = block?.length ?? 1;
      for (let i = 0; i < program.n; i++) iterate.x[i]! += length * dx[i]!;
      for (let a = 0; a < work.activeCount; a++) iterate.rowMultipliers[active[a]!]! += length * change[a]!;
      block?.hold();
      return block === undefined ? 'done' : 'blocked';
    },
  };
}

function createPoint({ x, rowMultipliers }: Pick<Iterate, 'x' | 'rowMultipliers'>): CertifiedPoint {
  return { x, rowMultipliers, boundMultipliers: new Float64Array(x.length) };
}

/** Returns the point with multipliers of its bounds and a closed gap, and its residuals. */
function closePoint(program: Program, state: ActiveState, iterate: Iterate, attempt: number): CertifiedSolution {
  const { n, lower, upper, rows } = program;
  const rowMultipliers = iterate.rowMultipliers.map((y, r) => {
    if (state.rows[r] === IDLE) return 0;
    return state.rows[r] === EQUAL || Number.isFinite((y > 0 ? rows.upper : rows.lower)[r]!) ? y : 0;
  });
  reduceRounding(program, state, iterate.x, rowMultipliers);
  const point = createPoint({ x: iterate.x.slice(), rowMultipliers });
  const gradient = computeExactGradient(program, point);
  const isFree = new Uint8Array(n);
  for (let i = 0; i < n; i++) {
    const isHeld = state.names[i] !== FREE || lower[i] === upper[i];
    isFree[i] = isHeld ? 0 : 1;
    const z = -gradient[i]!;
    const bound = z > 0 ? upper[i]! : lower[i]!;
    if (isHeld && point.x[i] === bound) point.boundMultipliers[i] = z;
  }
  closeGap(program, point, isFree, attempt);
  const residuals = computeExactResiduals(program, point);
  return { point, residuals, isCertified: findLargest(residuals) <= CERTIFIED_MAX };
}
