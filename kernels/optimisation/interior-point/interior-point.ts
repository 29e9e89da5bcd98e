import { powerOf } from '../../power.js';
import type { ActiveState, Iterate } from '../active-set/active-state.js';
import type { Curvature } from '../factors/curvature.js';
import { residuals } from './residuals.js';
import { start, startFar } from './start.js';
import { prepare, type InteriorRun } from './work.js';
import { advance } from './newton-step.js';
import { direction, factorRegularised } from './newton-system.js';
import { complementarityAfter, longestStep, meanComplementarity, targetAffine, targetCentred } from './pairs.js';
import type { Program } from '../program/program.js';
import { finish } from './read-active-set.js';

export interface InteriorPointOutcome {
  /** `optimal`: residuals and complementarity are below their tolerances. `stalled`: they stopped falling. */
  readonly status: 'optimal' | 'stalled';
  readonly iterations: number;
  /** Largest violation of a row, in the units of the row scaled to a largest coefficient of one. */
  readonly primalResidual: number;
}

/**
 * Complementarity of the scaled programme at which the active set can be read off; a larger one broke the polish under
 * turnover limits.
 */
const COMPLEMENTARITY = 1e-11;

/** Residuals of rows and of the gradient, the latter relative to its size, at which the point counts as optimal. */
const PRIMAL = 1e-10;

const DUAL = 1e-10;

/**
 * Complementarity and gradient of a deep run, as far as rounding lets them fall: where many points are equally near on
 * a singular curvature, the forces that choose among them are a tie-breaking term's.
 */
const DEEP = 1e-20;

/** All three of a rough run. */
const ROUGH = 1e-2;

const EXACT = { complementarity: COMPLEMENTARITY, primal: PRIMAL, stationarity: DUAL };

const TOLERANCES: Readonly<Record<InteriorRun, typeof EXACT>> = {
  near: EXACT,
  deep: { complementarity: DEEP, primal: PRIMAL, stationarity: DEEP },
  far: EXACT,
  rough: { complementarity: ROUGH, primal: ROUGH, stationarity: ROUGH },
};

/** Iterations; eight to twenty are usual. */
const ITERATIONS_MAX = 100;

/** Iterations without progress after which the best point so far is the answer. */
const PATIENCE = 15;

/** Steps shorter than this in a row, as many as that: the start was a bad one, and another is better than patience. */
const SHORT_STEP = 0.01;

const SHORT_STEPS_MAX = 12;

/** Share of the way to the boundary that a step goes. */
const STEP_SHARE = 0.995;

/**
 * Mehrotra's predictor-corrector interior point, with the variables of kinks and of soft rows eliminated: a turnover
 * limit adds one row of the Schur complement and no dimension, a penalty only its diagonal.
 *
 * @param iterate    Overwritten with the final point.
 * @param state      Overwritten with the active set read off the final pairs.
 * @param run        `near` starts inside the bounds around the centre and `deep` continues from there to rounding; `far` starts
 *                   where the rows nearly hold, bounds or not. `rough` ends near the optimum.
 * @cost           8 to 20 iterations of n^3 / 6 + m n^2.
 * @source         Mehrotra (1992), SIAM J. Optimization 2(4), 575-601; Friedlander & Orban (2012), Math. Prog. Comp. 4,
 *   71-107 (proximal terms).
 */
export function runInteriorPoint(
  program: Program,
  curvature: Curvature,
  state: ActiveState,
  iterate: Iterate,
  run: InteriorRun = 'near',
): InteriorPointOutcome {
  const work = prepare(program, run);
  const { complementarity, primal, stationarity } = TOLERANCES[run];
  start(work);
  if (run === 'far') startFar(work, curvature);
  let outcome: InteriorPointOutcome = { status: 'stalled', iterations: 0, primalResidual: Number.POSITIVE_INFINITY };
  let shortSteps = 0;
  const lowest: [number, number, number] = [Infinity, Infinity, Infinity];
  const best = {
    merit: Number.POSITIVE_INFINITY,
    progress: 0,
    x: work.x.slice(),
    y: work.y.slice(),
    s: work.pairs.s.slice(),
    z: work.pairs.z.slice(),
  };
  for (let iteration = 1; iteration <= ITERATIONS_MAX; iteration++) {
    residuals(work);
    const mu = meanComplementarity(work.pairs);
    outcome = { status: 'stalled', iterations: iteration, primalResidual: work.primalResidual };
    if (
      mu <= complementarity &&
      work.primalResidual <= primal &&
      work.dualResidual <= stationarity * work.gradientScale
    ) {
      outcome = { ...outcome, status: 'optimal' };
      break;
    }
    const dual = work.dualResidual / work.gradientScale;
    const merit = Math.max(mu, work.primalResidual, dual);
    if (mu < lowest[0] || work.primalResidual < lowest[1] || dual < lowest[2]) best.progress = iteration;
    lowest[0] = Math.min(lowest[0], mu);
    lowest[1] = Math.min(lowest[1], work.primalResidual);
    lowest[2] = Math.min(lowest[2], dual);
    if (merit < best.merit) {
      best.merit = merit;
      best.x.set(work.x);
      best.y.set(work.y);
      best.s.set(work.pairs.s);
      best.z.set(work.pairs.z);
    } else if (iteration - best.progress > PATIENCE) break;
    if (!factorRegularised(work, curvature)) break;
    targetAffine(work.pairs);
    direction(work, curvature);
    const affine = longestStep(work.pairs);
    const centring = mu > 0 ? powerOf(complementarityAfter(work.pairs, affine) / mu, 3) : 0;
    targetCentred(work.pairs, Math.min(centring, 1) * mu);
    direction(work, curvature);
    const length = Math.min(1, STEP_SHARE * longestStep(work.pairs));
    shortSteps = length < SHORT_STEP ? shortSteps + 1 : 0;
    if (!(length > 1e-13) || shortSteps > SHORT_STEPS_MAX) break;
    advance(work, length);
  }
  if (outcome.status === 'stalled') {
    work.x.set(best.x);
    work.y.set(best.y);
    work.pairs.s.set(best.s);
    work.pairs.z.set(best.z);
  }
  finish(work, state, iterate);
  return outcome;
}
