import { createDirections } from './interior-direction.js';
import {
  createInteriorState,
  evaluateState,
  measureState,
  collectMultipliers,
  type InteriorState,
} from './interior-state.js';
import { computeComplementarity, createStep, findLongestStep, type InteriorStep } from './interior-steps.js';
import type { Relaxation, RelaxationSolution, SolutionOptions } from './relaxation.js';

/** Maximum number of steps; 15 to 25 are usual. */
const STEPS_MAX = 80;
/** Complementarity of a solution, as a fraction of the account value. */
const TOLERANCE = 1e-13;
/** Complementarity below which further steps only add rounding errors. */
const COMPLEMENTARITY_MIN = 1e-15;
/** Complementarity and residuals from which on the caller may end the iterations. */
const LOOSE_TOLERANCE = 1e-6;
/** Maximum residual of a solution; smaller residuals are lost to rounding. */
const RESIDUAL_TOLERANCE = 1e-10;
/** Maximum residual that counts as feasible if rounding errors stop the iterations. */
const RESIDUAL_ACCEPTED = 1e-9;
/** Fraction of the distance to the nearest bound that a step may take. */
const STEP_SHARE = 0.995;
const STEP_MIN = 1e-10; // Minimum step length; shorter steps make no progress.
/** Maximum distance at which a trade counts as at a bound with a positive multiplier. */
const CONTACT_MAX = 1e-9;
/** Maximum violation of rows and weight bounds that counts as feasible. */
const VIOLATION_MAX = 1e-7;

/**
 * Solves the convex form of an account by a primal-dual interior-point method with predictor and corrector.
 *
 * Rows may be violated at a price, so an interior always exists. Weight bounds that the sizes of the trades imply are
 * omitted.
 *
 * @cost per step: n k^2 / 2 multiply-adds, and 60 per lot
 * @source Nocedal & Wright (2006), Numerical Optimization, 2nd ed., section 16.6; Mehrotra (1992).
 */
export function solveRelaxation(
  relaxation: Relaxation,
  { near = null, isEnough = () => false }: SolutionOptions = {},
): RelaxationSolution {
  const state = createInteriorState(relaxation, near);
  const advance = createAdvance(state);
  let [status, step]: [RelaxationSolution['status'], number] = ['stalled', 0];
  let hasAsked = false;
  for (; step < STEPS_MAX; step++) {
    const { gap, worst } = measureState(state);
    if (!hasAsked && gap < LOOSE_TOLERANCE && worst < LOOSE_TOLERANCE) {
      hasAsked = true;
      if (isEnough({ traded: state.z, weights: state.w, multipliers: collectMultipliers(state) })) {
        status = 'solved';
        break;
      }
    }
    if (gap < TOLERANCE && worst < (gap < COMPLEMENTARITY_MIN ? RESIDUAL_ACCEPTED : RESIDUAL_TOLERANCE)) {
      status = 'solved';
      break;
    }
    if (!advance()) break;
  }
  if (status === 'stalled') {
    const { gap, worst } = measureState(state);
    if (gap < RESIDUAL_ACCEPTED && worst < RESIDUAL_ACCEPTED) status = 'solved';
  }
  return createSolution(state, status, step);
}

/** Creates the function that performs a step and returns false if there is no progress. */
function createAdvance(state: InteriorState): () => boolean {
  const { relaxation, bounds, y } = state;
  const { program, trades } = relaxation;
  const directions = createDirections(state);
  const create = () => createStep(trades.count, program.n, y.length, bounds.length);
  const [predictor, corrector] = [create(), create()];
  return () => {
    if (!directions.factor()) return false;
    directions.compute(predictor, 0, null);
    const stepLengths = findLongestStep(state, predictor, 1);
    const predictedComplementarity = Math.max(0, computeComplementarity(state, predictor, stepLengths));
    const ratio = predictedComplementarity / state.mu;
    const centring = Math.max(1e-8, ratio * ratio * ratio);
    directions.compute(corrector, centring * state.mu, predictor);
    const { primal, dual } = findLongestStep(state, corrector, STEP_SHARE);
    const length = Math.min(primal, dual); // The objective is nonlinear, so primal and dual take the same step length.
    // If no trades are permitted, the prices of an account exceed the range of doubles.
    const next = computeComplementarity(state, corrector, { primal: length, dual: length });
    if (!(length > STEP_MIN) || !Number.isFinite(next)) return false;
    moveState(state, corrector, length);
    return true;
  };
}

/** Moves the iterate along a step. */
function moveState(state: InteriorState, step: InteriorStep, length: number): void {
  const { z, zl, zu, y, slack, excess, boundSlack, boundPrice } = state;
  for (let j = 0; j < z.length; j++) {
    z[j]! += length * step.dz[j]!;
    zl[j]! += length * step.dzl[j]!;
    zu[j]! += length * step.dzu[j]!;
  }
  for (let j = 0; j < y.length; j++) {
    slack[j]! += length * step.ds[j]!;
    excess[j]! += length * step.de[j]!;
    y[j]! += length * step.dy[j]!;
  }
  for (let b = 0; b < boundSlack.length; b++) {
    boundSlack[b]! += length * step.db[b]!;
    boundPrice[b]! += length * step.dp[b]!;
  }
  state.t += length * step.dt;
  evaluateState(state);
}

/** Returns the answer, with trades that are at a bound set to it. */
function createSolution(state: InteriorState, status: RelaxationSolution['status'], steps: number): RelaxationSolution {
  const { relaxation, bounds, size, z, zl, zu, w, values } = state;
  const { rows } = relaxation;
  for (let j = 0; j < z.length; j++) {
    if (z[j]! < zl[j]! * 1e-3 && z[j]! < CONTACT_MAX) z[j] = 0;
    else if (size[j]! - z[j]! < CONTACT_MAX && size[j]! - z[j]! < zu[j]! * 1e-3) z[j] = size[j]!;
  }
  evaluateState(state);
  const violations = Float64Array.from(values, (value) => Math.max(0, value));
  const isViolated = violations.some(
    (value, j) => value > VIOLATION_MAX && (j === rows.length || (rows[j]!.tax === 0 && rows[j]!.penalty === Infinity)),
  );
  const isBeyond = bounds.some(({ security, sign: way, limit }) => way * (w[security]! - limit) > VIOLATION_MAX);
  return {
    status: isViolated || isBeyond ? 'infeasible' : status,
    traded: z,
    weights: w,
    multipliers: collectMultipliers(state),
    violations,
    steps,
  };
}
