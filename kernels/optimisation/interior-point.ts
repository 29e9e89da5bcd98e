import { EQUAL, FREE, IDLE, LOWER, OVER, PINNED, UNDER, UPPER, type ActiveState, type Iterate } from './active-set.js';
import type { Curvature } from './curvature.js';
import { metricDiagonal, metricTimes } from './metric.js';
import { complementarityAfter, createPairs, longestStep, meanComplementarity, targetAffine, targetCentred, type Pairs } from './pairs.js';
import { isUnbounded, type Program } from './program.js';
import { factorSemidefinite, solveFactored } from './schur.js';

export interface InteriorPointOutcome {
  /** `optimal`: residuals and complementarity are below their tolerances. `stalled`: they stopped falling. */
  readonly status: 'optimal' | 'stalled';
  readonly iterations: number;
  /** Largest violation of a row, in the units of the row scaled to a largest coefficient of one. */
  readonly primalResidual: number;
}

/** Complementarity of the scaled programme at which the active set can be read off; a larger one broke the polish under turnover limits. */
const COMPLEMENTARITY = 1e-11;
const PRIMAL = 1e-10;
const DUAL = 1e-10;
const ITERATIONS_MAX = 100;

/** Iterations without progress after which the best point so far is the answer. */
const PATIENCE = 15;

/** Share of the way to the boundary that a step goes. */
const STEP_SHARE = 0.995;

/** Proximal terms of the scaled programme, in names and in equality rows: they vanish at the answer. */
const PROXIMAL_NAME = 1e-9;
const PROXIMAL_ROW = 1e-10;
const PROXIMAL_FAR = 1e-8;
const PROXIMAL_MAX = 1e-2;

/** Pivots of the Schur complement below this share are rounding; the proximal term keeps all others. */
const ROUNDING = 1e-15;

/**
 * Mehrotra's predictor-corrector interior point, with the variables of kinks and of soft rows eliminated: a turnover
 * limit adds one row of the Schur complement and no dimension, a penalty only its diagonal.
 *
 * @param iterate    Overwritten with the final point.
 * @param state      Overwritten with the active set read off the final pairs.
 * @param beginning  `near` starts inside the bounds around the centre, `far` where the rows nearly hold, bounds or not.
 * @cost           8 to 20 iterations of n^3 / 6 + m n^2.
 * @source         Mehrotra (1992), SIAM J. Optimization 2(4), 575-601; Friedlander & Orban (2012), Math. Prog. Comp. 4, 71-107 (proximal terms).
 */
export function runInteriorPoint(program: Program, curvature: Curvature, state: ActiveState, iterate: Iterate, beginning: 'near' | 'far' = 'near'): InteriorPointOutcome {
  const work = prepare(program, beginning === 'far');
  start(work);
  if (beginning === 'far') startFar(work, curvature);
  let outcome: InteriorPointOutcome = { status: 'stalled', iterations: 0, primalResidual: Number.POSITIVE_INFINITY };
  const lowest: [number, number, number] = [Infinity, Infinity, Infinity];
  const best = { merit: Number.POSITIVE_INFINITY, progress: 0, x: work.x.slice(), y: work.y.slice(), s: work.pairs.s.slice(), z: work.pairs.z.slice() };
  for (let iteration = 1; iteration <= ITERATIONS_MAX; iteration++) {
    residuals(work);
    const mu = meanComplementarity(work.pairs);
    outcome = { status: 'stalled', iterations: iteration, primalResidual: work.primalResidual };
    if (mu <= COMPLEMENTARITY && work.primalResidual <= PRIMAL && work.dualResidual <= DUAL * work.gradientScale) {
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
    const centring = mu > 0 ? (complementarityAfter(work.pairs, affine) / mu) ** 3 : 0;
    targetCentred(work.pairs, Math.min(centring, 1) * mu);
    direction(work, curvature);
    const length = Math.min(1, STEP_SHARE * longestStep(work.pairs));
    if (!(length > 1e-13)) break;
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

/** Bounds this close, relative to 1 + |bound|, fix a name. */
const NARROW = 1e-13;

interface Work {
  readonly program: Program;
  /** Free names, [f]. */
  readonly free: Int32Array;
  readonly f: number;
  /** Objective of the scaled programme = objective * scale. */
  readonly scale: number;
  /** [m], one over the largest coefficient of a row. */
  readonly rowScale: Float64Array;
  readonly pairs: Pairs;
  /** Offsets of the segments of the pairs. */
  readonly at: Segments;
  readonly x: Float64Array;
  readonly y: Float64Array;
  /** [kinks x f] */
  readonly t: Float64Array;
  readonly gradient: Float64Array;
  readonly offset: Float64Array;
  readonly product: Float64Array;
  readonly diagonal: Float64Array;
  /** Rows, kinks, norms: [columns]. */
  readonly columnCount: number;
  readonly columns: Float64Array;
  readonly solved: Float64Array;
  readonly schur: Float64Array;
  readonly skipped: Uint8Array;
  /** Diagonal of the Schur complement, and the residual of each column: [columns]. */
  readonly slack: Float64Array;
  readonly rowResidual: Float64Array;
  readonly right: Float64Array;
  readonly change: Float64Array;
  readonly dx: Float64Array;
  /** Right sides of the columns, errors of a solve, and room for a correction. */
  readonly columnRight: Float64Array;
  readonly nameError: Float64Array;
  readonly rowError: Float64Array;
  readonly trial: Float64Array;
  readonly trialChange: Float64Array;
  readonly refinements: number;
  /** [norms] value of (|x - c|^2 - r^2) / (2 r). */
  readonly normExcess: Float64Array;
  /** [norms x f] gradients of it. */
  readonly normGradient: Float64Array;
  readonly normRadius: Float64Array;
  /** [f] distance to a bound less its slack: nought after a near start. */
  readonly lowerResidual: Float64Array;
  readonly upperResidual: Float64Array;
  metricScale: number;
  proximal: number;
  primalResidual: number;
  dualResidual: number;
  gradientScale: number;
}

interface Segments {
  readonly lower: number;
  readonly upper: number;
  readonly rowUpper: number;
  readonly rowLower: number;
  readonly rowOver: number;
  readonly rowUnder: number;
  readonly left: number;
  readonly right: number;
  readonly limit: number;
  readonly limitOver: number;
  readonly norm: number;
}

/** Smallest radius a norm is divided by: below it the norm counts as a plain square. */
const RADIUS_MIN = 1e-6;

function prepare(program: Program, far: boolean): Work {
  const { n, rows, kinks, norms, lower, upper, metric } = program;
  const names: number[] = [];
  for (let i = 0; i < n; i++) if (upper[i]! - lower[i]! > NARROW * (1 + Math.min(Math.abs(lower[i]!), Math.abs(upper[i]!), 1e6))) names.push(i);
  const free = Int32Array.from(names);
  const f = free.length;
  const m = rows.count;
  const K = kinks.length;
  const Q = norms.length;
  const sizes = [f, f, m, m, m, m, K * f, K * f, K, K, Q];
  const starts = sizes.map((_, k) => sizes.slice(0, k).reduce((sum, size) => sum + size, 0));
  const [lo, up, rowUpper, rowLower, rowOver, rowUnder, left, right, limit, limitOver, norm] = starts as [number, number, number, number, number, number, number, number, number, number, number];
  const pairs = createPairs(sizes.reduce((sum, size) => sum + size, 0));
  const columnCount = m + K + Q;
  const rowScale = new Float64Array(m);
  for (let r = 0; r < m; r++) {
    let largest = 0;
    for (let p = 0; p < f; p++) largest = Math.max(largest, Math.abs(rows.coefficients[r * n + free[p]!]!));
    rowScale[r] = largest > 0 ? 1 / largest : 1;
  }
  let size = program.ridge;
  if (metric !== null && program.curvature > 0) {
    const diagonal = metricDiagonal(metric);
    let total = 0;
    for (let p = 0; p < f; p++) total += diagonal[free[p]!]!;
    size += (program.curvature * total) / Math.max(f, 1);
  }
  let steepest = 0;
  for (let p = 0; p < f; p++) steepest = Math.max(steepest, Math.abs(program.linear[free[p]!]!));
  let dearest = 0;
  for (let r = 0; r < m; r++) if (Number.isFinite(rows.penalty[r]!)) dearest = Math.max(dearest, rows.penalty[r]!);
  const magnitude = size > 0 ? Math.max(size, 1e-3 * steepest) : Math.max(steepest, dearest);
  return {
    program,
    free,
    f,
    scale: magnitude > 0 ? 1 / magnitude : 1,
    rowScale,
    pairs,
    at: { lower: lo, upper: up, rowUpper, rowLower, rowOver, rowUnder, left, right, limit, limitOver, norm },
    x: new Float64Array(n),
    y: new Float64Array(m),
    t: new Float64Array(K * f),
    gradient: new Float64Array(n),
    offset: new Float64Array(n),
    product: new Float64Array(n),
    diagonal: new Float64Array(n),
    columnCount,
    columns: new Float64Array(f * columnCount),
    solved: new Float64Array(f * columnCount),
    schur: new Float64Array(columnCount * columnCount),
    skipped: new Uint8Array(columnCount),
    slack: new Float64Array(columnCount),
    rowResidual: new Float64Array(columnCount),
    right: new Float64Array(f),
    change: new Float64Array(columnCount),
    dx: new Float64Array(f),
    columnRight: new Float64Array(columnCount),
    nameError: new Float64Array(f),
    rowError: new Float64Array(columnCount),
    trial: new Float64Array(f),
    trialChange: new Float64Array(columnCount),
    refinements: 2,
    normExcess: new Float64Array(Q),
    normGradient: new Float64Array(Q * f),
    normRadius: Float64Array.from(norms, ({ radius }) => Math.max(radius, RADIUS_MIN)),
    lowerResidual: new Float64Array(f),
    upperResidual: new Float64Array(f),
    metricScale: 0,
    proximal: far ? PROXIMAL_FAR : PROXIMAL_NAME,
    primalResidual: 0,
    dualResidual: 0,
    gradientScale: 1,
  };
}

/** A start well inside every bound, with slacks and duals of one size. */
function start(work: Work): void {
  const { program, free, f, pairs, at, x, y, t, rowScale, scale } = work;
  const { n, lower, upper, rows, kinks, norms, centre } = program;
  for (let i = 0; i < n; i++) x[i] = lower[i]! > -Infinity ? lower[i]! : upper[i]! < Infinity ? upper[i]! : centre[i]!;
  for (let p = 0; p < f; p++) {
    const i = free[p]!;
    x[i] = inside(centre[i]!, lower[i]!, upper[i]!);
    if (lower[i]! > -Infinity) put(pairs, at.lower + p, x[i]! - lower[i]!, 1);
    if (upper[i]! < Infinity) put(pairs, at.upper + p, upper[i]! - x[i]!, 1);
  }
  const typical = typicalSlack(pairs);
  for (let r = 0; r < rows.count; r++) {
    y[r] = 0;
    const hard = !Number.isFinite(rows.penalty[r]!);
    if (hard && rows.lower[r] === rows.upper[r]) continue;
    let value = 0;
    for (let i = 0; i < n; i++) value += rows.coefficients[r * n + i]! * x[i]!;
    const price = hard ? Infinity : (rows.penalty[r]! * scale) / rowScale[r]!;
    for (const [side, soft, room] of [
      [at.rowUpper + r, at.rowOver + r, (rows.upper[r]! - value) * rowScale[r]!],
      [at.rowLower + r, at.rowUnder + r, (value - rows.lower[r]!) * rowScale[r]!],
    ] as const) {
      if (room === Infinity) continue;
      const z = Math.min(1, price / 2);
      const slack = Math.max(room, typical);
      put(pairs, side, slack, z);
      if (!hard) put(pairs, soft, Math.max(slack - room, typical), price - z);
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
      const here = Math.max(kink.left[i]! * step, kink.right[i]! * step);
      t[k * f + p] = here + typical * Math.max(Math.abs(kink.left[i]!), Math.abs(kink.right[i]!));
      put(pairs, at.left + k * f + p, t[k * f + p]! - kink.left[i]! * step, price / 2);
      put(pairs, at.right + k * f + p, t[k * f + p]! - kink.right[i]! * step, price / 2);
    }
    if (kink.limit === null) continue;
    const hard = !Number.isFinite(kink.penalty);
    const ceiling = hard ? Infinity : kink.penalty * scale;
    const multiplier = Math.min(1, ceiling / 2);
    for (let p = 0; p < f; p++) {
      pairs.z[at.left + k * f + p] = multiplier / 2;
      pairs.z[at.right + k * f + p] = multiplier / 2;
    }
    const slack = Math.max(kink.limit - sum, typical);
    put(pairs, at.limit + k, slack, multiplier);
    if (!hard) put(pairs, at.limitOver + k, Math.max(slack - (kink.limit - sum), typical), ceiling - multiplier);
  }
  for (let q = 0; q < norms.length; q++) put(pairs, at.norm + q, Math.max(norms[q]!.radius, typical), 1);
  balance(work);
}

/**
 * Mehrotra's start for programmes whose answer is far from the centre: the point at which the rows nearly hold,
 * with every slack shifted until it is positive. Bounds then have residuals like rows.
 */
function startFar(work: Work, curvature: Curvature): void {
  const { program, free, f, pairs, at, x, y, dx, change, rowScale, lowerResidual, upperResidual } = work;
  const { n, lower, upper, rows } = program;
  residuals(work);
  pairs.target.fill(0);
  if (!factorRegularised(work, curvature)) return;
  direction(work, curvature);
  for (let p = 0; p < f; p++) x[free[p]!]! += dx[p]!;
  for (let r = 0; r < rows.count; r++) if (pairs.on[at.rowUpper + r] === 0 && pairs.on[at.rowLower + r] === 0) y[r]! += isUnbounded(rows, r) ? 0 : change[r]!;
  const room = new Float64Array(pairs.count);
  for (let p = 0; p < f; p++) {
    room[at.lower + p] = x[free[p]!]! - lower[free[p]!]!;
    room[at.upper + p] = upper[free[p]!]! - x[free[p]!]!;
  }
  for (let r = 0; r < rows.count; r++) {
    let value = 0;
    for (let i = 0; i < n; i++) value += rows.coefficients[r * n + i]! * x[i]!;
    room[at.rowUpper + r] = (rows.upper[r]! - value) * rowScale[r]!;
    room[at.rowLower + r] = (value - rows.lower[r]!) * rowScale[r]!;
  }
  let shift = 0;
  let total = 0;
  let number = 0;
  for (let k = 0; k < at.rowOver; k++) if (pairs.on[k] === 1) shift = Math.max(shift, -1.5 * room[k]!);
  for (let k = 0; k < at.rowOver; k++) {
    if (pairs.on[k] === 0) continue;
    total += Math.min(room[k]! + shift, 1e6);
    number++;
  }
  shift += number === 0 ? 0 : Math.max((0.5 * total) / number, 1e-3);
  for (let k = 0; k < at.rowOver; k++) if (pairs.on[k] === 1) pairs.s[k] = room[k]! + shift;
  for (let p = 0; p < f; p++) {
    lowerResidual[p] = pairs.on[at.lower + p] === 1 ? room[at.lower + p]! - pairs.s[at.lower + p]! : 0;
    upperResidual[p] = pairs.on[at.upper + p] === 1 ? room[at.upper + p]! - pairs.s[at.upper + p]! : 0;
  }
  balance(work);
}

/** Centre of the box where it is finite, else a point inside near the wanted one. */
function inside(wanted: number, lower: number, upper: number): number {
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

function typicalSlack({ count, on, s }: Pairs): number {
  let total = 0;
  let number = 0;
  for (let k = 0; k < count; k++) {
    if (on[k] === 0) continue;
    total += Math.min(s[k]!, 1);
    number++;
  }
  return number === 0 ? 1 : Math.max(total / number, 1e-4);
}

/** Sizes the duals of bounds, rows and norms like the gradient, so that complementarity starts near the size of the problem. */
function balance(work: Work): void {
  const { pairs, at, free, f } = work;
  residuals(work);
  let size = 0;
  for (let p = 0; p < f; p++) size += Math.abs(objectiveSlope(work, free[p]!));
  const wanted = Math.min(Math.max(size / Math.max(f, 1), 1e-4), 1e4);
  const scaleDuals = (from: number, to: number) => {
    for (let k = from; k < to; k++) if (pairs.on[k] === 1) pairs.z[k] = wanted;
  };
  scaleDuals(at.lower, at.rowUpper);
  for (let r = 0; r < work.program.rows.count; r++) {
    for (const [side, soft] of [[at.rowUpper + r, at.rowOver + r], [at.rowLower + r, at.rowUnder + r]] as const) {
      if (pairs.on[side] === 0) continue;
      if (pairs.on[soft] === 1) {
        const price = pairs.z[side]! + pairs.z[soft]!;
        pairs.z[side] = Math.min(wanted, price / 2);
        pairs.z[soft] = price - pairs.z[side]!;
      } else pairs.z[side] = wanted;
    }
  }
  for (let k = 0; k < work.program.kinks.length; k++) {
    if (pairs.on[at.limit + k] === 0) continue;
    const ceiling = pairs.on[at.limitOver + k] === 1 ? pairs.z[at.limit + k]! + pairs.z[at.limitOver + k]! : Infinity;
    const multiplier = Math.min(wanted, ceiling / 2);
    pairs.z[at.limit + k] = multiplier;
    if (ceiling < Infinity) pairs.z[at.limitOver + k] = ceiling - multiplier;
    for (let p = 0; p < f; p++) {
      pairs.z[at.left + k * f + p] = multiplier / 2;
      pairs.z[at.right + k * f + p] = multiplier / 2;
    }
  }
  scaleDuals(at.norm, pairs.count);
}

/** Scaled gradient of the objective without multipliers; valid after `residuals`. */
function objectiveSlope({ program, scale, x, product }: Work, i: number): number {
  const curved = program.metric !== null && program.curvature !== 0 ? program.curvature * product[i]! : 0;
  return scale * (curved + program.ridge * (x[i]! - program.centre[i]!) + program.linear[i]!);
}

/** Gradient of the Lagrangian, residuals of the rows, values of the norms. */
function residuals(work: Work): void {
  const { program, free, f, pairs, at, x, y, t, rowScale, rowResidual, gradient, offset, product, normExcess, normGradient, normRadius } = work;
  const { n, metric, rows, kinks, norms, centre } = program;
  const { on, s, z } = pairs;
  const m = rows.count;
  work.primalResidual = 0;
  for (let q = 0; q < norms.length; q++) {
    const norm = norms[q]!;
    for (let i = 0; i < n; i++) offset[i] = x[i]! - norm.centre[i]!;
    if (norm.metric === 'metric') metricTimes(metric!, offset, product);
    const from = norm.metric === 'metric' ? product : offset;
    let square = 0;
    for (let i = 0; i < n; i++) square += offset[i]! * from[i]!;
    normExcess[q] = (square - norm.radius * norm.radius) / (2 * normRadius[q]!);
    for (let p = 0; p < f; p++) normGradient[q * f + p] = from[free[p]!]! / normRadius[q]!;
    rowResidual[m + kinks.length + q] = -normExcess[q]! - s[at.norm + q]!;
    work.primalResidual = Math.max(work.primalResidual, Math.abs(rowResidual[m + kinks.length + q]!));
  }
  for (let i = 0; i < n; i++) offset[i] = x[i]! - centre[i]!;
  if (metric !== null && program.curvature !== 0) metricTimes(metric, offset, product);
  let largest = 1e-3;
  for (let p = 0; p < f; p++) {
    const i = free[p]!;
    const slope = objectiveSlope(work, i);
    work.primalResidual = Math.max(work.primalResidual, Math.abs(work.lowerResidual[p]!), Math.abs(work.upperResidual[p]!));
    gradient[i] = slope - (on[at.lower + p] === 1 ? z[at.lower + p]! : 0) + (on[at.upper + p] === 1 ? z[at.upper + p]! : 0);
    largest = Math.max(largest, Math.abs(slope));
  }
  for (let r = 0; r < m; r++) {
    const from = r * n;
    let value = 0;
    for (let i = 0; i < n; i++) value += rows.coefficients[from + i]! * x[i]!;
    const multiplier = y[r]! * rowScale[r]!;
    if (multiplier !== 0) for (let p = 0; p < f; p++) gradient[free[p]!]! += multiplier * rows.coefficients[from + free[p]!]!;
    rowResidual[r] = value;
    work.primalResidual = Math.max(work.primalResidual, rowViolation(work, r, value));
  }
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
      const own = (step > 0 ? right[i]! : left[i]!) * step;
      sum -= own;
      if (on[at.left + k * f + p] === 0) {
        total += own;
        continue;
      }
      total += t[k * f + p]!;
      gradient[i]! += left[i]! * z[at.left + k * f + p]! + right[i]! * z[at.right + k * f + p]!;
    }
    if (limit === null) continue;
    const over = on[at.limitOver + k] === 1 ? s[at.limitOver + k]! : 0;
    rowResidual[m + k] = limit - sum - total - s[at.limit + k]! + over;
    work.primalResidual = Math.max(work.primalResidual, Math.abs(rowResidual[m + k]!));
  }
  for (let q = 0; q < norms.length; q++) {
    const multiplier = z[at.norm + q]!;
    for (let p = 0; p < f; p++) gradient[free[p]!]! += multiplier * normGradient[q * f + p]!;
  }
  let worst = 0;
  for (let p = 0; p < f; p++) worst = Math.max(worst, Math.abs(gradient[free[p]!]!));
  work.dualResidual = worst;
  work.gradientScale = largest;
}

/** Largest mismatch of a row's slacks with its value, scaled. */
function rowViolation({ program, pairs: { on, s }, at, rowScale }: Work, r: number, value: number): number {
  const { lower, upper } = program.rows;
  if (on[at.rowUpper + r] === 0 && on[at.rowLower + r] === 0) {
    if (lower[r] !== upper[r]) return 0;
    return Math.abs(upper[r]! - value) * rowScale[r]!;
  }
  let worst = 0;
  if (on[at.rowUpper + r] === 1) worst = Math.abs(upperMismatch(upper[r]!, value, r));
  if (on[at.rowLower + r] === 1) worst = Math.max(worst, Math.abs(lowerMismatch(lower[r]!, value, r)));
  return worst;

  function upperMismatch(bound: number, at_: number, row: number): number {
    return (bound - at_) * rowScale[row]! - s[at.rowUpper + row]! + (on[at.rowOver + row] === 1 ? s[at.rowOver + row]! : 0);
  }
  function lowerMismatch(bound: number, at_: number, row: number): number {
    return (at_ - bound) * rowScale[row]! - s[at.rowLower + row]! + (on[at.rowUnder + row] === 1 ? s[at.rowUnder + row]! : 0);
  }
}

/** The factor, with a larger proximal term as long as rounding leaves the curvature indefinite. */
function factorRegularised(work: Work, curvature: Curvature): boolean {
  for (; work.proximal <= PROXIMAL_MAX; work.proximal *= 100) if (factor(work, curvature)) return true;
  return false;
}

/** Curvature with barrier terms, columns and Schur complement of this iteration. */
function factor(work: Work, curvature: Curvature): boolean {
  const { program, free, f, pairs, at, scale, diagonal, columns, solved, schur, slack, rowScale, normGradient, normRadius, columnCount: c } = work;
  const { n, rows, kinks, norms } = program;
  const { on, s, z } = pairs;
  const m = rows.count;
  let metricScale = scale * program.curvature;
  let ridge = scale * program.ridge + work.proximal;
  for (let q = 0; q < norms.length; q++) {
    if (norms[q]!.metric === 'metric') metricScale += z[at.norm + q]! / normRadius[q]!;
    else ridge += z[at.norm + q]! / normRadius[q]!;
  }
  work.metricScale = metricScale;
  for (let p = 0; p < f; p++) {
    let total = ridge;
    if (on[at.lower + p] === 1) total += z[at.lower + p]! / s[at.lower + p]!;
    if (on[at.upper + p] === 1) total += z[at.upper + p]! / s[at.upper + p]!;
    for (let k = 0; k < kinks.length; k++) {
      const l = at.left + k * f + p;
      if (on[l] === 0) continue;
      const r = at.right + k * f + p;
      const a = z[l]! / s[l]!;
      const b = z[r]! / s[r]!;
      total += ((a * b) / (a + b)) * (kinks[k]!.right[free[p]!]! - kinks[k]!.left[free[p]!]!) ** 2;
    }
    diagonal[free[p]!] = total;
  }
  if (!curvature.factor(program.metric, metricScale, diagonal, free, f)) return false;
  for (let r = 0; r < m; r++) {
    const factorOf = isUnbounded(rows, r) ? 0 : rowScale[r]!;
    for (let p = 0; p < f; p++) columns[p * c + r] = rows.coefficients[r * n + free[p]!]! * factorOf;
    slack[r] = rowSlack(work, r);
  }
  for (let k = 0; k < kinks.length; k++) {
    const { left, right, limit } = kinks[k]!;
    let total = limit === null ? 1 : s[at.limit + k]! / z[at.limit + k]!;
    if (limit !== null && on[at.limitOver + k] === 1) total += s[at.limitOver + k]! / z[at.limitOver + k]!;
    for (let p = 0; p < f; p++) {
      const i = free[p]!;
      const l = at.left + k * f + p;
      if (on[l] === 0 || limit === null) {
        columns[p * c + m + k] = 0;
        continue;
      }
      const a = z[l]! / s[l]!;
      const b = z[at.right + k * f + p]! / s[at.right + k * f + p]!;
      columns[p * c + m + k] = (left[i]! * a + right[i]! * b) / (a + b);
      total += 1 / (a + b);
    }
    slack[m + k] = total;
  }
  for (let q = 0; q < norms.length; q++) {
    const column = m + kinks.length + q;
    for (let p = 0; p < f; p++) columns[p * c + column] = normGradient[q * f + p]!;
    slack[column] = s[at.norm + q]! / z[at.norm + q]!;
  }
  if (c === 0) return true;
  for (let e = 0; e < f * c; e++) solved[e] = columns[e]!;
  curvature.solve(solved, c);
  for (let e = 0; e < c * c; e++) schur[e] = 0;
  for (let p = 0; p < f; p++) {
    const from = p * c;
    for (let r = 0; r < c; r++) {
      const value = columns[from + r]!;
      if (value === 0) continue;
      const to = r * c;
      for (let q = 0; q <= r; q++) schur[to + q]! += value * solved[from + q]!;
    }
  }
  for (let r = 0; r < c; r++) schur[r * c + r]! += slack[r]!;
  factorSemidefinite(schur, c, work.skipped, ROUNDING);
  return true;
}

/** Diagonal of a row in the Schur complement: nought but for the proximal term on a hard equality. */
function rowSlack({ program, pairs: { on, s, z }, at }: Work, r: number): number {
  const [u, l] = [at.rowUpper + r, at.rowLower + r];
  if (on[u] === 0 && on[l] === 0) return isUnbounded(program.rows, r) ? 1 : PROXIMAL_ROW;
  let inverse = 0;
  if (on[u] === 1) inverse += 1 / sideSlack(on, s, z, u, at.rowOver + r);
  if (on[l] === 1) inverse += 1 / sideSlack(on, s, z, l, at.rowUnder + r);
  return 1 / inverse;
}

function sideSlack(on: Uint8Array, s: Float64Array, z: Float64Array, side: number, soft: number): number {
  return s[side]! / z[side]! + (on[soft] === 1 ? s[soft]! / z[soft]! : 0);
}

/** Step for the targets of the pairs: fills dx, the multiplier changes and the steps of all pairs. */
function direction(work: Work, curvature: Curvature): void {
  const { program, free, f, pairs, at, gradient, right, columnRight, change, dx, rowResidual, columnCount: c, rowScale, lowerResidual, upperResidual } = work;
  const { rows, kinks } = program;
  const { on, s, z, target } = pairs;
  const m = rows.count;
  for (let p = 0; p < f; p++) {
    let total = -gradient[free[p]!]!;
    if (on[at.lower + p] === 1) total += (target[at.lower + p]! - z[at.lower + p]! * lowerResidual[p]!) / s[at.lower + p]!;
    if (on[at.upper + p] === 1) total -= (target[at.upper + p]! - z[at.upper + p]! * upperResidual[p]!) / s[at.upper + p]!;
    for (let k = 0; k < kinks.length; k++) {
      const l = at.left + k * f + p;
      if (on[l] === 0) continue;
      const r = at.right + k * f + p;
      const i = free[p]!;
      const cl = target[l]! / s[l]!;
      const cr = target[r]! / s[r]!;
      const a = z[l]! / s[l]!;
      const b = z[r]! / s[r]!;
      const slope = (kinks[k]!.left[i]! * a + kinks[k]!.right[i]! * b) / (a + b);
      total -= kinks[k]!.left[i]! * cl + kinks[k]!.right[i]! * cr - slope * (cl + cr);
    }
    right[p] = total;
  }
  for (let r = 0; r < c; r++) columnRight[r] = rightOf(r);
  dx.fill(0);
  change.fill(0);
  correct(work, curvature, right, columnRight);
  for (let refinement = 0; refinement < work.refinements; refinement++) {
    systemResidual(work);
    correct(work, curvature, work.nameError, work.rowError);
  }
  pairSteps(work);

  function rightOf(r: number): number {
    if (r < m) return rowRight(work, r, rowResidual[r]! * rowScale[r]!);
    if (r < m + kinks.length) return kinkRight(work, r - m);
    const side = at.norm + r - m - kinks.length;
    return rowResidual[r]! - target[side]! / z[side]!;
  }
}

/** Adds to dx and change the solution of the Newton system with the given right sides. */
function correct(work: Work, curvature: Curvature, names: Float64Array, columnsRight: Float64Array): void {
  const { f, columns, solved, schur, skipped, dx, change, trial, trialChange, columnCount: c } = work;
  for (let p = 0; p < f; p++) trial[p] = names[p]!;
  curvature.solve(trial, 1);
  for (let r = 0; r < c; r++) trialChange[r] = -columnsRight[r]!;
  for (let p = 0; p < f; p++) {
    const value = trial[p]!;
    for (let r = 0; r < c; r++) trialChange[r]! += columns[p * c + r]! * value;
  }
  solveFactored(schur, c, trialChange, skipped);
  for (let p = 0; p < f; p++) {
    let total = trial[p]!;
    for (let r = 0; r < c; r++) total -= solved[p * c + r]! * trialChange[r]!;
    dx[p]! += total;
  }
  for (let r = 0; r < c; r++) change[r]! += trialChange[r]!;
}

/** What the Newton system is still short of at dx and change. */
function systemResidual(work: Work): void {
  const { program, free, f, columns, slack, right, columnRight, dx, change, diagonal, offset, product, metricScale, nameError, rowError, columnCount: c } = work;
  if (program.metric !== null && metricScale !== 0) {
    offset.fill(0);
    for (let p = 0; p < f; p++) offset[free[p]!] = dx[p]!;
    metricTimes(program.metric, offset, product);
  }
  for (let r = 0; r < c; r++) rowError[r] = columnRight[r]! + slack[r]! * change[r]!;
  for (let p = 0; p < f; p++) {
    const i = free[p]!;
    let total = right[p]! - diagonal[i]! * dx[p]!;
    if (program.metric !== null && metricScale !== 0) total -= metricScale * product[i]!;
    for (let r = 0; r < c; r++) {
      total -= columns[p * c + r]! * change[r]!;
      rowError[r]! -= columns[p * c + r]! * dx[p]!;
    }
    nameError[p] = total;
  }
}

/** Right side of a row whose scaled value is `value`. */
function rowRight(work: Work, r: number, value: number): number {
  const { program, pairs: { on, s, z }, at, rowScale } = work;
  const [u, l] = [at.rowUpper + r, at.rowLower + r];
  if (on[u] === 0 && on[l] === 0) return program.rows.lower[r] === program.rows.upper[r] ? program.rows.upper[r]! * rowScale[r]! - value : 0;
  let inverse = 0;
  let total = 0;
  if (on[u] === 1) {
    const d = sideSlack(on, s, z, u, at.rowOver + r);
    inverse += 1 / d;
    total += upperConstant(work, r, value) / d;
  }
  if (on[l] === 1) {
    const d = sideSlack(on, s, z, l, at.rowUnder + r);
    inverse += 1 / d;
    total -= lowerConstant(work, r, value) / d;
  }
  return total / inverse;
}

/** a'dx - D dz of an upper side: its residual less what complementarity asks of slack and excess. */
function upperConstant({ program, pairs: { on, s, z, target }, at, rowScale }: Work, r: number, value: number): number {
  const u = at.rowUpper + r;
  const o = at.rowOver + r;
  const soft = on[o] === 1;
  const residual = program.rows.upper[r]! * rowScale[r]! - value - s[u]! + (soft ? s[o]! : 0);
  return residual - target[u]! / z[u]! + (soft ? target[o]! / z[o]! : 0);
}

function lowerConstant({ program, pairs: { on, s, z, target }, at, rowScale }: Work, r: number, value: number): number {
  const l = at.rowLower + r;
  const o = at.rowUnder + r;
  const soft = on[o] === 1;
  const residual = value - program.rows.lower[r]! * rowScale[r]! - s[l]! + (soft ? s[o]! : 0);
  return residual - target[l]! / z[l]! + (soft ? target[o]! / z[o]! : 0);
}

function kinkRight({ program, f, pairs: { on, s, z, target }, at, rowResidual }: Work, k: number): number {
  if (program.kinks[k]!.limit === null) return 0;
  let total = rowResidual[program.rows.count + k]! - target[at.limit + k]! / z[at.limit + k]!;
  if (on[at.limitOver + k] === 1) total += target[at.limitOver + k]! / z[at.limitOver + k]!;
  for (let p = 0; p < f; p++) {
    const l = at.left + k * f + p;
    if (on[l] === 0) continue;
    const r = at.right + k * f + p;
    total -= (target[l]! / s[l]! + target[r]! / s[r]!) / (z[l]! / s[l]! + z[r]! / s[r]!);
  }
  return total;
}

/** Steps of all pairs from dx and the multiplier changes. */
function pairSteps(work: Work): void {
  const { program, free, f, pairs, at, dx, change, columns, columnCount: c, rowResidual, rowScale } = work;
  const { rows, kinks, norms } = program;
  const { on, s, z, ds, dz, target } = pairs;
  const m = rows.count;
  const complement = (k: number) => {
    dz[k] = (target[k]! - z[k]! * ds[k]!) / s[k]!;
  };
  for (let p = 0; p < f; p++) {
    if (on[at.lower + p] === 1) {
      ds[at.lower + p] = dx[p]! + work.lowerResidual[p]!;
      complement(at.lower + p);
    }
    if (on[at.upper + p] === 1) {
      ds[at.upper + p] = -dx[p]! + work.upperResidual[p]!;
      complement(at.upper + p);
    }
  }
  for (let r = 0; r < m; r++) {
    const [u, l] = [at.rowUpper + r, at.rowLower + r];
    if (on[u] === 0 && on[l] === 0) continue;
    let moved = 0;
    for (let p = 0; p < f; p++) moved += columns[p * c + r]! * dx[p]!;
    const value = rowResidual[r]! * rowScale[r]!;
    if (on[u] === 1) sideStep(u, at.rowOver + r, (moved - upperConstant(work, r, value)) / sideSlack(on, s, z, u, at.rowOver + r));
    if (on[l] === 1) sideStep(l, at.rowUnder + r, (-moved - lowerConstant(work, r, value)) / sideSlack(on, s, z, l, at.rowUnder + r));
  }
  for (let k = 0; k < kinks.length; k++) {
    const { left, right, limit } = kinks[k]!;
    const dl = limit === null ? 0 : change[m + k]!;
    for (let p = 0; p < f; p++) {
      const l = at.left + k * f + p;
      if (on[l] === 0) continue;
      const r = at.right + k * f + p;
      const i = free[p]!;
      const a = z[l]! / s[l]!;
      const b = z[r]! / s[r]!;
      const dt = (target[l]! / s[l]! + target[r]! / s[r]! + (left[i]! * a + right[i]! * b) * dx[p]! - dl) / (a + b);
      ds[l] = dt - left[i]! * dx[p]!;
      ds[r] = dt - right[i]! * dx[p]!;
      complement(l);
      complement(r);
    }
    if (limit !== null) sideStep(at.limit + k, at.limitOver + k, dl);
  }
  for (let q = 0; q < norms.length; q++) {
    const side = at.norm + q;
    dz[side] = change[m + kinks.length + q]!;
    ds[side] = (target[side]! - s[side]! * dz[side]!) / z[side]!;
  }

  /** A side and the excess that softens it: their duals move against each other. */
  function sideStep(side: number, soft: number, step: number): void {
    dz[side] = step;
    ds[side] = (target[side]! - s[side]! * step) / z[side]!;
    if (on[soft] === 0) return;
    dz[soft] = -step;
    ds[soft] = (target[soft]! + s[soft]! * step) / z[soft]!;
  }
}

function advance(work: Work, length: number): void {
  const { program, free, f, pairs, at, x, y, t, dx, change, lowerResidual, upperResidual } = work;
  const { on, s, z, ds, dz } = pairs;
  const { rows, kinks, lower, upper } = program;
  for (let k = 0; k < pairs.count; k++) {
    if (on[k] === 0) continue;
    s[k]! += length * ds[k]!;
    z[k]! += length * dz[k]!;
  }
  for (let p = 0; p < f; p++) {
    const i = free[p]!;
    x[i]! += length * dx[p]!;
    lowerResidual[p]! *= 1 - length;
    upperResidual[p]! *= 1 - length;
    if (on[at.lower + p] === 1 && lowerResidual[p] === 0) s[at.lower + p] = Math.max(x[i]! - lower[i]!, 1e-300);
    if (on[at.upper + p] === 1 && upperResidual[p] === 0) s[at.upper + p] = Math.max(upper[i]! - x[i]!, 1e-300);
  }
  for (let r = 0; r < rows.count; r++) {
    const [u, l] = [at.rowUpper + r, at.rowLower + r];
    if (on[u] === 0 && on[l] === 0) y[r] = rows.lower[r] === rows.upper[r] ? y[r]! + length * change[r]! : 0;
    else y[r] = (on[u] === 1 ? z[u]! : 0) - (on[l] === 1 ? z[l]! : 0);
  }
  for (let k = 0; k < kinks.length; k++) {
    const kink = kinks[k]!;
    for (let p = 0; p < f; p++) {
      const l = at.left + k * f + p;
      if (on[l] === 0) continue;
      const i = free[p]!;
      const step = x[i]! - kink.at[i]!;
      t[k * f + p] = s[l]! + kink.left[i]! * step;
    }
  }
}

/** The point in the units of the programme, and the active set that the pairs show. */
function finish(work: Work, state: ActiveState, iterate: Iterate): void {
  const { program, free, f, pairs, at, x, y, scale, rowScale, normRadius } = work;
  const { n, lower, upper, rows, kinks, norms } = program;
  const { on, s, z } = pairs;
  const shut = (k: number) => on[k] === 1 && z[k]! > s[k]!;
  for (let i = 0; i < n; i++) {
    iterate.x[i] = x[i]!;
    state.names[i] = LOWER;
  }
  for (let p = 0; p < f; p++) {
    const i = free[p]!;
    state.names[i] = shut(at.lower + p) ? LOWER : shut(at.upper + p) ? UPPER : FREE;
    if (state.names[i] === FREE) {
      for (let k = 0; k < kinks.length; k++) if (shut(at.left + k * f + p) && shut(at.right + k * f + p)) state.names[i] = PINNED + k;
    }
    const held = state.names[i]!;
    const where = held === LOWER ? lower[i]! : held === UPPER ? upper[i]! : held === FREE ? x[i]! : kinks[held - PINNED]!.at[i]!;
    for (let k = 0; k < kinks.length; k++) {
      const here = kinks[k]!.at[i]!;
      let side = where < here ? -1 : 1;
      if (here === where) side = held === UPPER ? -1 : 1;
      state.sides[k * n + i] = side;
    }
  }
  for (let r = 0; r < rows.count; r++) {
    iterate.rowMultipliers[r] = (y[r]! * rowScale[r]!) / scale;
    const [u, l] = [at.rowUpper + r, at.rowLower + r];
    const over = on[at.rowOver + r] === 1 && s[at.rowOver + r]! > z[at.rowOver + r]!;
    const under = on[at.rowUnder + r] === 1 && s[at.rowUnder + r]! > z[at.rowUnder + r]!;
    if (over || under) state.rows[r] = over ? OVER : UNDER;
    else if (rows.lower[r] === rows.upper[r]) state.rows[r] = EQUAL;
    else state.rows[r] = shut(u) ? UPPER : shut(l) ? LOWER : IDLE;
  }
  for (let k = 0; k < kinks.length; k++) {
    if (kinks[k]!.limit === null) {
      iterate.kinkMultipliers[k] = 1;
      state.kinks[k] = OVER;
      continue;
    }
    iterate.kinkMultipliers[k] = z[at.limit + k]! / scale;
    const over = on[at.limitOver + k] === 1 && s[at.limitOver + k]! > z[at.limitOver + k]!;
    state.kinks[k] = over ? OVER : shut(at.limit + k) ? UPPER : IDLE;
  }
  for (let q = 0; q < norms.length; q++) {
    iterate.normMultipliers[q] = z[at.norm + q]! / normRadius[q]! / scale;
    state.norms[q] = shut(at.norm + q) ? UPPER : IDLE;
  }
}
