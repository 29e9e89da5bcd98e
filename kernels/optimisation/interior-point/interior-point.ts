import { raiseToPower } from '../../power.js';
import type { ActiveState, Iterate } from '../active-set/active-state.js';
import type { Curvature } from '../factors/curvature.js';
import { computeResiduals } from './residuals.js';
import { setStart, setFarStart } from './start.js';
import { createWork, type InteriorRun, type Work } from './work.js';
import { advance } from './newton-step.js';
import { solveDirection, factorRegularised } from './newton-system.js';
import {
  predictComplementarity,
  findLongestStep,
  computeMeanComplementarity,
  setAffineTarget,
  setCentredTarget,
  setNarrowerTarget,
} from './pairs.js';
import type { Program } from '../program/program.js';
import { readSolution } from './read-active-set.js';

export interface InteriorPointOutcome {
  /** `optimal`: residuals and complementarity are below their tolerances. `stalled`: they no longer decrease. */
  readonly status: 'optimal' | 'stalled';
  readonly iterations: number;
  /** Largest residual of bounds, rows, limits and norms. Rows are scaled to a largest coefficient of 1. */
  readonly primalResidual: number;
}

/**
 * Maximum complementarity of the scaled program at which the active set is reliable. Larger values made the polish fail
 * under turnover limits.
 */
const COMPLEMENTARITY_MAX = 1e-11;

/**
 * Maximum residuals of an optimal point. The first limits the residuals of the rows, the second the gradient relative
 * to its magnitude.
 */
const PRIMAL_MAX = 1e-10;

const DUAL_MAX = 1e-10;

/**
 * Maximum complementarity and gradient of a `deep` run, as small as rounding permits. If a singular curvature leaves
 * many points nearly optimal, the small forces of a tie-breaking term then select one of them.
 */
const DEEP_TOLERANCE = 1e-20;

/** All three tolerances of a `rough` run. */
const ROUGH_TOLERANCE = 1e-2;

const EXACT_TOLERANCES = { complementarity: COMPLEMENTARITY_MAX, primal: PRIMAL_MAX, stationarity: DUAL_MAX };

const TOLERANCES: Readonly<Record<InteriorRun, typeof EXACT_TOLERANCES>> = {
  near: EXACT_TOLERANCES,
  deep: { complementarity: DEEP_TOLERANCE, primal: PRIMAL_MAX, stationarity: DEEP_TOLERANCE },
  far: EXACT_TOLERANCES,
  rough: { complementarity: ROUGH_TOLERANCE, primal: ROUGH_TOLERANCE, stationarity: ROUGH_TOLERANCE },
};

/** Maximum number of iterations; eight to twenty are usual. */
const ITERATIONS_MAX = 100;

/** Number of iterations without progress after which the best point so far is returned. */
const PATIENCE = 15;

/**
 * Number of iterations without progress after which a `far` run ends if its complementarity is already small enough.
 * Only residuals then count as progress, and rounding ends their decrease.
 */
const PATIENCE_FAR = 2;

/**
 * Maximum number of centrality corrections per iteration of a `far` run. Each costs one solve with the current factors.
 */
const CORRECTIONS_MAX = 3;

/**
 * Increase of the step length that a correction aims at. The second value is the fraction of it that a correction must
 * reach.
 */
const STEP_INCREASE = 0.3;

const STEP_INCREASE_SHARE = 0.1;

/**
 * Step length below which a step counts as short. The second value is the number of consecutive short steps after which
 * the run ends as stalled.
 */
const SHORT_STEP = 0.01;

const SHORT_STEPS_MAX = 12;

/** Step length as a fraction of the distance to the boundary. */
const STEP_SHARE = 0.995;

/**
 * Runs Mehrotra's predictor-corrector interior-point method. The variables of kinks and of penalties are eliminated: a
 * turnover limit adds one row to the Schur complement and no variable, and a penalty adds only a diagonal entry.
 * @param iterate    Overwritten with the final point.
 * @param state      Overwritten with the active set that the final pairs indicate.
 * @param run        `near` starts inside the bounds around the centre; `deep` starts there too and continues until
 *                   rounding; `far` starts where the rows nearly hold, possibly outside the bounds; `rough` ends near
 *                   the optimum.
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
  const work = createWork(program, run);
  const { complementarity, primal, stationarity } = TOLERANCES[run];
  setStart(work);
  if (run === 'far') setFarStart(work, curvature);
  let outcome: InteriorPointOutcome = { status: 'stalled', iterations: 0, primalResidual: Number.POSITIVE_INFINITY };
  let shortSteps = 0;
  const progress = createProgress(work, run);
  for (let iteration = 1; iteration <= ITERATIONS_MAX; iteration++) {
    computeResiduals(work);
    const mu = computeMeanComplementarity(work.pairs);
    outcome = { status: 'stalled', iterations: iteration, primalResidual: work.primalResidual };
    if (
      mu <= complementarity &&
      work.primalResidual <= primal &&
      work.dualResidual <= stationarity * work.gradientScale
    ) {
      outcome = { ...outcome, status: 'optimal' };
      break;
    }
    if (!progress.goesOn(iteration, mu)) break;
    if (!factorRegularised(work, curvature)) break;
    setAffineTarget(work.pairs);
    solveDirection(work, curvature);
    const affineLength = findLongestStep(work.pairs);
    const centring = mu > 0 ? raiseToPower(predictComplementarity(work.pairs, affineLength) / mu, 3) : 0;
    const targetMu = Math.min(centring, 1) * mu;
    setCentredTarget(work.pairs, targetMu);
    solveDirection(work, curvature);
    if (run === 'far') addCentralityCorrections(work, curvature, targetMu);
    const length = Math.min(1, STEP_SHARE * findLongestStep(work.pairs));
    shortSteps = length < SHORT_STEP ? shortSteps + 1 : 0;
    if (!(length > 1e-13) || shortSteps > SHORT_STEPS_MAX) break;
    advance(work, length);
  }
  if (outcome.status === 'stalled') progress.takeBest();
  readSolution(work, state, iterate);
  return outcome;
}

interface Progress {
  /** Returns false if residuals and complementarity have not decreased for too long. */
  goesOn(iteration: number, mu: number): boolean;
  /** Restores the best point so far. */
  takeBest(): void;
}

function createProgress(work: Work, run: InteriorRun): Progress {
  const { x, y, pairs } = work;
  const lowest = { mu: Infinity, primal: Infinity, dual: Infinity };
  const bestIterate = { x: x.slice(), y: y.slice(), s: pairs.s.slice(), z: pairs.z.slice() };
  let merit = Number.POSITIVE_INFINITY;
  let last = 0;
  return {
    goesOn(iteration, mu) {
      const primal = work.primalResidual;
      const dual = work.dualResidual / work.gradientScale;
      const isSettled = run === 'far' && mu <= COMPLEMENTARITY_MAX;
      if ((mu < lowest.mu && !isSettled) || primal < lowest.primal || dual < lowest.dual) last = iteration;
      lowest.mu = Math.min(lowest.mu, mu);
      lowest.primal = Math.min(lowest.primal, primal);
      lowest.dual = Math.min(lowest.dual, dual);
      const largest = Math.max(mu, primal, dual);
      if (!(largest < merit)) return iteration - last <= (isSettled ? PATIENCE_FAR : PATIENCE);
      merit = largest;
      bestIterate.x.set(x);
      bestIterate.y.set(y);
      bestIterate.s.set(pairs.s);
      bestIterate.z.set(pairs.z);
      return true;
    },
    takeBest() {
      x.set(bestIterate.x);
      y.set(bestIterate.y);
      pairs.s.set(bestIterate.s);
      pairs.z.set(bestIterate.z);
    },
  };
}

/**
 * Corrects the direction so that the products of the pairs become more equal. Stops when a correction no longer
 * lengthens the step.
 * @source  Gondzio (1996), Multiple centrality corrections in a primal-dual method for linear programming,
 *          Computational Optimization and Applications 6.
 */
function addCentralityCorrections(work: Work, curvature: Curvature, mu: number): void {
  const { pairs, dx, change } = work;
  const parts = [dx, change, pairs.ds, pairs.dz, pairs.target];
  let length = findLongestStep(pairs);
  for (let correction = 0; correction < CORRECTIONS_MAX && length < 1; correction++) {
    const savedParts = parts.map((values) => values.slice());
    const targetLength = Math.min(1, length + STEP_INCREASE);
    setNarrowerTarget(pairs, targetLength, mu);
    solveDirection(work, curvature);
    const newLength = findLongestStep(pairs);
    if (newLength < length + STEP_INCREASE_SHARE * (targetLength - length)) {
      parts.forEach((values, k) => values.set(savedParts[k]!));
      return;
    }
    length = newLength;
  }
}
