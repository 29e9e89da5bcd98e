import { raiseToPower } from '../../power.js';
import type { Curvature } from '../factors/curvature.js';
import {
  type ActiveState,
  EQUAL,
  findStateValue,
  FREE,
  IDLE,
  type Iterate,
  LOWER,
  OVER,
  PINNED,
  settleSides,
  UNDER,
  UPPER,
} from '../program/active-state.js';
import { multiplyMetric } from '../program/metric.js';
import { addRows, computeNormForce, computeRowValues, isUnbounded, type Program } from '../program/program.js';
import { advance, factorRegularised, solveDirection } from './newton-system.js';
import {
  computeMeanComplementarity,
  createWork,
  findLongestStep,
  type InteriorRun,
  type Pairs,
  predictComplementarity,
  setAffineTarget,
  setCentredTarget,
  setNarrowerTarget,
  type Work,
} from './work.js';

/** Returns entry i of the scaled objective gradient, without multipliers; valid after `computeResiduals`. */
function computeObjectiveSlope({ program, scale, x, product }: Work, i: number): number {
  const curvedSlope = program.metric !== null && program.curvature !== 0 ? program.curvature * product[i]! : 0;
  return scale * (curvedSlope + program.ridge * (x[i]! - program.centre[i]!) + program.linear[i]!);
}

/**
 * Computes the gradient of the Lagrangian, the residuals of the rows and the values of the norms. The gradient is
 * undefined for fixed securities.
 */
function computeResiduals(work: Work): void {
  const {
    program,
    free,
    f,
    pairs,
    at,
    x,
    y,
    t,
    rowScale,
    rowResidual,
    rowMultipliers,
    gradient,
    offset,
    product,
    normExcess,
    normGradient,
    normRadius,
  } = work;
  const { n, metric, rows, kinks, norms, centre } = program;
  const { on, s, z } = pairs;
  const m = rows.count;
  work.primalResidual = 0;
  for (let q = 0; q < norms.length; q++) {
    const norm = norms[q]!;
    for (let i = 0; i < n; i++) offset[i] = x[i]! - norm.centre[i]!;
    const from = computeNormForce(program, norm, offset, product);
    let square = 0;
    for (let i = 0; i < n; i++) square += offset[i]! * from[i]!;
    normExcess[q] = (square - norm.radius * norm.radius) / (2 * normRadius[q]!);
    for (let p = 0; p < f; p++) normGradient[q * f + p] = from[free[p]!]! / normRadius[q]!;
    rowResidual[m + kinks.length + q] = -normExcess[q]! - s[at.norm + q]!;
    work.primalResidual = Math.max(work.primalResidual, Math.abs(rowResidual[m + kinks.length + q]!));
  }
  for (let i = 0; i < n; i++) offset[i] = x[i]! - centre[i]!;
  if (metric !== null && program.curvature !== 0) multiplyMetric(metric, offset, product);
  let largest = 1e-3;
  for (let p = 0; p < f; p++) {
    const i = free[p]!;
    const slope = computeObjectiveSlope(work, i);
    work.primalResidual = Math.max(
      work.primalResidual,
      Math.abs(work.lowerResidual[p]!),
      Math.abs(work.upperResidual[p]!),
    );
    gradient[i] =
      slope - (on[at.lower + p] === 1 ? z[at.lower + p]! : 0) + (on[at.upper + p] === 1 ? z[at.upper + p]! : 0);
    largest = Math.max(largest, Math.abs(slope));
  }
  const rowRange = { matrix: rows.coefficients, width: n, from: 0, to: m };
  computeRowValues(rowRange, x, rowResidual);
  for (let r = 0; r < m; r++) {
    rowMultipliers[r] = y[r]! * rowScale[r]!;
    work.primalResidual = Math.max(work.primalResidual, measureRowViolation(work, r, rowResidual[r]!));
  }
  addRows(rowRange, rowMultipliers, gradient);
  for (let k = 0; k < kinks.length; k++) {
    const { left, right, at: where, limit } = kinks[k]!;
    let sum = 0;
    for (let i = 0; i < n; i++) {
      const step = x[i]! - where[i]!;
      sum += (step > 0 ? right[i]! : left[i]!) * step;
    }
    let total = 0;
    for (let p = 0; p < f; p++) {
      const i = free[p]!;
      const step = x[i]! - where[i]!;
      const force = (step > 0 ? right[i]! : left[i]!) * step;
      sum -= force;
      if (on[at.left + k * f + p] === 0) {
        total += force;
        continue;
      }
      total += t[k * f + p]!;
      gradient[i]! += left[i]! * z[at.left + k * f + p]! + right[i]! * z[at.right + k * f + p]!;
    }
    if (limit === null) continue;
    const limitSlack = on[at.limitOver + k] === 1 ? s[at.limitOver + k]! : 0;
    rowResidual[m + k] = limit - sum - total - s[at.limit + k]! + limitSlack;
    work.primalResidual = Math.max(work.primalResidual, Math.abs(rowResidual[m + k]!));
  }
  for (let q = 0; q < norms.length; q++) {
    const multiplier = z[at.norm + q]!;
    for (let p = 0; p < f; p++) gradient[free[p]!]! += multiplier * normGradient[q * f + p]!;
  }
  let largestResidual = 0;
  for (let p = 0; p < f; p++) largestResidual = Math.max(largestResidual, Math.abs(gradient[free[p]!]!));
  work.dualResidual = largestResidual;
  work.gradientScale = largest;
}

/** Returns the largest scaled difference between a row's slacks and its value. */
function measureRowViolation({ program, pairs: { on, s }, at, rowScale }: Work, r: number, value: number): number {
  const { lower, upper } = program.rows;
  if (on[at.rowUpper + r] === 0 && on[at.rowLower + r] === 0) {
    if (lower[r] !== upper[r]) return 0;
    return Math.abs(upper[r]! - value) * rowScale[r]!;
  }
  let largestViolation = 0;
  if (on[at.rowUpper + r] === 1) largestViolation = Math.abs(measureUpperMismatch(upper[r]!, value, r));
  if (on[at.rowLower + r] === 1)
    largestViolation = Math.max(largestViolation, Math.abs(measureLowerMismatch(lower[r]!, value, r)));
  return largestViolation;

  function measureUpperMismatch(bound: number, at_: number, row: number): number {
    return (
      (bound - at_) * rowScale[row]! - s[at.rowUpper + row]! + (on[at.rowOver + row] === 1 ? s[at.rowOver + row]! : 0)
    );
  }
  function measureLowerMismatch(bound: number, at_: number, row: number): number {
    return (
      (at_ - bound) * rowScale[row]! - s[at.rowLower + row]! + (on[at.rowUnder + row] === 1 ? s[at.rowUnder + row]! : 0)
    );
  }
}

/** Sets a starting point well inside every bound, with slacks and duals of equal size. */
function setStart(work: Work): void {
  const { program, free, f, pairs, at, x, y, t, rowScale, scale } = work;
  const { n, lower, upper, rows, kinks, norms, centre } = program;
  for (let i = 0; i < n; i++) x[i] = lower[i]! > -Infinity ? lower[i]! : upper[i]! < Infinity ? upper[i]! : centre[i]!;
  for (let p = 0; p < f; p++) {
    const i = free[p]!;
    x[i] = clampInside(centre[i]!, lower[i]!, upper[i]!);
    if (lower[i]! > -Infinity) put(pairs, at.lower + p, x[i]! - lower[i]!, 1);
    if (upper[i]! < Infinity) put(pairs, at.upper + p, upper[i]! - x[i]!, 1);
  }
  const typicalSlack = computeTypicalSlack(pairs);
  for (let r = 0; r < rows.count; r++) {
    y[r] = 0;
    const isHard = !Number.isFinite(rows.penalty[r]!);
    if (isHard && rows.lower[r] === rows.upper[r]) continue;
    let value = 0;
    for (let i = 0; i < n; i++) value += rows.coefficients[r * n + i]! * x[i]!;
    const price = isHard ? Infinity : (rows.penalty[r]! * scale) / rowScale[r]!;
    for (const [side, soft, room] of [
      [at.rowUpper + r, at.rowOver + r, (rows.upper[r]! - value) * rowScale[r]!],
      [at.rowLower + r, at.rowUnder + r, (value - rows.lower[r]!) * rowScale[r]!],
    ] as const) {
      if (room === Infinity) continue;
      const z = Math.min(1, price / 2);
      const slack = Math.max(room, typicalSlack);
      put(pairs, side, slack, z);
      if (!isHard) put(pairs, soft, Math.max(slack - room, typicalSlack), price - z);
    }
  }
  for (let k = 0; k < kinks.length; k++) {
    const kink = kinks[k]!;
    const price = kink.limit === null ? scale : 1;
    let sum = 0;
    for (let i = 0; i < n; i++) {
      const step = x[i]! - kink.at[i]!;
      sum += (step > 0 ? kink.right[i]! : kink.left[i]!) * step;
    }
    for (let p = 0; p < f; p++) {
      const i = free[p]!;
      if (kink.left[i] === kink.right[i]) continue;
      const step = x[i]! - kink.at[i]!;
      const shift = Math.max(kink.left[i]! * step, kink.right[i]! * step);
      t[k * f + p] = shift + typicalSlack * Math.max(Math.abs(kink.left[i]!), Math.abs(kink.right[i]!));
      put(pairs, at.left + k * f + p, t[k * f + p]! - kink.left[i]! * step, price / 2);
      put(pairs, at.right + k * f + p, t[k * f + p]! - kink.right[i]! * step, price / 2);
    }
    if (kink.limit === null) continue;
    const isHard = !Number.isFinite(kink.penalty);
    const ceiling = isHard ? Infinity : kink.penalty * scale;
    const multiplier = Math.min(1, ceiling / 2);
    for (let p = 0; p < f; p++) {
      pairs.z[at.left + k * f + p] = multiplier / 2;
      pairs.z[at.right + k * f + p] = multiplier / 2;
    }
    const slack = Math.max(kink.limit - sum, typicalSlack);
    put(pairs, at.limit + k, slack, multiplier);
    if (!isHard) put(pairs, at.limitOver + k, Math.max(slack - (kink.limit - sum), typicalSlack), ceiling - multiplier);
  }
  for (let q = 0; q < norms.length; q++) put(pairs, at.norm + q, Math.max(norms[q]!.radius, typicalSlack), 1);
  scaleAllDuals(work);
}

/**
 * Sets Mehrotra's starting point for programs whose solution is far from the centre. At this point, the rows nearly
 * hold, and every slack is shifted until it is positive. Bounds then have residuals like rows.
 */
function setFarStart(work: Work, curvature: Curvature): void {
  const { program, free, f, pairs, at, x, y, dx, change, columnOf, rowScale, lowerResidual, upperResidual } = work;
  const { n, lower, upper, rows } = program;
  computeResiduals(work);
  pairs.target.fill(0);
  if (!factorRegularised(work, curvature)) return;
  solveDirection(work, curvature);
  for (let p = 0; p < f; p++) x[free[p]!]! += dx[p]!;
  for (let r = 0; r < rows.count; r++)
    if (pairs.on[at.rowUpper + r] === 0 && pairs.on[at.rowLower + r] === 0)
      y[r]! += isUnbounded(rows, r) ? 0 : change[columnOf[r]!]!;
  const slacks = new Float64Array(pairs.count);
  for (let p = 0; p < f; p++) {
    slacks[at.lower + p] = x[free[p]!]! - lower[free[p]!]!;
    slacks[at.upper + p] = upper[free[p]!]! - x[free[p]!]!;
  }
  for (let r = 0; r < rows.count; r++) {
    let value = 0;
    for (let i = 0; i < n; i++) value += rows.coefficients[r * n + i]! * x[i]!;
    slacks[at.rowUpper + r] = (rows.upper[r]! - value) * rowScale[r]!;
    slacks[at.rowLower + r] = (value - rows.lower[r]!) * rowScale[r]!;
  }
  let shift = 0;
  let total = 0;
  let number = 0;
  for (let k = 0; k < at.rowOver; k++) if (pairs.on[k] === 1) shift = Math.max(shift, -1.5 * slacks[k]!);
  for (let k = 0; k < at.rowOver; k++) {
    if (pairs.on[k] === 0) continue;
    total += Math.min(slacks[k]! + shift, 1e6);
    number++;
  }
  shift += number === 0 ? 0 : Math.max((0.5 * total) / number, 1e-3);
  for (let k = 0; k < at.rowOver; k++) if (pairs.on[k] === 1) pairs.s[k] = slacks[k]! + shift;
  for (let p = 0; p < f; p++) {
    lowerResidual[p] = pairs.on[at.lower + p] === 1 ? slacks[at.lower + p]! - pairs.s[at.lower + p]! : 0;
    upperResidual[p] = pairs.on[at.upper + p] === 1 ? slacks[at.upper + p]! - pairs.s[at.upper + p]! : 0;
  }
  scaleAllDuals(work);
}

/**
 * Returns the point nearest to `wanted` that is inside the bounds by a tenth of their distance, or by 1 if only one is
 * finite.
 */
export function clampInside(wanted: number, lower: number, upper: number): number {
  const width = upper - lower;
  if (width < Infinity) return Math.min(Math.max(wanted, lower + 0.1 * width), upper - 0.1 * width);
  if (lower > -Infinity) return Math.max(wanted, lower + 1);
  if (upper < Infinity) return Math.min(wanted, upper - 1);
  return wanted;
}

function put({ on, s, z }: Pairs, position: number, slack: number, dual: number): void {
  on[position] = 1;
  s[position] = slack;
  z[position] = dual;
}

function computeTypicalSlack({ count, on, s }: Pairs): number {
  let total = 0;
  let number = 0;
  for (let k = 0; k < count; k++) {
    if (on[k] === 0) continue;
    total += Math.min(s[k]!, 1);
    number++;
  }
  return number === 0 ? 1 : Math.max(total / number, 1e-4);
}

/**
 * Scales the duals of bounds, rows, limits and norms to the gradient. The initial complementarity then has the scale of
 * the problem.
 */
function scaleAllDuals(work: Work): void {
  const { pairs, at, free, f } = work;
  computeResiduals(work);
  let size = 0;
  for (let p = 0; p < f; p++) size += Math.abs(computeObjectiveSlope(work, free[p]!));
  const startDual = Math.min(Math.max(size / Math.max(f, 1), 1e-4), 1e4);
  const scaleDuals = (from: number, to: number) => {
    for (let k = from; k < to; k++) if (pairs.on[k] === 1) pairs.z[k] = startDual;
  };
  scaleDuals(at.lower, at.rowUpper);
  for (let r = 0; r < work.program.rows.count; r++) {
    for (const [side, soft] of [
      [at.rowUpper + r, at.rowOver + r],
      [at.rowLower + r, at.rowUnder + r],
    ] as const) {
      if (pairs.on[side] === 0) continue;
      if (pairs.on[soft] === 1) {
        const price = pairs.z[side]! + pairs.z[soft]!;
        pairs.z[side] = Math.min(startDual, price / 2);
        pairs.z[soft] = price - pairs.z[side]!;
      } else pairs.z[side] = startDual;
    }
  }
  for (let k = 0; k < work.program.kinks.length; k++) {
    if (pairs.on[at.limit + k] === 0) continue;
    const ceiling = pairs.on[at.limitOver + k] === 1 ? pairs.z[at.limit + k]! + pairs.z[at.limitOver + k]! : Infinity;
    const multiplier = Math.min(startDual, ceiling / 2);
    pairs.z[at.limit + k] = multiplier;
    if (ceiling < Infinity) pairs.z[at.limitOver + k] = ceiling - multiplier;
    for (let p = 0; p < f; p++) {
      pairs.z[at.left + k * f + p] = multiplier / 2;
      pairs.z[at.right + k * f + p] = multiplier / 2;
    }
  }
  scaleDuals(at.norm, pairs.count);
}

/** Writes the point in the units of the program, and the active set that the pairs indicate. */
function readSolution(work: Work, state: ActiveState, iterate: Iterate): void {
  const { program, free, f, pairs, at, x, y, scale, rowScale, normRadius } = work;
  const { n, rows, kinks, norms } = program;
  const { on, s, z } = pairs;
  const isActivePair = (k: number) => on[k] === 1 && z[k]! > s[k]!;
  for (let i = 0; i < n; i++) {
    iterate.x[i] = x[i]!;
    state.names[i] = LOWER;
  }
  for (let p = 0; p < f; p++) {
    const i = free[p]!;
    state.names[i] = isActivePair(at.lower + p) ? LOWER : isActivePair(at.upper + p) ? UPPER : FREE;
    if (state.names[i] === FREE) {
      for (let k = 0; k < kinks.length; k++)
        if (isActivePair(at.left + k * f + p) && isActivePair(at.right + k * f + p)) state.names[i] = PINNED + k;
    }
    settleSides(program, state, i, findStateValue(program, state.names[i]!, i, x[i]!));
  }
  for (let r = 0; r < rows.count; r++) {
    iterate.rowMultipliers[r] = (y[r]! * rowScale[r]!) / scale;
    const [u, l] = [at.rowUpper + r, at.rowLower + r];
    const isOver = on[at.rowOver + r] === 1 && s[at.rowOver + r]! > z[at.rowOver + r]!;
    const isUnder = on[at.rowUnder + r] === 1 && s[at.rowUnder + r]! > z[at.rowUnder + r]!;
    if (isOver || isUnder) state.rows[r] = isOver ? OVER : UNDER;
    else if (rows.lower[r] === rows.upper[r]) state.rows[r] = EQUAL;
    else state.rows[r] = isActivePair(u) ? UPPER : isActivePair(l) ? LOWER : IDLE;
  }
  for (let k = 0; k < kinks.length; k++) {
    if (kinks[k]!.limit === null) {
      iterate.kinkMultipliers[k] = 1;
      state.kinks[k] = OVER;
      continue;
    }
    iterate.kinkMultipliers[k] = z[at.limit + k]! / scale;
    const isOver = on[at.limitOver + k] === 1 && s[at.limitOver + k]! > z[at.limitOver + k]!;
    state.kinks[k] = isOver ? OVER : isActivePair(at.limit + k) ? UPPER : IDLE;
  }
  for (let q = 0; q < norms.length; q++) {
    iterate.normMultipliers[q] = z[at.norm + q]! / normRadius[q]! / scale;
    state.norms[q] = isActivePair(at.norm + q) ? UPPER : IDLE;
  }
}

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
